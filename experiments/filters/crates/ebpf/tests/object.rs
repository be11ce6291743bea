//! Object files of the real compiler: linked, verified, run, and cut off at every byte.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::fuel;
use filter_ebpf::interpreter;
use filter_ebpf::maps::{Maps, Update};
use filter_ebpf::program::Program;
use filter_ebpf::verifier::Verified;

fn object(name: &str, cpu: &str) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    let output = Command::new("clang")
        .args(["-target", "bpf", "-O2", "-g", "-Wall", "-Werror", "-c"])
        .arg(format!("-mcpu={cpu}"))
        .args([&source, Path::new("-o"), Path::new("-")])
        .output()
        .expect("clang compiles the programs of these tests; install clang");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", source.display());
    output.stdout
}

fn set_prefix(maps: &Maps, prefix: &[u8]) {
    let mut value = (prefix.len() as u32).to_le_bytes().to_vec();
    value.extend(prefix);
    value.resize(4096, 0);
    let map = maps.by_name("prefixes").expect("declared");
    map.update(&[0; 4], &value, Update::Any).unwrap();
}

fn counts(maps: &Maps) -> (u64, u64) {
    let counters = maps
        .by_name(".bss")
        .expect("declared")
        .get(&[0; 4])
        .unwrap();
    let one = |n: usize| u64::from_le_bytes(counters[n * 8..n * 8 + 8].try_into().unwrap());
    (one(0), one(8))
}

fn filter(cpu: &str) -> Program {
    elf::load(&object("prefix.bpf.c", cpu), "filter").unwrap()
}

#[test]
fn the_filter_decides_and_counts_as_the_rule_says() {
    for cpu in ["v1", "v2", "v3"] {
        let program = filter(cpu);
        let verified = Verified::new(program, ContextLayout::windows(1)).unwrap();
        let specs = verified.program().maps();
        let maps = Arc::new(Maps::anonymous(specs).unwrap());
        let reference = Maps::anonymous(specs).unwrap();
        let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT).unwrap();
        let long = vec![b'x'; 4092];
        let prefixes: [&[u8]; 5] = [b"", b"/", b"/aaaa", b"/a\0\xff", &long];
        let paths: [&[u8]; 8] = [
            b"",
            b"/",
            b"/aaaa",
            b"/aaaab",
            b"/aaab",
            b"/a\0\xff",
            &long,
            &long[1..],
        ];
        let (mut accepted, mut rejected) = (0, 0);
        for prefix in prefixes {
            set_prefix(&maps, prefix);
            set_prefix(&reference, prefix);
            for path in paths {
                let expected = u64::from(path.starts_with(prefix));
                assert_eq!(
                    compiled.run([path]),
                    Ok(expected),
                    "{cpu} {prefix:?} {path:?}"
                );
                let slow = interpreter::run(&verified, &reference, &[path], fuel::DEFAULT);
                assert_eq!(slow.result, Ok(expected));
                accepted += expected;
                rejected += 1 - expected;
            }
        }
        assert_eq!(counts(&maps), (accepted, rejected));
        assert_eq!(counts(&reference), (accepted, rejected));
    }
}

#[test]
fn counters_are_exact_with_many_threads() {
    let verified = Verified::new(filter("v3"), ContextLayout::windows(1)).unwrap();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    set_prefix(&maps, b"/a");
    let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..20_000 {
                    let path: &[u8] = if n % 4 == 0 { b"/b" } else { b"/ab" };
                    compiled.run([path]).unwrap();
                }
            });
        }
    });
    assert_eq!(counts(&maps), (60_000, 20_000));
}

#[test]
fn an_object_cut_off_anywhere_is_an_error() {
    let whole = object("prefix.bpf.c", "v3");
    assert!(elf::load(&whole, "filter").is_ok());
    // The section headers come last: without a byte of them there is no program.
    for length in 0..whole.len() {
        assert!(
            elf::load(&whole[..length], "filter").is_err(),
            "{length} bytes of {}",
            whole.len()
        );
    }
}

#[test]
fn a_changed_object_never_panics() {
    let whole = object("prefix.bpf.c", "v3");
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        if let Ok(program) = elf::load(&changed, "filter") {
            let _ = Verified::new(program, ContextLayout::windows(1));
        }
    }
}

#[test]
fn a_rejection_names_the_line_and_the_function() {
    let object = object("wrong.bpf.c", "v3");
    let reason = |section| {
        let program = elf::load(&object, section).unwrap();
        Verified::new(program, ContextLayout::windows(1))
            .unwrap_err()
            .to_string()
    };
    let said = reason("filter/entry");
    assert!(
        said.contains(" (wrong.bpf.c:12, in entry): may reach outside the window"),
        "{said}"
    );
    let said = reason("filter/called");
    assert!(
        said.contains(" (wrong.bpf.c:18, in function): may reach outside the window"),
        "{said}"
    );
}

#[test]
fn several_programs_in_a_section_are_named() {
    let said = elf::load(&object("wrong.bpf.c", "v3"), "filter/several")
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("has several programs, [\"first\", \"second\"]; give each"),
        "{said}"
    );
}

#[test]
fn a_map_that_is_not_understood_matters_to_who_uses_it() {
    let object = object("wrong.bpf.c", "v3");
    assert!(elf::load(&object, "filter/entry").is_ok());
    let said = elf::load(&object, "filter/table").unwrap_err().to_string();
    assert!(said.contains("has a map with an unknown field"), "{said}");
}

#[test]
fn what_is_declared_only_is_named() {
    let said = elf::load(&object("wrong.bpf.c", "v3"), "filter/undefined")
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("section filter/undefined, instruction "),
        "{said}"
    );
    assert!(
        said.contains(": uses \"elsewhere\", which the object does not define; define it"),
        "{said}"
    );
}

#[test]
fn a_section_that_is_not_there_is_named_with_those_that_are() {
    let error = elf::load(&object("prefix.bpf.c", "v3"), "xdp").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no program in section \"xdp\"; found [\"filter\"]"
    );
}
