//! Both ways to run a program, from the same start: they must end the same.

use std::sync::Arc;

use filter_ebpf::compile::{CompileError, Compiled};
use filter_ebpf::insn::Op;
use filter_ebpf::interpreter::{self, Fault};
use filter_ebpf::maps::Maps;
use filter_ebpf::verifier::Verified;

/// The fuel of a run.
pub const FUEL: u32 = 50_000;

/// Whether the program calls only helpers whose results follow from their arguments.
fn repeatable(verified: &Verified) -> bool {
    verified
        .program()
        .ops()
        .iter()
        .all(|op| !matches!(op, Op::Helper { number: 5..=8 }))
}

/// Everything that a program can leave behind.
fn contents(maps: &Maps) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for map in maps.all() {
        for key in 0..8u64 {
            let key = key.to_le_bytes();
            let key = key.get(..map.spec().key_size as usize).unwrap_or_default();
            all.extend(map.get_each(key).into_iter().flatten());
        }
        all.extend(std::iter::from_fn(|| map.receive()));
    }
    all
}

/// Stay on one processor: maps per CPU would not be the same otherwise.
fn stay() {
    thread_local! {
        static STAYS: () = {
            // SAFETY: changes the running thread's processors only, to the one that it is on.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
            }
        };
    }
    STAYS.with(|()| {});
}

/// Runs an accepted program both ways; the interpreter must not find an illegal access.
pub fn check<const N: usize>(verified: &Verified, windows: [&[u8]; N]) -> Option<u64> {
    if !repeatable(verified) {
        return None;
    }
    stay();
    let specs = verified.program().maps();
    let reference = Maps::anonymous(specs).expect("memory for maps");
    let ran = interpreter::run(verified, &reference, &windows, FUEL);
    assert!(ran.spent <= u64::from(FUEL), "takes longer than it may");
    let expected = ran.result;
    if let Err(fault @ (Fault::Memory { .. } | Fault::Illegal { .. })) = &expected {
        panic!("the verifier accepted a program that faults: {fault}");
    }
    let maps = Arc::new(Maps::anonymous(specs).expect("memory for maps"));
    let found = match Compiled::new(verified, Arc::clone(&maps), FUEL) {
        Ok(compiled) => compiled.run(windows).ok(),
        Err(CompileError::Fuel { .. }) => None,
        Err(error) => panic!("the verifier accepted a program that does not compile: {error}"),
    };
    assert_eq!(found, expected.ok(), "the results differ");
    assert_eq!(contents(&maps), contents(&reference), "the maps differ");
    expected.ok()
}
