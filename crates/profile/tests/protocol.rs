//! What the program says, and how it ends.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Profiler, Victim, permitted, program, role};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

fn finished(arguments: &[String]) -> Output {
    program(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_process_that_does_not_exist_is_one_sentence() {
    let output = finished(&["--role".into(), "sut=4194305".into()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("there is no process 4194305"));
}

#[test]
fn a_process_in_two_roles_is_a_bad_option() {
    let victim = Victim::start();
    let output = finished(&[role("one", &victim), role("two", &victim)].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("twice"));
    assert_eq!(finished(&[]).status.code(), Some(2));
    assert_eq!(
        finished(&["--role".into(), "sut=x".into()]).status.code(),
        Some(2)
    );
}

#[test]
fn the_end_of_the_input_ends_the_profile() {
    if !permitted() {
        return;
    }
    let mut victim = Victim::start();
    let profiler = Profiler::of(&victim);
    victim.does("calls 3");
    assert_eq!(profiler.close().count("sut", "syscall.getppid"), 3);
}

#[test]
fn an_input_that_ends_before_the_beginning_gives_no_profile() {
    if !permitted() {
        return;
    }
    let victim = Victim::start();
    let output = finished(&role("sut", &victim));
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "{\"event\":\"ready\"}\n"
    );
}

#[test]
fn an_unknown_line_is_named() {
    if !permitted() {
        return;
    }
    let victim = Victim::start();
    let mut child = program(&role("sut", &victim))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"start\n").expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("expected \"begin\", found \"start\""));
}

#[test]
fn without_the_right_to_load_programs_it_says_so() {
    if !permitted() {
        return;
    }
    let victim = Victim::start();
    let mut command = program(&role("sut", &victim));
    // SAFETY: only system calls are made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let rights = [
                CapabilitySet::BPF,
                CapabilitySet::PERFMON,
                CapabilitySet::SYS_ADMIN,
            ];
            for right in rights {
                remove_capability_from_bounding_set(right)?;
            }
            Ok(())
        });
    }
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3));
    let event: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one line of JSON");
    assert_eq!(event["event"], "unavailable");
    let reason = event["reason"].as_str().expect("a sentence");
    assert!(reason.contains("CAP_BPF and CAP_PERFMON"), "{reason}");
    assert_eq!(
        output.stderr,
        b"",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn it_ends_with_its_parent() {
    if !permitted() {
        return;
    }
    let victim = Victim::start();
    let script = "\"$0\" \"$@\" <&3 & echo $!; read line";
    let mut parent = Command::new("bash")
        .args([
            "-c",
            &format!("exec 3<&0; {script}"),
            env!("CARGO_BIN_EXE_tare-profile"),
        ])
        .args(role("sut", &victim))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(parent.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let number = lines.next().expect("the number");
    assert_eq!(lines.next().as_deref(), Some("{\"event\":\"ready\"}"));
    parent.kill().expect("it lives");
    parent.wait().expect("it ends");
    while Path::new("/proc")
        .join(&number)
        .join("exe")
        .read_link()
        .is_ok()
    {
        std::thread::yield_now();
    }
}
