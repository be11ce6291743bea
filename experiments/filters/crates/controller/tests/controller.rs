//! The program as a user meets it: who gets the memory, what is refused, and in which words.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{self, Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_filter-controller");

/// A name of shared memory that no other test uses; removed at the end.
struct Name(String);

impl Name {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("/tare-test-{}-{number}", process::id()))
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(format!("/dev/shm{}", self.0))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--shm", &self.0]);
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// A controller whose first line said that it is ready, or None when it gave up.
    fn start(&self) -> Option<Child> {
        let mut command = Command::new(PROGRAM);
        command.args(["--shm", &self.0, "--prefix", "/aaaa"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        if line.contains("ready") {
            return Some(child);
        }
        child.wait().unwrap();
        None
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.file());
    }
}

fn stop(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_controller_that_is_stopped_says_what_was_counted_in_all() {
    let name = Name::new();
    let mut child = name.start().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    stop(child);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let last = rest.lines().last();
    assert_eq!(last, Some("controller ends: accepted 0 rejected 0"));
}

#[test]
fn one_of_many_gets_the_memory() {
    let name = Name::new();
    let mut winners: Vec<Child> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..8).map(|_| scope.spawn(|| name.start())).collect();
        started
            .into_iter()
            .filter_map(|one| one.join().unwrap())
            .collect()
    });
    assert_eq!(winners.len(), 1);
    stop(winners.remove(0));
    assert!(!name.file().exists());
}

#[test]
fn memory_that_was_begun_and_not_finished_is_made_anew() {
    for size in [0, 8384] {
        let name = Name::new();
        fs::write(name.file(), vec![0; size]).unwrap();
        stop(name.start().unwrap());
        assert!(!name.file().exists());
    }
}

#[test]
fn memory_of_somebody_else_is_left_alone() {
    for size in [144, 8384] {
        let name = Name::new();
        fs::write(name.file(), vec![1; size]).unwrap();
        for arguments in [
            &["--prefix", "/a"][..],
            &["get"],
            &["set", "--prefix", "/a"],
        ] {
            let said = refusal(&name.run(arguments));
            assert!(said.contains("has another layout"), "{said}");
            assert!(said.contains("; remove /dev/shm/tare-test-"), "{said}");
        }
        assert_eq!(fs::read(name.file()).unwrap(), vec![1; size]);
    }
}

#[test]
fn a_name_that_was_taken_over_is_not_removed() {
    let name = Name::new();
    let child = name.start().unwrap();
    fs::remove_file(name.file()).unwrap();
    fs::write(name.file(), "another's").unwrap();
    stop(child);
    assert!(name.file().exists());
}

#[test]
fn set_and_get_without_a_controller_say_how_to_start_one() {
    let name = Name::new();
    for arguments in [&["get"][..], &["set", "--prefix", "/a"]] {
        let said = refusal(&name.run(arguments));
        assert!(
            said.contains("; start its controller: filter-controller --shm"),
            "{said}"
        );
    }
    assert!(!name.file().exists());
}

#[test]
fn what_cannot_be_used_is_refused_with_what_can() {
    let name = Name::new();
    let long = "x".repeat(4093);
    let said = refusal(&name.run(&["--prefix", &long]));
    assert!(
        said.contains("has 4093 bytes; give one of at most 4092"),
        "{said}"
    );
    let said = refusal(&name.run(&[]));
    assert!(said.contains("--prefix is missing"), "{said}");
    for wrong in ["", "/", "name", "/a/b"] {
        let arguments = ["--shm", wrong, "--prefix", "/a"];
        let said = refusal(&Command::new(PROGRAM).args(arguments).output().unwrap());
        assert!(said.contains("expected a slash and then a name"), "{said}");
    }
}
