//! What cannot be run says why.

mod contexts;
mod experiments;
mod programs;

use crate::support;
use expect_test::Expect;
use spinet::experiment::Checked;
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The error of an experiment, without the test's folder.
fn check_as(experiment: &str, format: Format, want: Expect) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = support::folder_with_program("bad_input");
        std::fs::write(folder.join("empty.pcap"), "").unwrap();
        folder
    });
    let error = match Checked::read(experiment, "t.toml", folder, format) {
        Err(error) => error.to_string(),
        Ok(checked) => match Run::new(checked, None, &Wanted::default()) {
            Err(error) => error.to_string(),
            Ok(_) => "no error".into(),
        },
    };
    want.assert_eq(&error.replace(&format!("{}/", folder.display()), ""));
}

fn check(experiment: &str, want: Expect) {
    check_as(experiment, Format::Toml, want);
}

/// The error of an experiment that is good but for these lines at its end.
fn check_context(lines: &str, want: Expect) {
    check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n[[context]]\n{lines}"), want);
}
