//! The kinds of maps: what each keeps, and for whom.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::*;
use filter_ebpf::maps::{Map, MapError, Maps, Update};

fn made() -> Maps {
    Maps::anonymous(&maps()).unwrap()
}

fn put(map: &Map, key: u64) -> Result<(), MapError> {
    map.update(&key.to_le_bytes(), &key.to_le_bytes(), Update::Any)
}

fn there(map: &Map, keys: std::ops::Range<u64>) -> Vec<u64> {
    keys.filter(|key| map.get(&key.to_le_bytes()).is_some())
        .collect()
}

#[test]
fn a_full_hash_that_evicts_keeps_what_is_looked_up() {
    for name in ["lru", "lru_per_cpu"] {
        let maps = made();
        let lru = maps.by_name(name).unwrap();
        for key in 0..4 {
            put(lru, key).unwrap();
        }
        // All were looked up but 1 and 3.
        assert_eq!(there(lru, 0..1), [0]);
        assert_eq!(there(lru, 2..3), [2]);
        put(lru, 10).unwrap();
        put(lru, 11).unwrap();
        assert_eq!(there(lru, 0..12), [0, 2, 10, 11], "{name}");
        // Now all were: each has its second chance, and then one goes.
        put(lru, 12).unwrap();
        assert_eq!(there(lru, 0..13).len(), 4);
        assert_eq!(there(lru, 12..13), [12]);
        // What is deleted makes room without that.
        let before = there(lru, 0..13);
        lru.delete(&before[0].to_le_bytes()).unwrap();
        put(lru, 13).unwrap();
        let mut expected = before[1..].to_vec();
        expected.push(13);
        assert_eq!(there(lru, 0..14), expected);
    }
}

#[test]
fn threads_that_evict_lose_no_entry() {
    let maps = made();
    let lru = maps.by_name("lru").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            scope.spawn(move || {
                for n in 0..5_000u64 {
                    let key = n * 3 + thread;
                    match put(lru, key) {
                        Ok(()) | Err(MapError::Busy) => {}
                        Err(error) => panic!("{error}"),
                    }
                    let _ = lru.get(&(key / 2).to_le_bytes());
                    if n % 7 == 0 {
                        let _ = lru.delete(&key.to_le_bytes());
                    }
                }
            });
        }
    });
    for key in 100_000..100_004 {
        put(lru, key).unwrap();
    }
    assert_eq!(there(lru, 100_000..100_004).len(), 4);
}

/// Run on one processor.
fn pin(cpu: usize) {
    // SAFETY: changes the running thread's processors only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_setaffinity(0, size, &set), 0);
    }
}

/// The processors that this thread may run on.
fn processors() -> Vec<usize> {
    // SAFETY: reads the running thread's processors only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(0, size, &mut set), 0);
        (0..1024)
            .filter(|&cpu| libc::CPU_ISSET(cpu, &set))
            .collect()
    }
}

#[test]
fn each_processor_has_its_own_value() {
    let maps = made();
    for (name, key) in [("per_cpu", &[0; 4][..]), ("per_cpu_hash", &[0; 8])] {
        let map = maps.by_name(name).unwrap();
        let bytes = map.spec().value_size as usize;
        let all = processors();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for &cpu in &all {
                    pin(cpu);
                    let value = vec![cpu as u8 + 1; bytes];
                    map.update(key, &value, Update::Any).unwrap();
                    assert_eq!(map.get(key), Some(value));
                }
            });
        });
        let each = map.get_each(key).unwrap();
        assert!(each.len() > *all.last().unwrap());
        for (cpu, value) in each.into_iter().enumerate() {
            let expected = if all.contains(&cpu) { cpu as u8 + 1 } else { 0 };
            assert_eq!(value, vec![expected; bytes], "{name} {cpu}");
        }
    }
    // An entry that is added again begins anew on every processor.
    let hash = maps.by_name("per_cpu_hash").unwrap();
    hash.delete(&[0; 8]).unwrap();
    hash.update(&[0; 8], &[9; 8], Update::New).unwrap();
    let each = hash.get_each(&[0; 8]).unwrap();
    assert_eq!(each.iter().filter(|value| value[..] == [9; 8]).count(), 1);
    assert_eq!(
        each.iter().filter(|value| value[..] == [0; 8]).count(),
        each.len() - 1
    );
    // Others have one value.
    assert_eq!(
        maps.by_name("array").unwrap().get_each(&[0; 4]),
        Some(vec![vec![0; 16]])
    );
}

#[test]
fn a_queue_keeps_records_in_one_piece_and_in_order() {
    let maps = made();
    let queue = maps.by_name("events").unwrap();
    let (mut sent, mut received) = (0u32, 0u32);
    // Sizes that do not fit the ring evenly, with one to five on their way.
    for round in 0..2_000u32 {
        for _ in 0..round % 5 + 1 {
            let length = 4 + sent as usize * 37 % 900;
            let mut event = vec![sent as u8; length];
            event[..4].copy_from_slice(&sent.to_le_bytes());
            if queue.send(&event).is_err() {
                break;
            }
            sent += 1;
        }
        while let Some(event) = queue.receive() {
            let length = 4 + received as usize * 37 % 900;
            assert_eq!(event.len(), length);
            assert_eq!(event[..4], received.to_le_bytes());
            assert!(event[4..].iter().all(|&byte| byte == received as u8));
            received += 1;
        }
        assert_eq!(sent, received);
    }
    // As large as the queue, wherever it ended, and no larger.
    for length in [4088, 4087, 1, 4088] {
        queue.send(&vec![5; length]).unwrap();
        assert_eq!(queue.send(&[0; 4080]), Err(MapError::NoSpace));
        assert_eq!(queue.receive(), Some(vec![5; length]));
    }
    assert_eq!(queue.send(&[5; 4089]), Err(MapError::NoSpace));
}

#[test]
fn any_bytes_are_a_queue_that_can_be_used() {
    let memory = made();
    let queue = memory.by_name("events").unwrap();
    let array = memory.by_name("constants").unwrap();
    // The queue follows the constants; its ring comes after its lock and two numbers.
    let before = array.lookup(&[0; 4]).unwrap();
    let words = |from: usize| before.wrapping_add(64 + from).cast::<u32>();
    queue.send(&[1; 100]).unwrap();
    let mut seed = 1u32;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Behind the lock of 64 bytes: what is written and read, and the first records.
        let place = 64 + seed as usize % 64 * 4;
        let value = if seed & 0x40_0000 == 0 {
            seed
        } else {
            seed >> 20
        };
        // SAFETY: within the queue's memory, aligned, as its other users write it.
        unsafe { AtomicU32::from_ptr(words(place)) }.store(value, Ordering::Relaxed);
        let _ = queue.send(&[2; 50]);
        let _ = queue.receive().is_some_and(|event| event.len() > 4096);
    }
}

#[test]
fn a_reader_follows_several_writers() {
    let maps = made();
    let queue = maps.by_name("events").unwrap();
    let over = AtomicBool::new(false);
    let (sent, received) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = [0u32; 2];
            let mut count = 0u32;
            loop {
                let ended = over.load(Ordering::Acquire);
                let Some(event) = queue.receive() else {
                    if ended {
                        return count;
                    }
                    continue;
                };
                let (writer, number) = (
                    event[0] as usize,
                    u32::from_le_bytes(*event[1..].first_chunk().unwrap()),
                );
                assert!(number > last[writer]);
                last[writer] = number;
                count += 1;
            }
        });
        let writers = [0u8, 1].map(|writer| {
            scope.spawn(move || {
                let write = |number: &u32| {
                    let mut event = vec![writer; 5 + *number as usize % 50];
                    event[1..5].copy_from_slice(&number.to_le_bytes());
                    queue.send(&event).is_ok()
                };
                (1..20_000u32).filter(write).count() as u32
            })
        });
        let sent: u32 = writers.map(|writer| writer.join().unwrap()).iter().sum();
        over.store(true, Ordering::Release);
        (sent, reader.join().unwrap())
    });
    // A reader that is late may find the lock held once more.
    let rest = std::iter::from_fn(|| queue.receive()).count() as u32;
    assert_eq!(received + rest, sent);
}
