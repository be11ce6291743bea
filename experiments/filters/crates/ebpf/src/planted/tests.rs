//! Random programs find the faults that are planted, and none where there is none.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Fault, Misread, PLANTED};
use crate::common::agree::check;
use crate::common::generate::{Choices, program};
use crate::common::random::Random;

/// What a hunt has to end in, in seconds.
const LIMIT: u32 = 900;

/// All faults.
const ALL: [Fault; 51] = {
    use Fault::*;
    use Misread::*;
    [
        Compiled(SignedComparisonAsUnsigned),
        Compiled(NarrowComparisonAsWide),
        Compiled(AboveAsNotBelow),
        Compiled(BitTestAsDifference),
        Compiled(SignedShiftAsUnsigned),
        Compiled(NarrowShiftAsWide),
        Compiled(NarrowSumAsWide),
        Compiled(SignedQuotientAsUnsigned),
        Compiled(MoveKeepsUpperHalf),
        Compiled(SignedLoadAsUnsigned),
        Compiled(SwapOfMore),
        Compiled(FetchForgotten),
        Compiled(AtomicOrAsXor),
        Compiled(ConstantOfHalf),
        Verified(SignedComparisonAsUnsigned),
        Verified(NarrowComparisonAsWide),
        Verified(AboveAsNotBelow),
        Verified(BitTestAsDifference),
        Verified(SignedShiftAsUnsigned),
        Verified(NarrowShiftAsWide),
        Verified(NarrowSumAsWide),
        Verified(SignedQuotientAsUnsigned),
        Verified(MoveKeepsUpperHalf),
        Verified(SignedLoadAsUnsigned),
        Verified(SwapOfMore),
        Verified(FetchForgotten),
        Verified(ConstantOfHalf),
        QuotientByZero,
        ArrayOneMore,
        HelperCostsNothing,
        JumpCostsOne,
        TurnCostsNothing,
        EverySecondTurn,
        TurnsDoNotStop,
        TurnsCountWide,
        OverlapsInRegisters,
        PassedOnInRegisters,
        RoomOneMore,
        WindowRoomStays,
        ReservedOneMore,
        LookupAlwaysFinds,
        ConstantKeyOneMore,
        LeastKey,
        JoinForgets,
        AndOneLess,
        HalfForWhole,
        FirstTurnOnly,
        CountedTurnLess,
        CallsCostNothing,
        JumpMissesOne,
        PrepaidOneTurn,
    ]
};

/// How a hunt ended.
#[derive(Debug)]
enum Hunt {
    /// After so many programs, by what the check said, or a signal.
    Found(u64, String),
    /// None of so many programs behaved otherwise than it should.
    Nothing(u64),
}

/// What the hunting process tells the other.
#[repr(C)]
struct Told {
    programs: AtomicU64,
    length: AtomicU64,
    text: [u8; 2048],
}

/// Make programs and run them both ways, as the differential test does, until a check fails.
fn search(fault: Option<Fault>, seed: u64, most: u64, told: &Told) -> Option<String> {
    let mut random = Random(seed);
    PLANTED.set(fault);
    for _ in 0..most {
        told.programs.fetch_add(1, Ordering::Relaxed);
        let choices = random.bytes(200);
        let made = program(&mut Choices(&choices));
        let window = random.bytes(300);
        let run = || {
            if let Ok(verified) = made.verify() {
                check(&verified, [&window, b""]);
            }
        };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(run)) {
            let text = payload.downcast_ref::<String>().cloned();
            let fixed = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned());
            return Some(text.or(fixed).unwrap_or_default());
        }
    }
    None
}

/// Have children say nothing of panics that they catch. Set before any fork: the lock of the hook may be held by
/// another test's thread, which a child does not have.
fn quiet_children() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let (usual, own) = (panic::take_hook(), std::process::id());
        panic::set_hook(Box::new(move |panicked| {
            if std::process::id() == own {
                usual(panicked);
            }
        }));
    });
}

/// Search in a process of its own: a fault may let machine code do anything.
fn hunt(fault: Option<Fault>, seed: u64, most: u64) -> Hunt {
    quiet_children();
    // SAFETY: memory that both processes see, zeroed, which is a `Told`; the child does nothing but search, with
    // glibc's allocator, which works after a fork, and ends.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let told = libc::mmap(
            std::ptr::null_mut(),
            size_of::<Told>(),
            access,
            flags,
            -1,
            0,
        );
        assert_ne!(told, libc::MAP_FAILED);
        let told = told.cast::<Told>();
        let child = libc::fork();
        if child == 0 {
            libc::alarm(LIMIT);
            let found = search(fault, seed, most, &*told);
            if let Some(text) = &found {
                let text = &text.as_bytes()[..text.len().min(2048)];
                (&raw mut (*told).text)
                    .cast::<u8>()
                    .copy_from(text.as_ptr(), text.len());
                (*told).length.store(text.len() as u64, Ordering::Relaxed);
            }
            libc::_exit(found.is_some().into());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        let programs = (*told).programs.load(Ordering::Relaxed);
        let length = (*told).length.load(Ordering::Relaxed) as usize;
        let text = String::from_utf8_lossy(&(&(*told).text)[..length]).into_owned();
        libc::munmap(told.cast(), size_of::<Told>());
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            assert_ne!(signal, libc::SIGALRM, "{fault:?}: no end in {LIMIT} s");
            return Hunt::Found(programs, format!("signal {signal}"));
        }
        match libc::WEXITSTATUS(status) {
            0 => Hunt::Nothing(programs),
            1 => Hunt::Found(programs, text),
            other => panic!("{fault:?}: the search ended with {other}"),
        }
    }
}

/// The first line of what was found, short enough for a table.
fn in_short(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.rsplit(": ").next().unwrap_or(line)
}

#[test]
fn random_programs_find_a_planted_fault_and_nothing_without_one() {
    assert!(matches!(hunt(None, 1, 30), Hunt::Nothing(30)));
    for fault in [
        Fault::Compiled(Misread::NarrowSumAsWide),
        Fault::Verified(Misread::SignedComparisonAsUnsigned),
    ] {
        let ended = hunt(Some(fault), 1, 2000);
        assert!(matches!(ended, Hunt::Found(..)), "{fault:?}: {ended:?}");
    }
}

/// Takes minutes: `cargo test --release -p filter-ebpf --lib planted -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes; the README has the command"]
fn random_programs_find_every_planted_fault() {
    let seed = std::env::var("FILTER_EBPF_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let most = std::env::var("FILTER_EBPF_ROUNDS");
    let most = most.map_or(100_000, |most| most.parse().expect("a number"));
    let mut missed = Vec::new();
    for fault in ALL {
        match hunt(Some(fault), seed, most) {
            Hunt::Found(programs, text) => {
                println!("| `{fault:?}` | {programs} | {} |", in_short(&text))
            }
            Hunt::Nothing(_) => missed.push(fault),
        }
    }
    assert!(
        missed.is_empty(),
        "not found with {most} programs from seed {seed}: {missed:?}"
    );
}
