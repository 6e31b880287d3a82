//! Errors of invalid input.

mod contexts;
mod experiments;
mod programs;

use crate::support;
use expect_test::Expect;
use spinet::experiment::Checked;
use spinet::handlers::HandlerCard;
use spinet::run::Wanted;
use spinet::toml_text::Format;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The error of an experiment, without the test's folder.
fn check_as(experiment: &str, format: Format, want: Expect) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = support::folder_with_program("bad_input");
        std::fs::write(folder.join("empty.pcap"), "").unwrap();
        std::fs::write(folder.join("long.toml"), "#".repeat((1 << 20) + 1)).unwrap();
        // 16 bytes of static data in handler memory.
        let parts: [support::Text; 2] = [(0x1d00_0080, &[0x13; 4]), (0x1c00_0040, &[7; 4])];
        let data = support::elf(0x1d00_0080, &parts, &[("_start", 0x1d00_0080), ("echo_ph", 0x1d00_0080)]);
        std::fs::write(folder.join("data.elf"), data).unwrap();
        folder
    });
    let error = match Checked::read(experiment, "t.toml", folder, format) {
        Err(error) => error.to_string(),
        Ok(checked) => match HandlerCard::new(checked, &Wanted::default()) {
            Err(error) => error.to_string(),
            Ok(_) => "no error".into(),
        },
    };
    want.assert_eq(&error.replace(&format!("{}/", folder.display()), ""));
}

fn check(experiment: &str, want: Expect) {
    check_as(experiment, Format::Toml, want);
}

/// The error of an experiment that is valid except for these lines at its end.
fn check_context(lines: &str, want: Expect) {
    check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n[[context]]\n{lines}"), want);
}
