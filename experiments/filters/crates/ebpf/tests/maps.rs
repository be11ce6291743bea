//! Maps that several threads and processes use at once.

mod common;

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::maps::{Map, MapError, Maps, Memory, Update};
use filter_ebpf::program::MapSpec;

fn hash(maps: &Maps) -> &Map {
    maps.by_name("hash").unwrap()
}

#[test]
fn a_hash_holds_what_was_put_in() {
    let maps = Maps::anonymous(&maps()).unwrap();
    let hash = hash(&maps);
    let key = |n: u64| n.to_le_bytes();
    for n in 0..4 {
        hash.update(&key(n), &key(n * 10), Update::New).unwrap();
    }
    assert_eq!(
        hash.update(&key(9), &key(0), Update::Any),
        Err(MapError::TooBig)
    );
    assert_eq!(
        hash.update(&key(1), &key(0), Update::New),
        Err(MapError::Exists)
    );
    assert_eq!(hash.delete(&key(2)), Ok(()));
    assert_eq!(hash.delete(&key(2)), Err(MapError::NoEntry));
    assert_eq!(
        hash.update(&key(2), &key(0), Update::Known),
        Err(MapError::NoEntry)
    );
    hash.update(&key(9), &key(90), Update::Any).unwrap();
    let found: Vec<_> = [0, 1, 2, 3, 9].map(|n| hash.get(&key(n))).into();
    let expected = [Some(0), Some(10), None, Some(30), Some(90)];
    assert_eq!(
        found,
        expected.map(|n: Option<u64>| n.map(|n| n.to_le_bytes().to_vec()))
    );
}

#[test]
fn keys_and_values_of_other_sizes_are_refused() {
    let maps = Maps::anonymous(&maps()).unwrap();
    assert_eq!(
        hash(&maps).update(&[0; 7], &[0; 8], Update::Any),
        Err(MapError::Invalid)
    );
    assert_eq!(
        hash(&maps).update(&[0; 8], &[0; 9], Update::Any),
        Err(MapError::Invalid)
    );
    assert_eq!(hash(&maps).get(&[0; 9]), None);
    let array = maps.by_name("array").unwrap();
    assert_eq!(
        array.update(&4u32.to_le_bytes(), &[0; 16], Update::Any),
        Err(MapError::TooBig)
    );
    assert_eq!(array.get(&u32::MAX.to_le_bytes()), None);
    assert_eq!(array.delete(&[0; 4]), Err(MapError::Invalid));
}

/// Tries again while another thread holds the lock without being run.
fn patiently(change: impl Fn() -> Result<(), MapError>) -> Result<(), MapError> {
    std::iter::repeat_with(change)
        .find(|done| *done != Err(MapError::Busy))
        .expect("it repeats without end")
}

#[test]
fn threads_change_one_hash_and_find_their_own() {
    let maps = Maps::anonymous(&maps()).unwrap();
    let hash = hash(&maps);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                let key = thread.to_le_bytes();
                for n in 0..5_000u64 {
                    let value = n.to_le_bytes();
                    patiently(|| hash.update(&key, &value, Update::New)).unwrap();
                    assert_eq!(hash.get(&key), Some(n.to_le_bytes().to_vec()));
                    patiently(|| hash.delete(&key)).unwrap();
                    assert_eq!(hash.get(&key), None);
                }
            });
        }
    });
}

#[test]
fn another_mapping_of_the_file_finds_the_same() {
    let specs = maps();
    let length = Maps::bytes(&specs);
    let path = std::env::temp_dir().join(format!("ebpf-maps-{}", std::process::id()));
    let file = std::fs::File::create_new(&path).unwrap();
    drop(file);
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len(length as u64).unwrap();
    let memory = || Memory::of(file.as_fd(), 0, length).unwrap();
    let early = Maps::attach(&specs, memory()).unwrap_err();
    assert!(early.to_string().contains("not made yet"));
    let made = Maps::make(&specs, memory()).unwrap();
    let found = Maps::attach(&specs, memory()).unwrap();
    hash(&made).update(&[1; 8], &[2; 8], Update::Any).unwrap();
    assert_eq!(hash(&found).get(&[1; 8]), Some(vec![2; 8]));
    made.by_name("events").unwrap().send(b"hello").unwrap();
    assert_eq!(
        found.by_name("events").unwrap().receive(),
        Some(b"hello".to_vec())
    );
    assert_eq!(made.by_name("events").unwrap().receive(), None);

    // The same size, and yet not the same maps.
    type Change = fn(&mut MapSpec);
    let changes: [Change; 4] = [
        |spec| spec.name.push('2'),
        |spec| spec.value_size -= 1,
        |spec| spec.read_only = true,
        |spec| spec.initial = vec![1],
    ];
    for change in changes {
        let mut other = specs.clone();
        change(&mut other[0]);
        let error = Maps::attach(&other, memory()).unwrap_err();
        assert!(error.to_string().contains("another program's maps"));
    }
    file.write_all_at(b"no maps!", 0).unwrap();
    let error = Maps::attach(&specs, memory()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another program's maps, or none")
    );
}

#[test]
fn a_full_queue_refuses_and_keeps_what_it_has() {
    let maps = Maps::anonymous(&maps()).unwrap();
    let queue = maps.by_name("events").unwrap();
    let sent = (0u8..)
        .take_while(|n| queue.send(&[*n; 100]).is_ok())
        .count();
    // A head of 8 bytes, and bytes up to a multiple of 8.
    assert_eq!(sent, 4096 / (8 + 104));
    for n in 0..sent as u8 {
        assert_eq!(queue.receive(), Some(vec![n; 100]));
    }
    assert_eq!(queue.receive(), None);
}

#[test]
fn a_writer_that_dies_with_the_lock_held_leaves_a_hash_that_works() {
    let maps = Maps::anonymous(&maps()).unwrap();
    let hash = hash(&maps);
    for round in 0..20u64 {
        // SAFETY: the child only changes the map, which neither allocates nor locks anything else.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                let _ = hash.update(&[7; 8], &[7; 8], Update::Any);
                let _ = hash.delete(&[7; 8]);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
        // SAFETY: the child made above, which is waited for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        let key = round.to_le_bytes();
        let _ = hash.delete(&[7; 8]);
        hash.update(&key, &key, Update::New).unwrap();
        assert_eq!(hash.get(&key), Some(key.to_vec()));
        hash.delete(&key).unwrap();
    }
    // Nothing leaked: all four entries can still be used.
    for n in 0..4u64 {
        hash.update(&n.to_le_bytes(), &[0; 8], Update::New).unwrap();
    }
}

/// Runs a program over and over while another thread looks on, until that has seen enough.
fn meanwhile(slots: &[Raw], look: impl Fn(&AtomicU64) -> bool + Sync) -> bool {
    let verified = verify(slots).unwrap();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    let compiled = Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT).unwrap();
    let place = maps.by_name("array").unwrap().lookup(&[0; 4]).unwrap();
    // SAFETY: the value is aligned, and all change it atomically or in one piece.
    let word = unsafe { AtomicU64::from_ptr(place.cast()) };
    let (seen, over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if look(word) {
                    return seen.store(true, Ordering::Relaxed);
                }
            }
        });
        let mut answered = false;
        // Many more than it takes: on a busy machine the other thread seldom runs beside this one.
        for _ in 0..100_000 {
            std::thread::yield_now();
            answered |= compiled.run([b"", b""]) == Ok(1);
            if answered || seen.load(Ordering::Relaxed) {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
        answered || seen.load(Ordering::Relaxed)
    })
}

/// r6 becomes the first value of the array.
fn value() -> Vec<Raw> {
    let rest = [
        copy(2, 10),
        add(2, -4),
        helper(1),
        branch(5, 0, 0, 1),
        exit(),
        copy(6, 0),
    ];
    [&[store_imm(4, 10, -4, 0)], &map(1, ARRAY)[..], &rest].concat()
}

/// Multiplies r2 by itself again and again: meanwhile the other thread sees what is in memory.
/// r2 is 0, which no compiler knows.
fn dawdle() -> Vec<Raw> {
    let square = raw(0x2f, 2, 2, 0, 0);
    vec![square; 100]
}

#[test]
fn a_value_that_others_change_is_read_each_time() {
    // Until it has two values at once. The address of the second waits for r2, so that no CPU reads
    // it early.
    let first = [load(8, 3, 6, 0), load(8, 2, 6, 8)];
    let at_most_8 = raw(0x57, 2, 0, 0, 8);
    let second = [at_most_8, copy(7, 6), add_register(7, 2), load(8, 4, 7, 0)];
    let length = (first.len() + dawdle().len() + second.len()) as i16;
    let again = [branch_register(1, 3, 4, -length - 1), mov(0, 1), exit()];
    let slots = [&value()[..], &first, &dawdle(), &second, &again].concat();
    assert!(meanwhile(&slots, |word| {
        word.fetch_add(1, Ordering::Relaxed);
        false
    }));
}

#[test]
fn a_value_that_others_read_is_written_each_time() {
    // 1 for a while, then 0, and so on without end.
    let one = [load(8, 2, 6, 8), store_imm(8, 6, 0, 1)];
    let length = (one.len() + dawdle().len()) as i16;
    let zero = [store(8, 6, 0, 2), jump(-length - 2)];
    let slots = [&value()[..], &one, &dawdle(), &zero].concat();
    assert!(meanwhile(&slots, |word| word.load(Ordering::Relaxed) == 1));
}
