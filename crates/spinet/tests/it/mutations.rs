//! Mutated ELF files and experiments: reading ends with a value or an error, never with a panic. This is the gate's
//! share of fuzzing; `make fuzz` searches longer.

use crate::support;
use proptest::prelude::*;
use proptest::sample::Index;
use pspin::PspinParams;
use spinet::elf::Elf;
use spinet::experiment::Checked;
use spinet::program;
use spinet::toml_text::{self, Format};
use std::path::Path;

const EXPERIMENT: &str = r#"
program = ["src/lib.rs", "src/elf.rs"] # any files that are there
seed = 7
limit = "10 us"
[nic]
preset = "pspin"
set = { "cluster.n_cores" = 4, n_clusters = 2 }
[traffic]
source = "udp:size=64,count=10,rate=400G"
pacing = "line:400G"
count = 5
[[context]]
name = "pings"
match = "icmp || udp.dst_port in {53, 100..200}"
message = "by 5-tuple count 16"
handler = "a"
host_memory = { addr = 0x2000000000, size = 4096 }
"#;

/// Overwrites bytes, removes a range, and truncates the end.
type Edits = (Vec<(Index, u8)>, (Index, usize), Index);

fn edits() -> impl Strategy<Value = Edits> {
    let bytes = prop::collection::vec((any::<Index>(), any::<u8>()), 0..8);
    (bytes, (any::<Index>(), 0..6_usize), any::<Index>())
}

fn edited(original: &[u8], (bytes, (hole, width), cut): &Edits, is_cut: bool) -> Vec<u8> {
    let mut file = original.to_vec();
    for (index, value) in bytes {
        let at = index.index(file.len());
        file[at] = *value;
    }
    let from = hole.index(file.len());
    let to = (from + width).min(file.len());
    file.drain(from..to);
    if is_cut {
        file.truncate(cut.index(file.len().max(1)) + 1);
    }
    file
}

fn tiny_elf() -> Vec<u8> {
    let loop_for_ever = [0x0000_006f_u32; 8];
    support::elf(0x1d00_0000, &[(0x1d00_0000, &loop_for_ever), (0x1c00_0000, &[1, 2, 3])], &[("tiny_ph", 0x1d00_0010)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn broken_elf_files_do_no_harm(edits in edits(), is_cut: bool) {
        let params: PspinParams = toml_text::read(include_str!("../../../../presets/pspin.toml"), "p", Format::Toml).unwrap();
        if let Ok(elf) = Elf::parse("x.elf".to_owned(), edited(&tiny_elf(), &edits, is_cut)) {
            let _ = program::load(&elf, &params);
            for name in program::handler_names(&elf) {
                prop_assert!(!name.is_empty() || elf.symbols.iter().any(|symbol| symbol.name.starts_with('_')));
            }
            elf.place(0x1d00_0010);
        }
    }

    #[test]
    fn broken_experiments_do_no_harm(edits in edits(), is_cut: bool) {
        let text = String::from_utf8_lossy(&edited(EXPERIMENT.as_bytes(), &edits, is_cut)).into_owned();
        match Checked::read(&text, "x.toml", Path::new(env!("CARGO_MANIFEST_DIR")), Format::Toml) {
            Ok(checked) => {
                let written = serde_json::to_string(&checked.experiment).unwrap();
                let again = Checked::read(&written, "x.json", Path::new(env!("CARGO_MANIFEST_DIR")), Format::Json).unwrap();
                prop_assert_eq!(serde_json::to_string(&again.experiment).unwrap(), written);
            }
            Err(error) => prop_assert!(error.to_string().starts_with("x.toml: "), "{}", error),
        }
    }

    #[test]
    fn broken_presets_do_no_harm(edits in edits(), is_cut: bool) {
        let preset = include_bytes!("../../../../presets/pspin.toml");
        let text = String::from_utf8_lossy(&edited(preset, &edits, is_cut)).into_owned();
        if let Ok(params) = toml_text::read::<PspinParams>(&text, "x.toml", Format::Toml) {
            let _ = params.validate();
        }
    }
}

#[test]
fn the_originals_are_good() {
    assert!(Elf::parse("x.elf".to_owned(), tiny_elf()).is_ok());
    Checked::read(EXPERIMENT, "x.toml", Path::new(env!("CARGO_MANIFEST_DIR")), Format::Toml)
        .map_err(|error| error.to_string())
        .unwrap();
}
