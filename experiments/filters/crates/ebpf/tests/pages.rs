//! Pages of maps: there before a program uses them, also in children.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use filter_ebpf::maps::{Maps, Memory};
use filter_ebpf::program::{MapKind, MapSpec};

const PAGE: u64 = 4096;
const PAGES: u64 = 2048;

fn specs() -> Vec<MapSpec> {
    vec![MapSpec {
        name: "array".to_owned(),
        kind: MapKind::Array,
        key_size: 4,
        value_size: PAGE as u32,
        max_entries: PAGES as u32,
        read_only: false,
        initial: Vec::new(),
        choices: Vec::new(),
    }]
}

/// How many of the array's pages this process has (the highest bit of each entry in Linux's pagemap).
fn there(maps: &Maps) -> usize {
    let first = maps.all()[0].lookup(&[0; 4]).expect("a value") as u64;
    let mut entries = vec![0; 8 * PAGES as usize];
    let file = File::open("/proc/self/pagemap").expect("Linux has it");
    file.read_exact_at(&mut entries, 8 * (first / PAGE))
        .expect("the mapping's entries");
    let present = |entry: &&[u8; 8]| u64::from_le_bytes(**entry) >> 63 == 1;
    entries.as_chunks().0.iter().filter(present).count()
}

/// Run `work` in a child. Return the number that it gives, below 256.
fn in_a_child(work: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child only does the work and ends; glibc's allocator works after a fork.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(work().into());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status), "the child was killed");
        libc::WEXITSTATUS(status)
    }
}

#[test]
fn every_page_is_there_for_who_maps_the_memory_and_after_asking_for_it_in_children() {
    let length = Maps::bytes(&specs());
    let file = tempfile(length);
    let memory = || Memory::of(file.as_fd(), 0, length).expect("a mapping");
    let made = Maps::make(&specs(), memory()).expect("maps");
    let attached = Maps::attach(&specs(), memory()).expect("the maps");
    for maps in [
        &made,
        &attached,
        &Maps::anonymous(&specs()).expect("memory"),
    ] {
        assert_eq!(there(maps), PAGES as usize);
    }
    // The kernel leaves out shared pages when it forks.
    let few = |maps: &Maps| u8::from(there(maps) < PAGES as usize / 2);
    assert_eq!(in_a_child(|| few(&attached)), 1);
    let populated = || {
        attached.populate();
        u8::from(there(&attached) == PAGES as usize)
    };
    assert_eq!(in_a_child(populated), 1);
}

/// A file in memory.
fn tempfile(length: usize) -> File {
    use std::os::fd::FromRawFd;
    // SAFETY: makes a descriptor, which nobody else owns.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"maps".as_ptr(), 0)) };
    file.set_len(length as u64).expect("memory");
    file
}
