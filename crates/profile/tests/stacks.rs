//! Samples name the functions that ran, of programs in every state.

mod common;

use common::{Profiler, Victim, permitted, profiled};

#[test]
fn functions_are_named_in_the_order_of_their_work() {
    let Some(profile) = profiled(&mut Victim::start(), &["burn 60"]) else {
        return;
    };
    let (heavy, light) = (
        profile.samples_in("sut", "heavy_part"),
        profile.samples_in("sut", "light_part"),
    );
    assert!(heavy > light && light > 0, "{heavy} {light}");
    let all = profile.samples("sut", |_| true);
    assert!(heavy + light > all / 2, "{heavy} + {light} of {all}");
    // Frame pointers lead to the beginning of the program.
    assert_eq!(profile.samples("sut", |frame| frame["kind"] == "cut"), 0);
    // A leaf without a frame of its own hides its caller, but not the one before.
    assert!(profile.samples_in("sut", "main") > heavy / 2);
    let sampled = all * profile.0["period_ns"].as_u64().expect("a number");
    let used = profile.count("sut", "cpu_ns");
    assert!(sampled > used / 2 && sampled < used * 2, "{sampled} {used}");
}

#[test]
fn stacks_begin_with_the_root_and_end_in_the_kernel() {
    let Some(profile) = profiled(&mut Victim::start(), &["zeros 3000"]) else {
        return;
    };
    assert!(profile.samples("sut", |frame| frame["kind"] == "kernel") > 0);
    let mut in_kernel = 0;
    for (stack, _) in profile.stacks("sut", "samples") {
        let kinds: Vec<bool> = stack
            .iter()
            .map(|frame| frame["kind"] == "kernel")
            .collect();
        assert!(kinds.is_sorted(), "{stack:?}");
        let named = stack.iter().all(|frame| frame["kind"] != "unnamed");
        in_kernel += u32::from(named && stack.iter().any(|frame| frame["name"] == "vfs_read"));
    }
    assert!(in_kernel > 0);
}

#[test]
fn a_stripped_program_names_its_module_only() {
    let mut victim = Victim::built(&["-s"]);
    let Some(profile) = profiled(&mut victim, &["burn 30"]) else {
        return;
    };
    let name = victim
        .program
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let here = |kind: &str| {
        profile.samples("sut", |frame| {
            frame["module"] == name && frame["kind"] == kind
        })
    };
    assert!(here("unnamed") > 0, "{}", profile.0);
    assert_eq!(here("user"), 0, "{}", profile.0);
}

#[test]
fn a_deleted_program_keeps_its_names() {
    let mut victim = Victim::start();
    std::fs::remove_file(&victim.program).expect("it is there");
    let Some(profile) = profiled(&mut victim, &["burn 30"]) else {
        return;
    };
    assert!(profile.samples_in("sut", "heavy_part") > 0);
}

#[test]
fn a_process_that_has_ended_keeps_its_names() {
    if !permitted() {
        return;
    }
    let mut victim = Victim::start();
    let profiler = Profiler::of(&victim);
    victim.does("burn 30");
    victim.dies();
    std::fs::remove_file(&victim.program).expect("it is there");
    assert!(profiler.end().samples_in("sut", "heavy_part") > 0);
}

#[test]
fn a_perf_map_names_the_code_of_a_jit() {
    let mut victim = Victim::start();
    let Some(profile) = profiled(&mut victim, &["jit 10"]) else {
        return;
    };
    let map = format!("/tmp/perf-{}.map", victim.number());
    std::fs::remove_file(map).expect("the victim wrote it");
    assert!(
        profile.samples_in("sut", "jitted loop") > 0,
        "{}",
        profile.0
    );
}

#[test]
fn without_frame_pointers_a_stack_says_that_it_was_cut() {
    let Some(profile) = profiled(
        &mut Victim::built(&["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]),
        &["burn 30"],
    ) else {
        return;
    };
    assert!(profile.samples_in("sut", "heavy_part") > 0);
    for (stack, _) in profile.stacks("sut", "samples") {
        // What is no code is no caller.
        assert!(
            stack.iter().all(|frame| frame["module"] != "[unmapped]"),
            "{stack:?}"
        );
        let function = stack.iter().position(|frame| frame["name"] == "heavy_part");
        let whole = stack.iter().any(|frame| frame["name"] == "burn");
        let cut = stack[0]["kind"] == "cut" || stack[0]["kind"] == "unnamed";
        let begun = stack[0]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("__libc_start"));
        assert!(function.is_none() || whole || cut || begun, "{stack:?}");
    }
}
