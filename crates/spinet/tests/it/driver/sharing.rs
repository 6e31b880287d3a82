//! A user's policies for what tenants share.

use super::{echoing, support};
use kernel::{Cycle, Time};
use spinet::driver::{Choice, Driver, OwnSharing, RuleSpec, TenantNames, TenantPolicy, WaitingTenant};
use spinet::elf::Elf;
use spinet::nics;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// One tenant always goes first.
struct First {
    name: &'static str,
    names: TenantNames,
    calls: Rc<Cell<u32>>,
}

impl TenantPolicy for First {
    fn choose(&mut self, _now: Cycle, tenants: &[WaitingTenant]) -> Choice {
        self.calls.set(self.calls.get() + 1);
        let waiting = || (0..tenants.len()).filter(|&place| tenants[place].waits);
        assert!(waiting().count() > 1, "otherwise there is nothing to choose");
        assert!(waiting().all(|place| tenants[place].bytes == 60), "{tenants:?}");
        let is_first = |place: &usize| self.names.get(tenants[*place].number).as_deref() == Some(self.name);
        Choice::Start(waiting().find(is_first).or_else(|| waiting().next()).unwrap())
    }
}

fn boot(set: &[&str], own: OwnSharing) -> Result<Driver, String> {
    let set: Vec<_> = set.iter().map(|set| nics::parse_setting(set).unwrap()).collect();
    let params = nics::load("pspin", &set, Path::new(".")).unwrap();
    let runtime = Rc::new(Elf::parse("runtime.elf".into(), support::runtime()).unwrap());
    Driver::boot_with(&params, runtime, 1, own).map_err(|error| error.to_string())
}

/// Units distinguish tenants and take one part at a time. The four clusters take 36 tasks; further tasks wait for the
/// policy.
const BY_TENANT: [&str; 3] =
    ["sharing.io_schedule=round_robin", "commands.in_flight_per_unit=1", "scheduler.max_tasks_per_cluster=9"];

/// The tenants `a` and `b` get forty packets each and send them back. At `part`, the tenant `first` goes first. Returns
/// the mean position of `a`'s packets among all sent packets, the number of calls of the policy, and the digest.
fn run(part: &str, first: &'static str) -> (f64, u32, String) {
    let (names, calls) = (TenantNames::default(), Rc::new(Cell::new(0)));
    let policy = First { name: first, names: names.clone(), calls: calls.clone() };
    let policies: Vec<(String, Box<dyn TenantPolicy>)> = vec![(part.into(), Box::new(policy))];
    let mut driver = boot(&BY_TENANT, OwnSharing { policies, names }).unwrap();
    driver.keep_packets();
    driver.run_until(2000);
    for (name, addr, port) in [("a", 0x1d00_1000, 1000), ("b", 0x1d00_2000, 1001)] {
        let (tenant, context) = echoing(&mut driver, name, addr);
        let matches = Some(format!("udp.src_port == {port}"));
        let spec = RuleSpec { matches, message: "each".into(), priority: 0, rule_set: None };
        driver.install(tenant, context, &spec).unwrap();
    }
    let start = driver.clock().edge(driver.now() + 100);
    let packet = |i: u64| (start + Time::from_ns(i), support::udp(1000 + i as u16 % 2, 7, 60).into());
    driver.add_packets((0..80).map(packet).collect()).unwrap();
    driver.run_until(driver.now() + 20_000);
    let sent = driver.take_sent();
    assert_eq!(sent.len(), 80);
    let of_a = sent.iter().enumerate().filter(|(_, (_, bytes))| bytes[35] == 1000_u16.to_be_bytes()[1]);
    (of_a.map(|(place, _)| place as f64).sum::<f64>() / 40.0, calls.get(), driver.digest())
}

#[test]
fn a_policy_of_the_users_own_decides_who_goes_first() {
    for part in ["tasks", "nic_send"] {
        let [(early, calls, digest), (late, _, other)] = ["a", "b"].map(|first| run(part, first));
        // 39 or 40 if the tenants take turns.
        assert!(early < 37.0 && late > 41.0, "{part}: {early} {late}");
        assert!((1..=80).contains(&calls), "{part}: {calls} calls for 80 packets");
        assert_ne!(digest, other);
        assert_eq!(digest, run(part, "a").2);
    }
}

#[test]
fn a_policy_needs_a_part_that_tells_tenants_apart() {
    let own = |part: &str, n: usize| {
        let first = || First { name: "a", names: TenantNames::default(), calls: Rc::default() };
        let policy = |_| (part.to_owned(), Box::new(first()) as Box<dyn TenantPolicy>);
        OwnSharing { policies: (0..n).map(policy).collect(), names: TenantNames::default() }
    };
    let refused = |part: &str, n: usize, set: &[&str]| boot(set, own(part, n)).map(drop).unwrap_err();
    let error = |part: &str, set: &[&str]| refused(part, 1, set);
    assert_eq!(
        error("host_dam", &BY_TENANT),
        "policies: there is no part `host_dam`, must be one of tasks, host_direct, nic_send, host_dma, cluster_dma; did you mean `host_dma`?"
    );
    assert_eq!(
        error("host_dma", &[]),
        "sharing.io_schedule is in_order, must be round_robin or weighted_fair for a policy of `host_dma`"
    );
    assert_eq!(
        error("tasks", &["sharing.turns=false"]),
        "sharing.turns is false, must be true for a policy of `tasks`"
    );
    assert_eq!(refused("tasks", 2, &[]), "number of policies of `tasks` is 2, must be 1");
    assert_eq!(
        error("cluster_dma", &["sharing.cluster_dma_schedule=round_robin"]),
        "number of policies of `cluster_dma` is 1, must be 4: one for each cluster"
    );
    assert_eq!(
        refused("cluster_dma", 4, &[]),
        "sharing.cluster_dma_schedule is in_order, must be round_robin or weighted_fair for a policy of `cluster_dma`"
    );
    boot(&["sharing.cluster_dma_schedule=round_robin"], own("cluster_dma", 4)).unwrap();
}
