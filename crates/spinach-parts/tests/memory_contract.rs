//! Checks modules with a memory port against the contract of the memory protocol.

use testkit::check_memory_contract;

/// A requester `a` with 64 bytes each from 0x1000 and 0x8000, and memories: `low` from 0x1000, `high` from 0x8000.
const AROUND: &str = "\
[instances.a]
module = \"random-requester\"
references = 1000
own = [[0x1000, 64], [0x8000, 64]]
lengths = [1, 2, 4]
nowhere = [0x2000]
haste_percent = 90
[instances.low]
module = \"model-memory\"
base = 0x1000
bytes = 0x1000
longest_cycles = 3
[instances.high]
module = \"model-memory\"
base = 0x8000
bytes = 0x1000
longest_cycles = 9
[instances.registers]
module = \"model-memory\"
base = 0
bytes = 32
longest_cycles = 0
";

#[test]
fn scratchpad_filter() {
    let it = "[instances.it]\nmodule = \"scratchpad-filter\"\noutstanding = 2\n\
              registers = { base = 0x1000, bytes = 32, becomes = 0 }\n\
              scratchpad = { base = 0x1020, bytes = 32, becomes = 0x1020 }\n";
    let connections = [
        "a.memory -> it.core",
        "it.registers -> registers.requester",
        "it.scratchpad -> low.requester",
        "it.onward -> high.requester",
    ];
    let wiring =
        format!("name = \"contract\"\nconnections = {connections:?}\n[clocks]\nmain = \"1 GHz\"\n{AROUND}{it}");
    check_memory_contract(&spinach_parts::add_to(blocks::catalog()), &wiring);
}
