//! Tables change while traffic flows.

use super::*;
use crate::rmt::{ChainParams, EntryHandle, EntryParams};
use expect_test::expect;
use proptest::prelude::*;

fn entry(toml: &str) -> EntryParams {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_entries_of_a_table_are_replaced_or_none() {
    let mut rmt = rmt("[[registers]]\nkind = 'words'\nname = 'n'\nsize = 4\n[[tables]]\nname = 't'\nsize = 2");
    let to = |service: &str, order: u32| {
        let count = "{ count = { register = 'n', index = 3 } }";
        entry(&format!("order = {order}\nactions = [{count}, {{ chain = {{ services = ['{service}'] }} }}]"))
    };
    let mut lines = Vec::new();
    let old = rmt.insert("t", &to("sha", 0)).unwrap();
    rmt.replace("t", &[to("aes", 5), to("kv", 2)]).unwrap();
    lines.push(ask(&mut rmt, 0, ExternalPort::Network(0), UDP));
    lines.push(rmt.remove(old).unwrap_err().to_string());
    lines.push(rmt.replace("t", &[to("sha", 0), to("shb", 0)]).unwrap_err().to_string());
    lines.push(rmt.replace("t", &[to("sha", 0), to("sha", 0), to("sha", 0)]).unwrap_err().to_string());
    lines.push(rmt.replace("chains", &[]).unwrap_err().to_string());
    lines.push(ask(&mut rmt, 1, ExternalPort::Network(0), UDP));
    rmt.replace("t", &[]).unwrap();
    lines.push(ask(&mut rmt, 2, ExternalPort::Network(0), UDP));
    lines.push(format!("{:?}", rmt.registers()));
    expect![[r#"
        kv => host:0
        there is no entry 0; it was removed or never existed
        [1].actions[1].chain.services[0]: unknown service `shb`; known: sha, aes, dpi, kv, nat; did you mean `sha`?
        [2]: table `t` would have more entries than its size, must be at most 2
        found the table of the chains, must be another table; chains are inserted and removed one by one
        kv => host:0
        => host:0
        [("n", [(3, 2)])]
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn an_entry_takes_effect_with_the_next_packet() {
    let mut rmt = rmt("[[tables]]\nname = 't'\nsize = 2");
    let mut lines = vec![ask(&mut rmt, 0, ExternalPort::Network(0), UDP)];
    let sha = entry("match = 'udp'\norder = 5\nactions = [{ chain = { services = ['sha'] } }]");
    let aes = entry("order = 3\nactions = [{ chain = { services = ['aes'] } }]");
    let first = rmt.insert("t", &sha).unwrap();
    lines.push(ask(&mut rmt, 1, ExternalPort::Network(0), UDP));
    let second = rmt.insert("t", &aes).unwrap();
    lines.push(ask(&mut rmt, 2, ExternalPort::Network(0), UDP));
    lines.push(rmt.insert("t", &aes).unwrap_err().to_string());
    rmt.modify(second, &EntryParams { order: 7, ..aes.clone() }).unwrap();
    lines.push(ask(&mut rmt, 3, ExternalPort::Network(0), UDP));
    assert_eq!(rmt.remove(first).unwrap().packets, 2);
    lines.push(ask(&mut rmt, 4, ExternalPort::Network(0), UDP));
    lines.push(rmt.remove(first).unwrap_err().to_string());
    lines.push(rmt.insert("tt", &sha).unwrap_err().to_string());
    let bad = entry("actions = [{ class = 1 }, { chain = { services = ['shaa'] } }]");
    lines.push(rmt.modify(second, &bad).unwrap_err().to_string());
    lines.push(ask(&mut rmt, 5, ExternalPort::Network(0), UDP));
    expect![[r#"
        => host:0
        sha => host:0
        aes => host:0
        table `t` would have more entries than its size, must be at most 2
        sha => host:0
        aes => host:0
        there is no entry 0; it was removed or never existed
        unknown table `tt`; known: t, chains
        actions[1].chain.services[0]: unknown service `shaa`; known: sha, aes, dpi, kv, nat; did you mean `sha`?
        aes => host:0"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn chains_are_inserted_and_removed() {
    let mut rmt = rmt("");
    let mut lines = Vec::new();
    let mut note = |rmt: &mut Rmt| {
        let verdicts = [ExternalPort::Network(0), ExternalPort::Host(1)].map(|from| ask(rmt, 0, from, UDP));
        lines.push(verdicts.join(", "));
    };
    let both = rmt.insert_chain(&ChainParams::new("a", &["sha", "aes"])).unwrap();
    note(&mut rmt);
    let out = ChainParams { queues: vec![1], ..ChainParams::new("out", &["aes"]) };
    let handle = rmt.insert_chain(&out).unwrap();
    note(&mut rmt);
    // A chain of a queue can become a chain with a match, and the other way round.
    rmt.modify_chain(handle, &ChainParams { order: 0, ..ChainParams::new("out", &["dpi"]) }).unwrap();
    rmt.modify_chain(both, &ChainParams { queues: vec![1], ..ChainParams::new("a", &["nat"]) }).unwrap();
    note(&mut rmt);
    rmt.remove(both).unwrap();
    note(&mut rmt);
    expect![[r#"
        sha -> aes => host:0, => network:0
        sha -> aes => host:0, aes => network:0
        dpi => host:0, nat => network:0
        dpi => host:0, => network:0"#]]
    .assert_eq(&lines.join("\n"));
    let names: Vec<String> = rmt.chains().iter().map(|state| format!("{}: {}", state.handle, state.packets)).collect();
    expect!["1: 3"].assert_eq(&names.join(", "));
}

#[test]
fn a_pipeline_can_be_changed_between_two_slices() {
    use crate::world::SharedClassifier;
    use std::{cell::RefCell, rc::Rc};
    let rmt = Rc::new(RefCell::new(rmt("")));
    let of_the_port: SharedClassifier = rmt.clone();
    let classify = || show(&of_the_port.borrow_mut().classify(0, ExternalPort::Network(0), &mut unhex(UDP)));
    assert_eq!(classify(), "=> host:0");
    let handle = rmt.borrow_mut().insert_chain(&ChainParams::new("a", &["sha"])).unwrap();
    assert_eq!(classify(), "sha => host:0");
    rmt.borrow_mut().remove(handle).unwrap();
    assert_eq!(classify(), "=> host:0");
}

/// A change of a table.
#[derive(Clone, Debug)]
enum Change {
    Insert(u32, u16),
    Modify(usize, u32, u16),
    Remove(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let (order, port) = (0u32..4, 1u16..6);
    prop_oneof![
        (order.clone(), port.clone()).prop_map(|(order, port)| Change::Insert(order, port)),
        (any::<usize>(), order, port).prop_map(|(which, order, port)| Change::Modify(which, order, port)),
        any::<usize>().prop_map(Change::Remove),
    ]
}

/// Matches packets up to a port; the priority identifies the entry.
fn up_to(order: u32, port: u16, mark: u64) -> EntryParams {
    entry(&format!(
        "match = 'udp.dst_port < {port}'\norder = {order}\nactions = [{{ priority = {mark} }}, {{ chain = {{ services = ['kv'] }} }}]"
    ))
}

proptest! {
    #[test]
    fn a_changed_table_equals_one_built_in_that_state(changes in prop::collection::vec(change(), 0..30)) {
        let mut changed = rmt("[[tables]]\nname = 't'\nsize = 8");
        // Handle and entry, in order of handles.
        let mut model: Vec<(EntryHandle, EntryParams)> = Vec::new();
        for (mark, change) in changes.into_iter().enumerate() {
            match change {
                Change::Insert(order, port) => {
                    let entry = up_to(order, port, mark as u64);
                    match changed.insert("t", &entry) {
                        Ok(handle) => model.push((handle, entry)),
                        Err(_) => prop_assert_eq!(model.len(), 8),
                    }
                }
                Change::Modify(which, order, port) if !model.is_empty() => {
                    let at = which % model.len();
                    model[at].1 = up_to(order, port, mark as u64);
                    changed.modify(model[at].0, &model[at].1).unwrap();
                }
                Change::Remove(which) if !model.is_empty() => {
                    let (handle, _) = model.remove(which % model.len());
                    changed.remove(handle).unwrap();
                    prop_assert!(changed.modify(handle, &up_to(0, 1, 0)).is_err());
                }
                _ => {}
            }
        }
        let mut built = rmt("[[tables]]\nname = 't'\nsize = 8");
        for (_, entry) in &model {
            built.insert("t", entry).unwrap();
        }
        for port in 0..6 {
            let packet = UDP.replace("270f", &format!("{port:04x}"));
            let from = ExternalPort::Network(0);
            prop_assert_eq!(ask(&mut changed, 0, from, &packet), ask(&mut built, 0, from, &packet));
        }
    }
}
