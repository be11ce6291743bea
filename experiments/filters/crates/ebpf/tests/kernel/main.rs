//! A second opinion: the kernel's own verifier, loading the same sources as programs for packets.

#[path = "../common/mod.rs"]
mod common;
mod disagreements;
mod load;
mod trim;

use std::collections::BTreeSet;

use common::cases;
use common::compilers;
use disagreements::{Accepts, DISAGREEMENTS};
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

#[test]
fn the_kernel_agrees_but_where_a_reason_is_given() {
    if let Err(reason) = load::allowed() {
        // As a user without the right, or in a container: there is no second opinion then.
        println!("skipped: {reason}");
        return;
    }
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut both, mut neither) = (0, 0);
    let differing: Vec<&str> = DISAGREEMENTS.iter().map(|known| known.program).collect();
    let ordinary = cases::ALL.map(|(file, cases)| {
        (
            file,
            cases.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        )
    });
    for compiler in compilers::all() {
        let mut sources = ordinary.to_vec();
        if compiler.is_usual() {
            let ordinary = |name: &&str| !sources.iter().any(|(_, names)| names.contains(name));
            let others = differing.iter().copied().filter(ordinary).collect();
            sources.push((DIFFER, others));
        }
        for (file, names) in sources {
            let object = compiler.compile(file, &[]);
            let packets = compiler.compile(file, &["-DKERNEL"]);
            for name in names {
                let section = format!("filter/{name}");
                let (ours, kernels) = (
                    ours(&object, &section),
                    load::load(&packets, &section, false),
                );
                let accepts = match (ours.is_ok(), kernels.is_ok()) {
                    (true, true) => {
                        both += 1;
                        continue;
                    }
                    (false, false) => {
                        neither += 1;
                        continue;
                    }
                    (true, false) => Accepts::Ours,
                    (false, true) => Accepts::Kernel,
                };
                seen.insert(name.to_owned());
                let known = |known: &&disagreements::Disagreement| {
                    known.program == name && known.accepts == accepts
                };
                if DISAGREEMENTS.iter().find(known).is_none() {
                    let kernels = load::load(&packets, &section, true);
                    wrong.push(format!(
                        "{name}, {} -mcpu={}: only {accepts:?} accepts it; ours {ours:?}, the kernel {kernels:?}",
                        compiler.name, compiler.cpu
                    ));
                }
            }
        }
    }
    println!("{both} accepted by both, {neither} by neither, and differently judged: {seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What is loaded is what was compiled: far the most are accepted.
    assert!(both > 60, "only {both} programs are accepted by both");
}

#[test]
fn every_disagreement_is_in_the_table_with_its_reason() {
    let table = include_str!("../../../../variants/ebpf/README.md");
    for known in DISAGREEMENTS {
        let who = match known.accepts {
            Accepts::Ours => "this one",
            Accepts::Kernel => "the kernel's",
        };
        let row = table
            .lines()
            .find(|line| line.contains(&format!("`{}`", known.program)));
        let row = row.unwrap_or_else(|| panic!("{} is not in the table", known.program));
        assert!(
            row.contains(&format!("| {who} | {} |", known.reason)),
            "{row}"
        );
    }
}
