//! Compiles C programs against the headers and the library, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Handlers that the SDK built, `elf/host.c`.
pub const HANDLERS: &[u8] = include_bytes!("../elf/host.elf");

/// A folder in which a C program is built and run.
pub struct Bench {
    folder: TempDir,
}

/// Output and exit code of a program.
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Bench {
    /// An empty folder with the library `libpspin.so`, where programs find it.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Cargo builds the library for this test into the test's folder.
        let tests = std::env::current_exe().expect("the path of this test");
        let library = tests.with_file_name("libcapi.so");
        std::os::unix::fs::symlink(&library, folder.path().join("libpspin.so")).expect("a link to the library");
        Bench { folder }
    }

    /// The same with the handlers of this crate's tests, in the file `handlers`.
    pub fn with_handlers() -> Self {
        let bench = Bench::new();
        bench.write("handlers", HANDLERS);
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    /// Copies a program of `crates/pspin/tests/elf` into the folder.
    pub fn program(&self, elf: &str, name: &str) {
        let bytes = std::fs::read(repository("../pspin/tests/elf").join(elf)).expect("a program that is committed");
        self.write(name, bytes);
    }

    /// Compiles `tests/c/NAME.c` into `NAME`, with strict warnings.
    pub fn compile(&self, name: &str) {
        let source = repository("tests/c").join(format!("{name}.c"));
        let output = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
            .args(["-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-O1", "-I"])
            .arg(repository("include"))
            .arg("-I")
            .arg(repository("tests/c"))
            .arg(source)
            .args(["-L.", "-lpspin", "-pthread", "-Wl,-rpath,$ORIGIN", "-o", name])
            .current_dir(self.folder.path())
            .output()
            .expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a compiled program in the folder.
    pub fn run(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(self.path(name));
        command.args(arguments).current_dir(self.folder.path());
        command.env_remove("PSPIN_HW").env_remove("SPINET_NIC").envs(variables.iter().copied());
        let Output { status, stdout, stderr } = command.output().expect("a program that runs");
        let text = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes).replace(&self.folder.path().display().to_string(), "FOLDER")
        };
        Ran { stdout: text(stdout), stderr: text(stderr), code: status.code() }
    }
}

impl Ran {
    /// Output and exit code without the statistics.
    pub fn without_statistics(&self) -> String {
        let (before, _) = self.stdout.split_once("\n###### Statistics ######\n").unwrap_or((&self.stdout, ""));
        Ran { stdout: before.into(), stderr: self.stderr.clone(), code: self.code }.text()
    }

    /// Output and exit code without the statistics and without times in ps.
    pub fn without_times(&self) -> String {
        let without = |line: &str| {
            let line = line.split_once(" ps: ").filter(|(time, _)| is_number(time)).map_or(line, |(_, rest)| rest);
            let line = line.split_once(", in L2 for ").map_or(line, |(packet, _)| packet);
            let rest = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            rest.filter(|(time, _)| is_number(time)).map_or(line, |(_, rest)| rest).to_owned() + "\n"
        };
        self.without_statistics().lines().map(without).collect()
    }

    /// Output and exit code.
    pub fn text(&self) -> String {
        let code = self.code.map_or("none".into(), |code| code.to_string());
        match &self.stderr[..] {
            "" => format!("{}exit code {code}\n", self.stdout),
            stderr => format!("{}stderr: {stderr}exit code {code}\n", self.stdout),
        }
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
