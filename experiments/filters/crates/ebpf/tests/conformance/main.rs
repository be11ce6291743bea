//! The public conformance suite of eBPF runtimes, through a driver of our own.
//!
//! Source: <https://github.com/Alan-Jowett/bpf_conformance>, MIT and Apache-2.0. Its data are not part of this project:
//! `FILTER_EBPF_CONFORMANCE` names a clone of it. Without one the meaning of instructions is held by
//! `--test instructions` alone.

#[path = "../common/mod.rs"]
mod common;

mod assembler;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use filter_ebpf::compile::Compiled;
use filter_ebpf::insn::Raw;
use filter_ebpf::maps::Maps;
use filter_ebpf::program::{MapKind, MapSpec};

use assembler::{assemble, number};
use common::agree::{FUEL, check};
use common::{mov, verify_with, wide};

/// The address of a map's value in a wide instruction.
const MAP_VALUE: u8 = 2;
/// As many pass, at least.
const FEWEST: usize = 300;

/// Programs that are refused, and words of the reason.
///
/// The kernel's verifier refuses them as well. No compiler makes them.
const REFUSED: &[(&str, &str)] = &[
    ("arsh32-imm-high", SHIFT),
    ("arsh32-imm-neg", SHIFT),
    ("arsh64-imm-high", SHIFT),
    ("arsh64-imm-neg", SHIFT),
    ("callx", "has a value in an unused field"),
    ("lsh32-imm-high", SHIFT),
    ("lsh32-imm-neg", SHIFT),
    ("lsh64-imm-high", SHIFT),
    ("lsh64-imm-neg", SHIFT),
    ("rsh32-imm-high", SHIFT),
    ("rsh32-imm-neg", SHIFT),
    ("rsh64-imm-high", SHIFT),
    ("rsh64-imm-neg", SHIFT),
];
const SHIFT: &str = "shifts by more bits than there are";

/// Return the sections of a file, by name.
fn sections(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        match line.strip_prefix("-- ") {
            Some(next) => name = next.trim().to_owned(),
            None => {
                let section: &mut String = found.entry(name.clone()).or_default();
                section.push_str(line);
                section.push('\n');
            }
        }
    }
    found
}

/// The suite's memory, which programs get the address and the length of, as the value of a map.
fn memory(section: Option<&String>) -> Vec<MapSpec> {
    let bytes: Vec<u8> = section
        .map(|text| {
            text.split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).expect("a byte"))
                .collect()
        })
        .unwrap_or_default();
    if bytes.is_empty() {
        return Vec::new();
    }
    vec![MapSpec {
        name: "memory".to_owned(),
        kind: MapKind::Array,
        key_size: 4,
        value_size: bytes.len() as u32,
        max_entries: 1,
        read_only: false,
        initial: bytes,
        choices: Vec::new(),
    }]
}

/// The instructions that give a program its arguments.
fn arguments(maps: &[MapSpec]) -> Vec<Raw> {
    match maps.first() {
        Some(map) => [
            &wide(1, MAP_VALUE, 0, 0)[..],
            &[mov(2, map.value_size as i32)],
        ]
        .concat(),
        None => vec![mov(1, 0), mov(2, 0)],
    }
}

fn run(text: &str) -> Result<u64, String> {
    let parts = sections(text);
    let maps = memory(parts.get("mem"));
    let program = assemble(&parts["asm"]).map_err(|line| format!("not understood: {line}"))?;
    let verified = verify_with(&[arguments(&maps), program].concat(), maps)?;
    match check(&verified, [b"", b""]) {
        Some(result) => Ok(result),
        // What calls a clock cannot be compared with a second run.
        None => {
            let maps = Maps::anonymous(verified.program().maps()).expect("memory for maps");
            let compiled = Compiled::new(&verified, Arc::new(maps), FUEL);
            let ran = compiled.map_err(|error| error.to_string())?.run([b"", b""]);
            ran.map_err(|error| error.to_string())
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("FILTER_EBPF_CONFORMANCE names a clone");
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "data"))
        .collect();
    found.sort();
    found
}

fn suite() -> Option<PathBuf> {
    let found = std::env::var_os("FILTER_EBPF_CONFORMANCE").map(PathBuf::from);
    if found.is_none() {
        eprintln!("not tested: FILTER_EBPF_CONFORMANCE names no clone of bpf_conformance");
    }
    found
}

#[test]
fn the_suites_programs_give_its_results() {
    let Some(suite) = suite() else { return };
    let (mut passed, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for file in files(&suite.join("tests")) {
        let name = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&file).expect("it can be read");
        let wanted = sections(&text)["result"]
            .lines()
            .next()
            .and_then(|line| number(line.trim()));
        match (run(&text), wanted) {
            (Ok(found), Some(wanted)) if found == wanted => passed += 1,
            (Ok(found), wanted) => wrong.push(format!("{name}: {found:#x}, expected {wanted:x?}")),
            (Err(reason), _) => refused.push((name, reason)),
        }
    }
    println!("{passed} passed, {} refused", refused.len());
    for (name, reason) in &refused {
        println!("{name}: {reason}");
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(passed >= FEWEST);
    assert_eq!(refused.len(), REFUSED.len());
    for (name, reason) in &refused {
        let known = REFUSED.iter().find(|(each, _)| each == name);
        assert!(
            known.is_some_and(|(_, words)| reason.contains(words)),
            "{name}: {reason}"
        );
    }
}

#[test]
fn fields_that_have_no_meaning_are_refused() {
    let Some(suite) = suite() else { return };
    let mut tried = 0;
    for file in files(&suite.join("negative")) {
        let text = fs::read_to_string(&file).expect("it can be read");
        let Some(bytes) = sections(&text).remove("raw") else {
            continue;
        };
        let bytes: Vec<u8> = bytes
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).expect("a byte"))
            .collect();
        let slots: Vec<Raw> = bytes
            .chunks_exact(8)
            .map(|slot| Raw::read(slot.try_into().expect("eight bytes")))
            .collect();
        tried += 1;
        assert!(
            verify_with(&slots, Vec::new()).is_err(),
            "{}",
            file.display()
        );
    }
    assert!(tried >= 40, "{tried}");
}
