//! Keys and values that lie in memory which changes while a helper works on it.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::*;
use filter_ebpf::compile::Compiled;
use filter_ebpf::fuel;
use filter_ebpf::insn::Raw;
use filter_ebpf::maps::{Maps, Update};

const LOOKUP: i32 = 1;
const UPDATE: i32 = 2;
const DELETE: i32 = 3;

fn compile(slots: &[Raw]) -> (Compiled, Arc<Maps>) {
    let verified = verify(slots).unwrap();
    let maps = Arc::new(Maps::anonymous(verified.program().maps()).unwrap());
    (
        Compiled::new(&verified, Arc::clone(&maps), fuel::DEFAULT).unwrap(),
        maps,
    )
}

/// r6 becomes the value of key 0 in a map, or the program ends; the key is 8 bytes at r10 - 8.
fn value_of(target: i32) -> Vec<Raw> {
    let rest = [
        copy(2, 10),
        add(2, -8),
        helper(LOOKUP),
        branch(5, 0, 0, 2),
        mov(0, 0),
        exit(),
        copy(6, 0),
    ];
    [&[store_imm(8, 10, -8, 0)], &map(1, target)[..], &rest].concat()
}

#[test]
fn a_key_in_a_value_that_an_update_takes_for_its_entry_is_kept() {
    // The value of a deleted entry holds the new key, and the update takes that entry for it.
    let slots = [
        &value_of(HASH)[..],
        &[store_imm(8, 6, 0, 5)],
        &map(1, HASH),
        &[copy(2, 10), add(2, -8), helper(DELETE)],
        &[store_imm(8, 10, -16, 77)],
        &map(1, HASH),
        &[
            copy(2, 6),
            copy(3, 10),
            add(3, -16),
            mov(4, 0),
            helper(UPDATE),
            exit(),
        ],
    ]
    .concat();
    let (compiled, maps) = compile(&slots);
    let hash = maps.by_name("hash").unwrap();
    hash.update(&[0; 8], &[0; 8], Update::New).unwrap();
    assert_eq!(compiled.run([b"", b""]), Ok(0));
    let found = hash.get(&5u64.to_le_bytes());
    assert_eq!(found, Some(77u64.to_le_bytes().to_vec()));
}

#[test]
fn keys_that_other_threads_change_meanwhile_do_no_harm() {
    // With the key in the array's value: insert it, and delete it.
    let change = |number| [copy(2, 6), copy(3, 6), add(3, 8), mov(4, 0), helper(number)];
    let slots = [
        &value_of(ARRAY)[..],
        &map(1, HASH),
        &change(UPDATE),
        &map(1, HASH),
        &change(DELETE),
        &[mov(0, 0), exit()],
    ]
    .concat();
    let (compiled, maps) = compile(&slots);
    let place = maps.by_name("array").unwrap().lookup(&[0; 4]).unwrap();
    // SAFETY: the value is aligned, and all change it atomically or in one piece.
    let key = unsafe { AtomicU64::from_ptr(place.cast()) };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                key.store((key.load(Ordering::Relaxed) + 1) % 3, Ordering::Relaxed);
            }
        });
        let workers = [0, 1].map(|_| {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    compiled.run([b"", b""]).unwrap();
                }
            })
        });
        for worker in workers {
            worker.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    // Every entry can still be used.
    let hash = maps.by_name("hash").unwrap();
    for key in 0..3u64 {
        let _ = hash.delete(&key.to_le_bytes());
    }
    for key in 10..14u64 {
        hash.update(&key.to_le_bytes(), &[0; 8], Update::New)
            .unwrap();
    }
}
