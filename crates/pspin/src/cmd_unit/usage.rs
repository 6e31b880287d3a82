//! The bytes that each tenant moves with its commands, and how long its commands wait.

use crate::protocol::{Command, CommandTarget};
use kernel::CounterList;

/// A tenant's commands.
#[derive(Default)]
struct Account {
    tenant: u32,
    /// Bytes by the off-cluster DMA and HostDirect, and by the NIC outbound engine.
    host_bytes: u64,
    egress_bytes: u64,
    /// Commands whose wait is known, the sum of these waits, and the longest, in cycles.
    commands: u64,
    waited: u64,
    longest: u64,
}

/// The accounts of all tenants with commands so far.
pub struct Usage {
    knows_waits: bool,
    accounts: Vec<Account>,
}

impl Usage {
    /// No commands. Waits are known if commands wait in the command unit.
    pub fn new(knows_waits: bool) -> Self {
        Usage { knows_waits, accounts: Vec::new() }
    }

    /// Counts a command, or a part of one, that goes to its unit. `waited` is the number of cycles that the command
    /// waited; it is known only for the first part.
    pub fn count(&mut self, command: &Command, waited: Option<u64>) {
        let tenant = command.sender.tenant;
        let account = match self.accounts.iter().position(|account| account.tenant == tenant) {
            Some(found) => &mut self.accounts[found],
            None => {
                self.accounts.push(Account { tenant, ..Account::default() });
                self.accounts.last_mut().expect("just added")
            }
        };
        let bytes = u64::from(command.bytes());
        match command.target {
            CommandTarget::HostDma | CommandTarget::HostDirect => account.host_bytes += bytes,
            CommandTarget::NicSend => account.egress_bytes += bytes,
        }
        if let Some(waited) = waited {
            account.commands += 1;
            account.waited += waited;
            account.longest = account.longest.max(waited);
        }
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        for Account { tenant, host_bytes, egress_bytes, commands, waited, longest } in &self.accounts {
            counters.add(&format!("tenant[{tenant}].host_bytes"), *host_bytes);
            counters.add(&format!("tenant[{tenant}].egress_bytes"), *egress_bytes);
            if self.knows_waits {
                counters.add(&format!("tenant[{tenant}].commands"), *commands);
                counters.add(&format!("tenant[{tenant}].wait_cycles"), *waited);
                counters.add(&format!("tenant[{tenant}].longest_wait_cycles"), *longest);
            }
        }
    }
}
