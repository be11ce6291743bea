//! The compilers of C that are at hand: clang, and other versions of it.
//!
//! None is gcc: version 12 for BPF, the one in Debian, calls no helper by its number without an attribute of its
//! own, compiles `>` as `>=` for the oldest processor, and moves the ends of
//! windows, which the kernel does not allow either.

use std::path::Path;
use std::process::{Command, Stdio};

/// A compiler, and the processor that it makes code for.
pub struct Compiler {
    pub name: &'static str,
    pub cpu: &'static str,
}

/// Every compiler with every processor that it knows. Only clang has to be there.
pub fn all() -> Vec<Compiler> {
    let mut all = Vec::new();
    for name in ["clang", "clang-16", "clang-19", "clang-22"] {
        for cpu in ["v1", "v2", "v3", "v4"] {
            let compiler = Compiler { name, cpu };
            if compiler.knows() {
                all.push(compiler);
            }
        }
    }
    assert!(
        !all.is_empty(),
        "no compiler for these tests; install clang"
    );
    all
}

impl Compiler {
    /// Return true for the one that every machine of the project has, for the processor that it uses.
    pub fn is_usual(&self) -> bool {
        (self.name, self.cpu) == ("clang", "v3")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.name);
        command.args([
            "-target", "bpf", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-c",
        ]);
        command.arg(format!("-mcpu={}", self.cpu));
        command
    }

    fn knows(&self) -> bool {
        let mut command = self.command();
        command.args(["-x", "c", "/dev/null", "-o", "/dev/null"]);
        let done = command.stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    }

    /// The object file of a source in tests/programs, with more arguments.
    pub fn compile(&self, source: &str, defined: &[&str]) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let name = format!(
            "{}-{:?}-{}-{}-{source}.o",
            std::process::id(),
            std::thread::current().id(),
            self.name,
            self.cpu
        );
        let object = std::env::temp_dir().join(name);
        let mut command = self.command();
        let output = command
            .args(defined)
            .arg(folder.join(source))
            .arg("-o")
            .arg(&object)
            .output();
        let output = output.expect("it was there a moment ago");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {source}: {errors}", self.name);
        let bytes = std::fs::read(&object).expect("just made");
        std::fs::remove_file(&object).expect("it is this test's");
        bytes
    }
}
