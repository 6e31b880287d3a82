//! Packets and tables as input; verdicts and changed bytes as output.

mod actions;
mod changes;
mod errors;
mod hostile;
mod page;
mod texts;

use super::{Card, Rmt, RmtParams};
use crate::world::{Classifier, ExternalPort, Verdict};
use kernel::Cycle;

/// Two ports, four queues, three classes.
pub(super) fn card() -> Card {
    let services = ["sha", "aes", "dpi", "kv", "nat"].map(str::to_owned).to_vec();
    Card { services, n_classes: 3, network_ports: 2, host_queues: 4 }
}

pub(super) fn params(toml: &str) -> RmtParams {
    toml::from_str(&format!("stages = 4\nmax_hops = 4\n{toml}")).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn rmt(toml: &str) -> Rmt {
    Rmt::new(&params(toml), &card()).unwrap_or_else(|error| panic!("{error}"))
}

/// Parses hexadecimal digits, ignoring blanks.
pub(super) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// UDP from 10.1.2.3:5000 to 192.168.0.1:9999 with payload "hello", checksums 0.
pub(super) const UDP: &str = "020000000002 020000000001 0800 45000021 00010000 40110000 0a010203 c0a80001
    1388 270f 000d 0000 68656c6c6f";
/// TCP SYN from 2001:db8::1 to ::1 in VLAN 5.
pub(super) const TCP6: &str = "020000000002 020000000001 8100 a005 86dd 60000000 0014 06 40
    20010db8000000000000000000000001 00000000000000000000000000000001
    0050 ffff 00000001 00000000 50 02 0000 0000 0000";

/// Prints `sha(c1 p2 m3) -> aes => host:0`, then the values that are not 0.
pub(super) fn show(verdict: &Verdict) -> String {
    let names = card().services;
    let hop = |hop: &crate::protocol::Hop| {
        let says = [('c', u64::from(hop.class)), ('p', hop.priority.into()), ('m', hop.metadata)];
        let says: Vec<String> = says.iter().filter(|counter| counter.1 != 0).map(|(c, n)| format!("{c}{n}")).collect();
        let name = &names[usize::from(hop.service)];
        if says.is_empty() { name.clone() } else { format!("{name}({})", says.join(" ")) }
    };
    let hops: Vec<String> = verdict.chain.iter().map(hop).collect();
    let exit = match verdict.exit {
        None => "drop".to_owned(),
        Some(ExternalPort::Host(queue)) => format!("host:{queue}"),
        Some(ExternalPort::Network(port)) => format!("network:{port}"),
    };
    let mut text = format!("{} => {exit}", hops.join(" -> "));
    for (name, number) in [("class", u64::from(verdict.class)), ("slack", verdict.slack_cycles)] {
        if number != 0 {
            text += &format!(", {name} {number}");
        }
    }
    text.trim_start().to_owned()
}

/// Prints the verdict, then the changed bytes as `offset:new`, or the whole packet if its length changed.
pub(super) fn ask(rmt: &mut Rmt, now: Cycle, from: ExternalPort, packet: &str) -> String {
    let before = unhex(packet);
    let mut after = before.clone();
    let verdict = rmt.classify(now, from, &mut after);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let changes = match before.len() == after.len() {
        true => {
            let changed = (0..before.len()).filter(|&i| before[i] != after[i]);
            changed.map(|i| format!(" {i}:{:02x}", after[i])).collect()
        }
        false => format!(" {}", hex(&after)),
    };
    if changes.is_empty() { show(&verdict) } else { format!("{} |{changes}", show(&verdict)) }
}
