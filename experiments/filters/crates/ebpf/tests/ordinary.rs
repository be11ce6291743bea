//! Ordinary filter programs in C: accepted, and right, from each compiler for each processor.

mod common;

use common::agree;
use common::cases::{self, Case};
use common::compilers::{self, Compiler};
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::verifier::Verified;

fn holds(file: &str, cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for compiler in compilers::all() {
        let object = compiler.compile(file, &[]);
        for (name, results) in cases {
            if let Err(reason) = run(&object, name, results) {
                let Compiler { name: with, cpu } = &compiler;
                wrong.push(format!("{name}, {with} -mcpu={cpu}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(object: &[u8], name: &str, results: &[(&[u8], u64)]) -> Result<(), String> {
    let program =
        elf::load(object, &format!("filter/{name}")).map_err(|error| error.to_string())?;
    let verified =
        Verified::new(program, ContextLayout::windows(1)).map_err(|error| error.to_string())?;
    for (path, expected) in results {
        let found = agree::check(&verified, [*path]);
        if found != Some(*expected) {
            return Err(format!("{found:?} for {path:?}, expected {expected}"));
        }
    }
    Ok(())
}

#[test]
fn numbers() {
    holds("numbers.bpf.c", cases::NUMBERS);
}

#[test]
fn texts() {
    holds("texts.bpf.c", cases::TEXTS);
}

#[test]
fn state() {
    holds("state.bpf.c", cases::STATE);
}

#[test]
fn parts() {
    holds("parts.bpf.c", cases::PARTS);
}

#[test]
fn rules() {
    holds("rules.bpf.c", cases::RULES);
}

#[test]
fn tables() {
    holds("tables.bpf.c", cases::TABLES);
}
