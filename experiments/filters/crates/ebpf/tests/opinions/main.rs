//! Second opinions: the kernel's own verifier and PREVAIL, over the same sources as programs for packets.

#[path = "../common/mod.rs"]
mod common;
mod disagreements;
mod kernel;
mod prevail;
mod trim;

use std::collections::BTreeSet;

use common::cases;
use common::compilers::{self, Compiler};
use disagreements::{Accepts, Disagreement, KERNEL, PREVAIL};
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::verifier::Verified;

/// Programs of which one verifier or the other has another opinion, beside the ordinary ones.
const DIFFER: &str = "differ.bpf.c";

/// Say whether this project accepts a program, and why not.
fn ours(object: &[u8], section: &str) -> Result<(), String> {
    let program = elf::load(object, section).map_err(|error| error.to_string())?;
    let verified = Verified::new(program, ContextLayout::windows(1));
    verified.map(|_| ()).map_err(|error| error.to_string())
}

/// The programs of a source that differs on purpose.
fn differing(known: &[Disagreement]) -> Vec<&'static str> {
    let ordinary = |name: &str| {
        let mut all = cases::ALL.iter().flat_map(|(_, cases)| cases.iter());
        all.any(|(other, _)| *other == name)
    };
    let names = known.iter().map(|known| known.program);
    names.filter(|name| !ordinary(name)).collect()
}

/// Compare the opinions on all programs; fail where they differ and `known` does not say why.
fn compare(
    compilers: &[Compiler],
    known: &[Disagreement],
    other: impl Fn(&[u8], &str) -> Result<(), String>,
) {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut both = 0;
    for compiler in compilers {
        let mut sources: Vec<(&str, Vec<&str>)> = cases::ALL
            .iter()
            .map(|(file, cases)| (*file, cases.iter().map(|(name, _)| *name).collect()))
            .collect();
        if compiler.is_usual() {
            sources.push((DIFFER, differing(known)));
        }
        for (file, names) in sources {
            let object = compiler.compile(file, &[]);
            let packets = compiler.compile(file, &["-DKERNEL"]);
            for name in names {
                let section = format!("filter/{name}");
                let (ours, other) = (ours(&object, &section), other(&packets, &section));
                let accepts = match (ours.is_ok(), other.is_ok()) {
                    (true, false) => Accepts::Ours,
                    (false, true) => Accepts::Other,
                    (agreed, _) => {
                        both += usize::from(agreed);
                        continue;
                    }
                };
                seen.insert(name.to_owned());
                let given =
                    |known: &Disagreement| known.program == name && known.accepts == accepts;
                if !known.iter().any(given) {
                    wrong.push(format!(
                        "{name}, {} -mcpu={}: ours {ours:?}, the other {other:?}",
                        compiler.name, compiler.cpu
                    ));
                }
            }
        }
    }
    println!("{both} accepted by both; differently judged: {seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What is judged is what was compiled: far the most are accepted.
    assert!(both > 60, "only {both} programs are accepted by both");
}

#[test]
fn the_kernel_agrees_but_where_a_reason_is_given() {
    if let Err(reason) = kernel::allowed() {
        // As a user without the right, or in a container.
        println!("skipped: {reason}");
        return;
    }
    compare(&compilers::all(), KERNEL, |object, section| {
        kernel::load(object, section)
    });
}

#[test]
fn prevail_agrees_but_where_a_reason_is_given() {
    if let Err(reason) = prevail::allowed() {
        println!("skipped: {reason}");
        return;
    }
    let mut usual = compilers::all();
    usual.retain(Compiler::is_usual);
    compare(&usual, PREVAIL, prevail::accepts);
}

#[test]
fn every_disagreement_is_in_the_tables_with_its_reason() {
    let table = include_str!("../../../../variants/ebpf/README.md");
    for (name, known) in [("the kernel's", KERNEL), ("PREVAIL", PREVAIL)] {
        for known in known {
            let who = match known.accepts {
                Accepts::Ours => "this one",
                Accepts::Other => name,
            };
            let (program, reason) = (format!("`{}`", known.program), known.reason);
            let row = format!("| {who} | {reason} |");
            let there = |line: &str| line.contains(&program) && line.contains(&row);
            assert!(table.lines().any(there), "{program} {row}");
        }
    }
}
