//! Counts are exact: each system call once, in the role of the process that made it.

mod common;

use common::{Profiler, Victim, permitted, profiled, role};

#[test]
fn system_calls_and_bytes_are_counted_exactly() {
    if !permitted() {
        return;
    }
    let mut victim = Victim::start();
    // Nothing before the beginning counts.
    victim.does("calls 100");
    let profiler = Profiler::of(&victim);
    victim.does("calls 1234");
    let profile = profiler.end();
    assert_eq!(profile.count("sut", "syscall.getppid"), 1234);
    // One more is the answer; its end may come after the profile's.
    assert_eq!(profile.count("sut", "syscall.write"), 1235);
    let written = profile.count("sut", "bytes.written");
    assert!([1234 * 5, 1235 * 5].contains(&written), "{written}");
    assert_eq!(
        profile.count("sut", "bytes.read"),
        "calls 1234".len() as u64
    );
    assert_eq!(profile.0["lacking"].as_array().map(Vec::len), Some(0));
}

#[test]
fn roles_are_counted_apart() {
    if !permitted() {
        return;
    }
    let (mut one, mut two, mut other) = (Victim::start(), Victim::start(), Victim::start());
    let profiler = Profiler::begin(&[role("one", &one), role("two", &two)].concat());
    one.does("calls 10");
    two.does("calls 20");
    other.does("calls 40");
    let profile = profiler.end();
    assert_eq!(profile.count("one", "syscall.getppid"), 10);
    assert_eq!(profile.count("two", "syscall.getppid"), 20);
    assert_eq!(
        profile.0["roles"].as_object().map(serde_json::Map::len),
        Some(2)
    );
}

#[test]
fn several_processes_form_one_role() {
    if !permitted() {
        return;
    }
    let (mut one, mut two) = (Victim::start(), Victim::start());
    let both = format!("both={},{}", one.number(), two.number());
    let profiler = Profiler::begin(&["--role".into(), both]);
    one.does("calls 10");
    two.does("calls 20");
    assert_eq!(profiler.end().count("both", "syscall.getppid"), 30);
}

#[test]
fn children_and_what_they_execute_belong_to_their_parents_role() {
    let Some(profile) = profiled(&mut Victim::start(), &["fork 300", "run 7"]) else {
        return;
    };
    assert_eq!(profile.count("sut", "syscall.getppid"), 307);
    assert_eq!(profile.count("sut", "syscall.execve"), 1);
    // Its end wakes its parent, which waits for it.
    assert!(profile.count("sut", "wakeup.sent") >= 1);
    // The child burns in the functions that it has from its parent.
    assert!(profile.samples_in("sut", "heavy_part") > 0);
}

#[test]
fn a_thousand_threads_are_counted() {
    let Some(profile) = profiled(&mut Victim::start(), &["threads 1000"]) else {
        return;
    };
    assert_eq!(profile.count("sut", "syscall.getppid"), 1000);
    assert_eq!(
        profile.count("sut", "syscall.clone3") + profile.count("sut", "syscall.clone"),
        1000
    );
}

#[test]
fn a_task_that_waits_switches_of_its_own_will() {
    let Some(profile) = profiled(&mut Victim::start(), &["sleep 200"]) else {
        return;
    };
    assert!(profile.count("sut", "switch.voluntary") >= 1);
    let waits = profile.stacks("sut", "waits");
    let sleeps = waits
        .iter()
        .filter(|(stack, _)| stack.iter().any(|frame| frame["name"] == "do_nanosleep"));
    let (mut slept, mut blocked) = (0, 0);
    for (_, entry) in sleeps {
        let ns = entry["ns"].as_u64().expect("a number");
        slept += ns;
        blocked += if entry["why"] == "blocked" { ns } else { 0 };
    }
    assert!(blocked > 0, "{waits:?}");
    // The clock is set before the task leaves its CPU, so it may run for a part of the time.
    let ran = profile.count("sut", "cpu_ns");
    assert!(slept + ran >= 200_000_000, "{slept} + {ran}: {waits:?}");
}

#[test]
fn waits_can_be_left_out() {
    if !permitted() {
        return;
    }
    let mut victim = Victim::start();
    let profiler = Profiler::begin(&[role("sut", &victim), vec!["--no-waits".into()]].concat());
    victim.does("sleep 1");
    let profile = profiler.end();
    assert_eq!(profile.stacks("sut", "waits").len(), 0);
    assert!(profile.count("sut", "switch.voluntary") >= 1);
}

#[test]
fn threads_of_the_kernel_form_a_role() {
    if !permitted() {
        return;
    }
    let mut victim = Victim::start();
    let arguments = [role("sut", &victim), vec!["--kernel-threads=kernel".into()]].concat();
    let profiler = Profiler::begin(&arguments);
    // What is left of processes is freed by RCU, whose threads wait for a grace period.
    victim.does("fork 20");
    victim.does("sleep 300");
    let profile = profiler.end();
    assert!(profile.count("kernel", "cpu_ns") > 0);
    assert!(profile.count("kernel", "switch.voluntary") > 0);
    assert_eq!(profile.count("kernel", "syscall.getppid"), 0);
    assert_eq!(profile.count("sut", "syscall.getppid"), 20);
}
