//! Checks every module with a memory port against the contract of the memory protocol.

use testkit::check_memory_contract;

/// Checks a card of these instances and connections, with one clock.
fn check(instances: &str, connections: &[impl AsRef<str>]) {
    let connections: Vec<_> = connections.iter().map(AsRef::as_ref).collect();
    let wiring = format!("name = \"contract\"\nconnections = {connections:?}\n[clocks]\nmain = \"1 GHz\"\n{instances}");
    check_memory_contract(&blocks::catalog(), &wiring);
}

/// Three requesters `a`, `b` and `c`, with 64 bytes each from 0x1000, 0x1040 and 0x1080, and 16 bytes each from
/// 0x8000.
fn three(lengths: &str, nowhere: &str) -> String {
    let one = |(i, name)| {
        format!(
            "[instances.{name}]\nmodule = \"random-requester\"\nreferences = 400\nown = [[{}, 64], [{}, 16]]\n\
             lengths = {lengths}\nnowhere = {nowhere}\nhaste_percent = {}\n",
            0x1000 + 64 * i,
            0x8000 + 16 * i,
            [50, 95, 100][i],
        )
    };
    ["a", "b", "c"].into_iter().enumerate().map(one).collect()
}

const THREE_PORTS: [&str; 3] =
    ["a.memory -> it.requesters[0]", "b.memory -> it.requesters[1]", "c.memory -> it.requesters[2]"];

#[test]
fn scratchpad_banks() {
    let it = "[instances.it]\nmodule = \"scratchpad-banks\"\nrequesters = 3\nbanks = 4\nword_bytes = 4\nbase = 0x1000\n\
              bytes = 256\nreference_bytes = 16\noutstanding = 3\npolicy = { kind = \"round-robin\" }\n\
              [instances.onward]\nmodule = \"model-memory\"\nbase = 0x8000\nbytes = 64\nlongest_cycles = 5\n";
    let connections = [&THREE_PORTS[..], &["it.onward -> onward.requester"]].concat();
    check(&(three("[1, 2, 4, 3, 12, 16]", "[0x2000, 0x0]") + it), &connections);
}

#[test]
fn memory_controller() {
    for policy in [
        "{ kind = \"round-robin\" }",
        "{ kind = \"round-robin-tree\" }",
        "{ kind = \"fixed-priority\", groups = [[2], [0, 1]], keeps_bursts = true, timeout_cycles = 20 }",
    ] {
        let it = format!(
            "[instances.it]\nmodule = \"memory-controller\"\nrequesters = 3\nbytes = 65536\nword_bytes = 8\n\
             first_word_cycles = 2\nburst_words = 4\nmax_bytes = 64\npolicy = {policy}\n"
        );
        check(&(three("[1, 2, 4, 8, 16]", "[]") + &it), &THREE_PORTS);
    }
}

#[test]
fn frame_memory() {
    let it = "[instances.it]\nmodule = \"frame-memory\"\nrequesters = 3\nbase = 0x1000\nbytes = 0x8000\nbus_bytes = 16\n\
              word_bytes = 8\ntransfer_bytes = 64\n\
              rows = { row_bytes = 128, banks = 4, activation_cycles = 5, conflict_cycles = 9 }\n\
              policy = { kind = \"round-robin\" }\n";
    check(&(three("[1, 8, 3, 14]", "[0x0, 0x9000]") + it), &THREE_PORTS);
}

#[test]
fn multiported_memory() {
    let it =
        "[instances.it]\nmodule = \"multiported-memory\"\nports = 3\nbase = 0x1000\nbytes = 0x8000\nport_bytes = 16\n";
    check(
        &(three("[1, 8, 3, 16]", "[0x0, 0x9000]") + it),
        &THREE_PORTS.map(|line| line.replace("requesters", "ports")),
    );
}

/// Memories behind a forwarder: `low` from 0x1000, `high` from 0x8000.
const LOW: &str = "[instances.low]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x1000\nlongest_cycles = 3\n";
const HIGH: &str = "[instances.high]\nmodule = \"model-memory\"\nbase = 0x8000\nbytes = 0x1000\nlongest_cycles = 9\n";

#[test]
fn crossbar() {
    let it = "[instances.it]\nmodule = \"crossbar\"\nrequesters = 3\noutstanding = 2\nburst_references = 4\n\
              windows = [{ base = 0x8000, bytes = 0x800, becomes = 0x8000 }, { base = 0x1000, bytes = 0x800, becomes = 0x1000 }]\n\
              policy = { kind = \"round-robin\" }\n";
    let connections =
        [&THREE_PORTS[..], &["it.outputs[0] -> high.requester", "it.outputs[1] -> low.requester"]].concat();
    check(&(three("[1, 8, 3, 16]", "[0x0, 0x9000]") + it + LOW + HIGH), &connections);
}

#[test]
fn arbiter() {
    for policy in [
        "{ kind = \"round-robin\" }",
        "{ kind = \"round-robin-tree\" }",
        "{ kind = \"fixed-priority\", groups = [[2], [0, 1]], keeps_bursts = true, timeout_cycles = 20 }",
    ] {
        let it = format!(
            "[instances.it]\nmodule = \"arbiter\"\nrequesters = 3\noutstanding = 4\nburst_references = 4\npolicy = {policy}\n\
             [instances.all]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x8000\nlongest_cycles = 3\n"
        );
        let connections = [&THREE_PORTS[..], &["it.memory -> all.requester"]].concat();
        check(&(three("[1, 8, 3, 16]", "[0x0, 0x9000]") + &it), &connections);
    }
}

/// One requester `a` with 64 bytes each from 0x1000 and 0x8000.
fn one(lengths: &str, nowhere: &str) -> String {
    format!(
        "[instances.a]\nmodule = \"random-requester\"\nreferences = 1000\nown = [[0x1000, 64], [0x8000, 64]]\n\
         lengths = {lengths}\nnowhere = {nowhere}\nhaste_percent = 90\n"
    )
}

#[test]
fn demux() {
    let it = "[instances.it]\nmodule = \"demux\"\noutstanding = 2\n\
              by = { windows = [{ base = 0x1000, bytes = 0x800, becomes = 0x1000 }, { base = 0x8000, bytes = 0x800, becomes = 0x8000 }] }\n";
    let connections = ["a.memory -> it.requester", "it.outputs[0] -> low.requester", "it.outputs[1] -> high.requester"];
    check(&(one("[1, 2, 4]", "[0x0, 0x4000]") + it + LOW + HIGH), &connections);
}

#[test]
fn cache_controller() {
    for (replacement, on_read, on_write) in
        [("lru", true, false), ("random", true, true), ("round-robin", false, true), ("lru", false, false)]
    {
        let it = format!(
            "[instances.it]\nmodule = \"cache-controller\"\nline_bytes = 8\nsets = 2\nways = 2\n\
             replacement = \"{replacement}\"\nallocates_on_read = {on_read}\nallocates_on_write = {on_write}\n\
             [instances.lines]\nmodule = \"multiported-memory\"\nports = 1\nbase = 0\nbytes = 32\nport_bytes = 8\n\
             [instances.all]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x8000\nlongest_cycles = 3\n"
        );
        let connections = ["a.memory -> it.requester", "it.cache -> lines.ports[0]", "it.memory -> all.requester"];
        check(&(one("[1, 2, 4, 3, 8, 12]", "[0x0, 0xfff, 0x9000]") + &it), &connections);
    }
}

#[test]
fn tap() {
    let it = "[instances.it]\nmodule = \"tap\"\nlisteners = 1\noutstanding = 2\n\
              [instances.cache]\nmodule = \"cache-controller\"\nline_bytes = 8\nsets = 2\nways = 2\n\
              replacement = \"lru\"\nallocates_on_read = true\nallocates_on_write = true\n\
              [instances.lines]\nmodule = \"multiported-memory\"\nports = 1\nbase = 0\nbytes = 32\nport_bytes = 8\n";
    let connections = [
        "a.memory -> cache.requester",
        "cache.cache -> lines.ports[0]",
        "cache.memory -> it.requester",
        "it.seen[0] -> cache.snooped",
        "it.memory -> all.requester",
    ];
    let all = "[instances.all]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x8000\nlongest_cycles = 3\n";
    check(&(one("[1, 2, 4, 3, 8, 12]", "[0x0, 0x9000]") + it + all), &connections);
}

#[test]
fn pci_bus() {
    let it = "[instances.it]\nmodule = \"pci-bus\"\nwidth = \"32\"\nmasters = 2\noverhead_cycles = 4\nread_cycles = 3\n\
              references = 2\nburst_bytes = 8\n\
              [instances.memory]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x8000\nlongest_cycles = 3\n\
              [instances.card]\nmodule = \"model-memory\"\nbase = 0x1000\nbytes = 0x8000\nlongest_cycles = 3\n";
    let connections = [
        "a.memory -> it.masters[0]",
        "b.memory -> it.masters[1]",
        "c.memory -> it.host",
        "it.target -> memory.requester",
        "it.card -> card.requester",
    ];
    check(&(three("[1, 2, 4, 3, 8, 16]", "[]") + it), &connections);
}

/// Requesters, crossbar and memories in different clocks, none a multiple of another.
#[test]
fn across_clocks() {
    let clocked = |text: &str, clock: &str| text.replace("module =", &format!("clock = \"{clock}\"\nmodule ="));
    let it = "[instances.it]\nmodule = \"scratchpad-banks\"\nrequesters = 3\nbanks = 4\nword_bytes = 4\nbase = 0x1000\n\
              bytes = 256\nreference_bytes = 16\noutstanding = 3\npolicy = { kind = \"round-robin\" }\n";
    let frames = "[instances.frames]\nmodule = \"frame-memory\"\nrequesters = 1\nbase = 0x8000\nbytes = 0x1000\n\
                  bus_bytes = 16\nword_bytes = 8\ntransfer_bytes = 64\n\
                  rows = { row_bytes = 128, banks = 4, activation_cycles = 5, conflict_cycles = 9 }\n\
                  policy = { kind = \"round-robin\" }\n";
    let wiring = format!(
        "name = \"contract\"\nconnections = [\"a.memory -> it.requesters[0]\", \"b.memory -> it.requesters[1]\", \
         \"c.memory -> it.requesters[2]\", \"it.onward -> frames.requesters[0]\"]\n\
         [clocks]\nslow = \"88 MHz\"\nmain = \"200 MHz\"\nfast = \"312.5 MHz\"\n{}{}{}",
        clocked(&three("[1, 2, 4, 16]", "[0x2000]"), "slow"),
        clocked(it, "main"),
        clocked(frames, "fast"),
    );
    check_memory_contract(&blocks::catalog(), &wiring);
}
