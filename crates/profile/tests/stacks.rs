//! Samples name the functions that ran, of programs in every state.

mod common;

use common::{Profile, Profiler, Victim, permitted, profiled};

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
    assert_whole(&profile, &["_start", "main", "burn", "heavy_part"]);
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

/// Without a register for frames, as compilers build programs by default.
const OPTIMISED: [&str; 3] = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"];

/// Assert that each stack with the last of these functions has all of them in this order.
fn assert_whole(profile: &Profile, functions: &[&str]) {
    let (last, callers) = functions.split_last().expect("functions");
    let mut found = 0;
    for (stack, _) in profile.stacks("sut", "samples") {
        let place = |name: &str| stack.iter().position(|frame| frame["name"] == name);
        let Some(end) = place(last) else {
            continue;
        };
        found += 1;
        let places: Vec<Option<usize>> = callers.iter().map(|name| place(name)).collect();
        assert!(
            places.iter().all(Option::is_some)
                && places.is_sorted()
                && places.last() < Some(&Some(end)),
            "{stack:?}"
        );
        assert_ne!(stack[0]["kind"], "cut", "{stack:?}");
    }
    assert!(found > 0, "{}", profile.0);
}

#[test]
fn callers_are_found_without_frame_pointers() {
    let Some(profile) = profiled(&mut Victim::built(&OPTIMISED), &["burn 30", "thread 30"]) else {
        return;
    };
    assert_whole(&profile, &["burn", "heavy_part"]);
    assert_whole(&profile, &["burn", "light_part"]);
    let below = |root: &str| {
        let stacks = profile.stacks("sut", "samples");
        let burns = |stack: &[&serde_json::Value], name: &str| {
            stack.iter().any(|frame| frame["name"] == name)
        };
        stacks
            .iter()
            .filter(|(stack, _)| burns(stack, root) && burns(stack, "heavy_part"))
            .count()
    };
    assert!(below("main") > 0, "{}", profile.0);
    assert!(below("in_thread") > 0, "{}", profile.0);
}

#[test]
fn a_static_program_has_its_callers_too() {
    let options = [&OPTIMISED[..], &["-static"]].concat();
    let Some(profile) = profiled(&mut Victim::built(&options), &["burn 30"]) else {
        return;
    };
    assert_whole(&profile, &["_start", "main", "burn", "heavy_part"]);
}

#[test]
fn a_stripped_program_has_its_callers_without_names() {
    let options = [&OPTIMISED[..], &["-s"]].concat();
    let Some(profile) = profiled(&mut Victim::built(&options), &["burn 30"]) else {
        return;
    };
    let deep = |(stack, _): &(Vec<&serde_json::Value>, &serde_json::Value)| {
        let unnamed = stack
            .iter()
            .filter(|frame| frame["kind"] == "unnamed")
            .count();
        // _start, main, burn and its part.
        unnamed == 4 && stack[0]["kind"] != "cut"
    };
    assert!(
        profile.stacks("sut", "samples").iter().any(deep),
        "{}",
        profile.0
    );
}

#[test]
fn the_function_that_a_signal_interrupted_is_a_caller() {
    for options in [&OPTIMISED[..], &[]] {
        let Some(profile) = profiled(&mut Victim::built(options), &["signal 1"]) else {
            return;
        };
        assert_whole(
            &profile,
            &[
                "_start",
                "main",
                "interrupted",
                "in_handler",
                "burn",
                "heavy_part",
            ],
        );
    }
}

#[test]
fn without_any_way_to_the_callers_a_stack_says_that_it_was_cut() {
    let options = [&OPTIMISED[..], &["-fno-asynchronous-unwind-tables"]].concat();
    let Some(profile) = profiled(&mut Victim::built(&options), &["burn 30"]) else {
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
        let cut = stack[0]["kind"] == "cut";
        let begun = stack[0]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("_start") || name.starts_with("__libc_start"));
        assert!(function.is_none() || whole || cut || begun, "{stack:?}");
    }
}
