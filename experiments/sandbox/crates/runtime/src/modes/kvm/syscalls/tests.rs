//! Calls as a guest makes them, without a processor.

use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;
use crate::modes::kvm::areas::PAGE;
use crate::modes::kvm::elf::Image;
use crate::modes::kvm::wire::{Order, send};
use crate::modes::kvm::{load, room};
use crate::trial;

const MEMORY: u64 = 16 << 20;
const ANONYMOUS: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;

struct Bench {
    guest: Guest,
    host: OwnedFd,
    socket: Option<OwnedFd>,
    daemon: OwnedFd,
    control: OwnedFd,
    /// Where the guest can write.
    at: u64,
}

impl Bench {
    fn new() -> Self {
        let binary = trial::binary();
        let image = Image::read(&binary, room(MEMORY)).unwrap();
        let (guest, stack) = load(&image, &binary, MEMORY, [7; 16]).unwrap();
        let pair =
            |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let (host, socket) = pair(SocketType::STREAM);
        let (daemon, control) = pair(SocketType::SEQPACKET);
        let at = stack - 0x1000;
        Bench {
            guest,
            host,
            socket: Some(socket),
            daemon,
            control,
            at,
        }
    }

    fn calls<const N: usize>(&mut self, calls: [(i64, [u64; 6]); N]) -> [Then; N] {
        let mut channel = Channel::new(self.socket.take().unwrap(), self.control.as_fd(), 1);
        calls.map(|(number, arguments)| {
            serve(
                &Call {
                    number: number as u64,
                    arguments,
                },
                &mut self.guest,
                &mut channel,
            )
        })
    }

    fn call(&mut self, number: i64, arguments: &[u64]) -> Then {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        let spare = self.socket.as_ref().unwrap().try_clone().unwrap();
        let [then] = self.calls([(number, all)]);
        self.socket = Some(spare);
        then
    }

    fn map(&mut self, length: u64) -> u64 {
        match self.call(libc::SYS_mmap, &[0, length, 3, ANONYMOUS, u64::MAX, 0]) {
            Then::Return(at) if at < 1 << 47 => at,
            other => panic!("{other:?}"),
        }
    }
}

fn failed(number: i32) -> Then {
    Then::Return(i64::from(-number) as u64)
}

#[test]
fn memory_that_is_not_there_can_be_moved() {
    let mut bench = Bench::new();
    let at = bench.map(bench.guest.memory.window());
    assert!(!bench.guest.memory.backs(at));
    let Then::Return(moved) = bench.call(libc::SYS_mremap, &[at, PAGE, 2 * PAGE, 1]) else {
        panic!()
    };
    assert_eq!(bench.guest.memory.read(moved), Some([0; 100]));
    assert!(bench.guest.memory.areas.none(at..at + PAGE));
    let far = bench.call(
        libc::SYS_mremap,
        &[at + PAGE, PAGE, bench.guest.memory.window(), 1],
    );
    assert_eq!(far, Then::End(End::Memory));
}

#[test]
fn memory_is_mapped_zero_moved_and_taken_away() {
    let mut bench = Bench::new();
    let at = bench.map(5000);
    assert!(bench.guest.memory.write(at + 2 * PAGE - 3, b"end"));
    assert!(!bench.guest.memory.write(at + 2 * PAGE, b"x"));
    let _below = bench.map(PAGE);
    let Then::Return(moved) = bench.call(libc::SYS_mremap, &[at, 2 * PAGE, 9 * PAGE, 1]) else {
        panic!()
    };
    assert_ne!(moved, at);
    assert_eq!(bench.guest.memory.read(moved + 2 * PAGE - 3), Some(*b"end"));
    assert_eq!(bench.guest.memory.read(moved + 2 * PAGE), Some([0; 100]));
    assert_eq!(bench.guest.memory.read::<1>(at), None);
    assert_eq!(
        bench.call(libc::SYS_mprotect, &[moved, PAGE, 0]),
        Then::Return(0)
    );
    assert_eq!(bench.guest.memory.read::<1>(moved), None);
    assert_eq!(
        bench.call(libc::SYS_madvise, &[moved, 9 * PAGE, 4]),
        Then::Return(0)
    );
    assert_eq!(bench.guest.memory.read(moved + 2 * PAGE - 3), Some([0; 3]));
    assert_eq!(
        bench.call(libc::SYS_munmap, &[moved, 9 * PAGE]),
        Then::Return(0)
    );
    assert!(bench.guest.memory.areas.none(moved..moved + 9 * PAGE));
    assert_eq!(
        bench.call(libc::SYS_mprotect, &[moved, PAGE, 3]),
        failed(libc::ENOMEM)
    );
    assert_eq!(
        bench.call(libc::SYS_munmap, &[1, PAGE]),
        failed(libc::EINVAL)
    );
    assert_eq!(
        bench.call(libc::SYS_mmap, &[0, PAGE, 3, 2, 3, 0]),
        failed(libc::ENODEV)
    );
    let huge = ANONYMOUS | libc::MAP_HUGETLB as u64;
    assert_eq!(
        bench.call(libc::SYS_mmap, &[0, PAGE, 3, huge]),
        failed(libc::ENOMEM)
    );
    for length in [u64::MAX, u64::MAX - PAGE + 1, 1 << 63, 1 << 47] {
        let found = bench.call(libc::SYS_mmap, &[0, length, 3, ANONYMOUS]);
        assert_eq!(found, failed(libc::ENOMEM), "{length:#x}");
    }
    let Then::Return(start) = bench.call(libc::SYS_brk, &[0]) else {
        panic!()
    };
    assert_eq!(
        bench.call(libc::SYS_brk, &[start + 10]),
        Then::Return(start + 10)
    );
    assert!(bench.guest.memory.write(start, b"heap"));
    assert_eq!(
        bench.call(libc::SYS_brk, &[u64::MAX]),
        Then::Return(start + 10)
    );
}

#[test]
fn more_memory_than_there_is_ends_the_run_when_it_is_used() {
    let mut bench = Bench::new();
    let at = bench.map(1 << 40);
    assert!(bench.guest.lacks_memory(at + 12345) && !bench.guest.lacks_memory(bench.at));
    assert_eq!(
        bench.call(libc::SYS_getrandom, &[at, 1, 0]),
        Then::End(End::Memory)
    );
    assert_eq!(
        bench.call(libc::SYS_read, &[3, at, 1]),
        Then::End(End::Memory)
    );
}

#[test]
fn what_a_guest_may_not_touch_the_host_does_not_touch_for_it() {
    let mut bench = Bench::new();
    let (program, tables) = (0x40_0000, bench.guest.memory.window());
    rustix::io::write(&bench.host, b"request").unwrap();
    for bad in [
        0,
        8,
        program,
        tables,
        tables - 4,
        u64::MAX - 2,
        1 << 63,
        1 << 45,
    ] {
        for (number, arguments) in [
            (libc::SYS_read, [3, bad, 8]),
            (libc::SYS_clock_gettime, [1, bad.max(1), 0]),
            (libc::SYS_getrandom, [bad, 8, 0]),
            (libc::SYS_uname, [bad.max(1), 0, 0]),
        ] {
            assert_eq!(
                bench.call(number, &arguments),
                failed(libc::EFAULT),
                "{number} {bad:#x}"
            );
        }
    }
    assert_eq!(
        bench.call(libc::SYS_write, &[3, u64::MAX, 8]),
        failed(libc::EFAULT)
    );
    assert_eq!(
        bench.call(libc::SYS_writev, &[3, 8, 1]),
        failed(libc::EFAULT)
    );
}

#[test]
fn a_guest_talks_over_its_socket_alone() {
    let mut bench = Bench::new();
    let at = bench.at;
    rustix::io::write(&bench.host, b"request").unwrap();
    assert!(bench.guest.memory.write(at, b"answer"));
    let (read, write) = (
        (libc::SYS_read, [3, at + 100, 7, 0, 0, 0]),
        (libc::SYS_write, [3, at, 6, 0, 0, 0]),
    );
    let found = bench.calls([
        (libc::SYS_read, [0, at, 6, 0, 0, 0]),
        (libc::SYS_write, [2, at, 6, 0, 0, 0]),
        write,
        read,
        (libc::SYS_read, [4, at, 6, 0, 0, 0]),
        (libc::SYS_close, [3, 0, 0, 0, 0, 0]),
        write,
    ]);
    assert_eq!(
        found[..3],
        [Then::Return(0), Then::Return(6), Then::Return(6)]
    );
    // It has spoken, and nothing is kept yet.
    assert_eq!(found[3], Then::Listen(b"answer".to_vec()));
    assert_eq!(
        found[4..],
        [failed(libc::EBADF), Then::Return(0), failed(libc::EBADF)]
    );
    let mut received = [0; 9];
    assert_eq!(rustix::io::read(&bench.host, &mut received), Ok(6));
    assert_eq!(&received[..6], b"answer");
}

#[test]
fn parts_are_read_and_written_in_their_order() {
    let mut bench = Bench::new();
    let at = bench.at;
    let mut parts = Vec::new();
    for (from, length) in [(at, 2u64), (at + 50, 0), (at + 100, 3)] {
        parts.extend_from_slice(&from.to_le_bytes());
        parts.extend_from_slice(&length.to_le_bytes());
    }
    assert!(bench.guest.memory.write(at + 200, &parts));
    rustix::io::write(&bench.host, b"12345rest").unwrap();
    assert_eq!(
        bench.call(libc::SYS_readv, &[3, at + 200, 3]),
        Then::Return(5)
    );
    assert_eq!(bench.guest.memory.read(at), Some(*b"12"));
    assert_eq!(bench.guest.memory.read(at + 100), Some(*b"345"));
    assert_eq!(
        bench.call(libc::SYS_writev, &[3, at + 200, 3]),
        Then::Return(5)
    );
    // Lengths that no memory has, of what nobody reads.
    let longest = [at.to_le_bytes(), u64::MAX.to_le_bytes()].concat();
    assert!(bench.guest.memory.write(at + 300, &longest.repeat(2)));
    let most = 2 * 0x7fff_f000;
    assert_eq!(
        bench.call(libc::SYS_writev, &[1, at + 300, 2]),
        Then::Return(most)
    );
    let mut received = [0; 9];
    assert_eq!(rustix::io::read(&bench.host, &mut received), Ok(5));
    assert_eq!(&received[..5], b"12345");
}

#[test]
fn who_waits_can_be_stopped_and_time_passes() {
    let mut bench = Bench::new();
    let at = bench.at;
    let soon = [0u64.to_le_bytes(), 1000u64.to_le_bytes()].concat();
    assert!(bench.guest.memory.write(at, &soon));
    assert_eq!(bench.call(libc::SYS_nanosleep, &[at]), Then::Return(0));
    let word = u64::from(u32::from_le_bytes(
        bench.guest.memory.read(at + 100).unwrap(),
    ));
    assert_eq!(
        bench.call(libc::SYS_futex, &[at + 100, 0, word + 1, 0]),
        failed(libc::EAGAIN)
    );
    assert_eq!(
        bench.call(libc::SYS_futex, &[at + 100, 0, word, at]),
        failed(libc::ETIMEDOUT)
    );
    // Orders for other runs are none for this one.
    for run in [0, 1] {
        send(bench.daemon.as_fd(), &Order::Stop { run }, &[]).unwrap();
    }
    assert_eq!(bench.call(libc::SYS_pause, &[]), Then::End(End::Stopped));
    send(bench.daemon.as_fd(), &Order::Stop { run: 1 }, &[]).unwrap();
    assert_eq!(
        bench.call(libc::SYS_read, &[3, at, 1]),
        Then::End(End::Stopped)
    );
}

#[test]
fn files_processes_and_all_else_are_refused() {
    let mut bench = Bench::new();
    // Nobody is left to wait for.
    let (control, _) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bench.control = control;
    for number in 0..470 {
        let served =
            matches!(bench.call(number, &[0; 6]), Then::Return(value) if (value as i64) >= 0);
        let harmless = [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_recvfrom,
            libc::SYS_sendto,
            libc::SYS_close,
            libc::SYS_fstat,
            libc::SYS_fcntl,
            libc::SYS_poll,
            libc::SYS_brk,
            libc::SYS_sched_yield,
            libc::SYS_set_robust_list,
            libc::SYS_getpid,
            libc::SYS_gettid,
            libc::SYS_getppid,
            libc::SYS_set_tid_address,
            libc::SYS_getuid,
            libc::SYS_geteuid,
            libc::SYS_getgid,
            libc::SYS_getegid,
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_sigaltstack,
            libc::SYS_prlimit64,
            libc::SYS_clock_gettime,
            libc::SYS_clock_getres,
            libc::SYS_gettimeofday,
            libc::SYS_time,
            libc::SYS_getrandom,
            libc::SYS_uname,
            libc::SYS_mprotect,
            libc::SYS_madvise,
        ];
        assert!(!served || harmless.contains(&number), "{number} is served");
    }
    assert_eq!(bench.call(libc::SYS_clone3, &[]), failed(libc::ENOSYS));
    assert_eq!(bench.call(libc::SYS_fork, &[]), failed(libc::EPERM));
    assert_eq!(bench.call(libc::SYS_kill, &[77, 0]), failed(libc::ESRCH));
    assert_eq!(
        bench.call(libc::SYS_kill, &[u64::MAX, 0]),
        failed(libc::ESRCH)
    );
    assert_eq!(
        bench.call(libc::SYS_tgkill, &[1, 1, 6]),
        Then::End(End::Signal(6))
    );
    assert_eq!(
        bench.call(libc::SYS_exit_group, &[0x107]),
        Then::End(End::Exited(7))
    );
}
