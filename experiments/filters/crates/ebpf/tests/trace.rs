//! `trace_printk` where nobody reads what it writes.

mod common;

use std::io::Read;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::maps::Maps;

/// The variable that makes `child` run, with the state of its standard error.
const CHILD: &str = "FILTER_EBPF_TEST_STDERR";
const RUNS: usize = 10_000;

/// Write "hey" to standard error many times, in a process of its own.
#[test]
fn child() {
    let Ok(state) = std::env::var(CHILD) else {
        return;
    };
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    // SAFETY: nothing else in this process uses standard error.
    unsafe {
        match state.as_str() {
            "closed" => assert_eq!(libc::close(2), 0),
            "full" => assert_eq!(libc::dup2(full.as_raw_fd(), 2), 2),
            _ => {}
        }
    }
    let text = i32::from_le_bytes(*b"hey\0");
    let slots = [
        store_imm(4, 10, -4, text),
        copy(1, 10),
        add(1, -4),
        mov(2, 4),
        helper(6),
        mov(0, 7),
        exit(),
    ];
    let verified = verify(&slots).unwrap();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    let compiled = Compiled::new(&verified, maps, fuel::DEFAULT).unwrap();
    for _ in 0..RUNS {
        assert_eq!(compiled.run([b"", b""]), Ok(7));
    }
}

fn start(state: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, state)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn no_state_of_standard_error_stops_a_program() {
    // Nobody reads the pipe, which is full soon.
    for state in ["closed", "full", "unread"] {
        let mut child = start(state);
        assert!(child.wait().unwrap().success(), "{state}");
    }
}

#[test]
fn lines_are_written_whole_and_few_of_many() {
    let mut child = start("read");
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let lines: Vec<&str> = said.lines().filter(|line| *line == "ebpf: hey").collect();
    assert!(
        !lines.is_empty() && lines.len() < RUNS,
        "{} lines",
        lines.len()
    );
}
