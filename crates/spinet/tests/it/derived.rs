//! NICs whose file has a `base`.

use crate::support::folder;
use expect_test::{Expect, expect};
use spinet::{chains, nics};
use std::path::{Path, PathBuf};

fn files(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = folder(test);
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    folder
}

/// The description in a file, or its error, without the folder's name.
fn check(test: &str, text: &str, want: Expect) {
    let folder = files(test, &[("own.toml", text)]);
    let found = match nics::show("own.toml", &[], &folder) {
        Ok(text) => text.lines().filter(|line| line.contains("# mine")).collect::<Vec<_>>().join("\n"),
        Err(error) => error.to_string().replace(&format!("{}/", folder.display()), ""),
    };
    want.assert_eq(&found);
}

#[test]
fn a_file_says_what_differs() {
    check(
        "derived_handlers",
        "base = 'pspin-rtl'\nn_clusters = 2 # mine\n[cluster]\nn_cores = 4 # mine\n",
        expect![[r#"
            n_clusters = 2 # mine
            n_cores = 4 # mine"#]],
    );
    check(
        "derived_chains",
        "base = 'panic-rtl'\n[scheduler.buffer]\ncells = 21 # mine\n[[service]]\nname = 'aes'\nunits = 1 # mine\n",
        expect![[r#"
            cells = 21 # mine
            units = 1 # mine"#]],
    );
    assert!(chains::is_nic("own.toml", &folder("derived_chains")));
    assert!(!chains::is_nic("own.toml", &folder("derived_handlers")));
}

#[test]
fn values_come_from_the_nearest_file_that_has_them() {
    let folder = files(
        "derived_twice",
        &[
            ("one.toml", "base = 'pspin-rtl'\nn_clusters = 2\nclock_mhz = 500\n"),
            ("two.toml", "base = 'one.toml'\nn_clusters = 1\n"),
        ],
    );
    let two = nics::load("two.toml", &[], &folder).unwrap();
    let mut rtl = nics::load("pspin-rtl", &[], Path::new("")).unwrap();
    rtl.n_clusters = 1;
    rtl.clock_mhz = nics::load("one.toml", &[], &folder).unwrap().clock_mhz;
    assert_eq!(two, rtl);
}

#[test]
fn an_error_names_the_line_of_the_file_with_the_mistake() {
    check(
        "derived_unknown",
        "base = 'pspin'\n\n[cluster]\nn_core = 4\n",
        expect![[r#"
        own.toml: line 4: unknown key `n_core` in `cluster`, expected one of `n_cores`, `l1_bytes`, `l1_banks`, `packet_buffer_offset`, `packet_buffer_bytes`, `packet_buffer_rings`, `scratchpad_offset`, `task_fifo`, `dma_fifo`, `dma_bursts`, `core_commands`, `inter_core_fifo`, `clock_gating`, `cycle_register`, `icache`; did you mean `n_cores`?
          n_core = 4
          ^^^^^^"#]],
    );
    check(
        "derived_unknowns",
        "base = 'pspin'\nfoo = 1\n[cluster]\nn_core = 4\n[pcie]\nlnk = 2\n",
        expect![[r#"
        own.toml: line 2: unknown key `foo`, expected one of `clock_mhz`, `n_clusters`, `cluster`, `isolation`, `l2`, `interconnect`, `ingress`, `scheduler`, `sharing`, `commands`, `outbound`, `pcie`, `iommu`, `delivery`, `network`, `rtl_mistakes`
          foo = 1
          ^^^
        own.toml: line 4: unknown key `n_core` in `cluster`, expected one of `n_cores`, `l1_bytes`, `l1_banks`, `packet_buffer_offset`, `packet_buffer_bytes`, `packet_buffer_rings`, `scratchpad_offset`, `task_fifo`, `dma_fifo`, `dma_bursts`, `core_commands`, `inter_core_fifo`, `clock_gating`, `cycle_register`, `icache`; did you mean `n_cores`?
          n_core = 4
          ^^^^^^
        own.toml: line 6: unknown key `lnk` in `pcie`, expected one of `model`, `latency_cycles`, `write_gap_cycles`, `read_gap_cycles`, `buffer_beats`, `link`; did you mean `link`?
          lnk = 2
          ^^^"#]],
    );
    check(
        "derived_type",
        "# A card.\nbase = 'pspin'\nn_clusters = 'two'\n",
        expect![[r#"
        own.toml: line 3: found the text "two", must be a whole number from 0 to 4294967295
          n_clusters = 'two'
                       ^^^^^"#]],
    );
    check("derived_bound", "base = 'pspin'\nn_clusters = 0\n", expect!["own.toml: n_clusters is 0, must be 1 to 16"]);
    check(
        "derived_service",
        "base = 'panic'\n[[service]]\nname = 'aes'\nunit = 1\n",
        expect![[r#"
        own.toml: line 4: unknown key `unit` in `service`, expected one of `name`, `units`, `credits`, `engine`, `flow_affinity`, `policy`; did you mean `units`?
          unit = 1
          ^^^^"#]],
    );
    check(
        "derived_misspelt",
        "base = 'pspn'\n",
        expect![[r#"
            own.toml: line 1: base is `pspn`, must be `pspin`, `fpspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-rtl`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2`, `tigon2-cached` or the path of a preset (*.toml); did you mean `pspin`?
              base = 'pspn'
                     ^^^^^^"#]],
    );
    check(
        "derived_missing",
        "base = 'none.toml'\n",
        expect!["own.toml: base: none.toml: No such file or directory (os error 2)"],
    );
    check(
        "derived_circle",
        "base = 'own.toml'\n",
        expect![[r#"
            own.toml: line 1: base: more than 8 files derive from one another
              base = 'own.toml'
                     ^^^^^^^^^^"#]],
    );
    check(
        "derived_kind",
        "base = 'pspin'\ncluster = 4\n",
        expect![[r#"
        own.toml: line 2: cluster is a table in one of the file and its base, and none in the other
          cluster = 4
          ^^^^^^^"#]],
    );
}
