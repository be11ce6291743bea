//! For any system calls of a guest: each is answered or ends it, the tables stay within the guest's
//! memory, and a reset restores all that was kept.
#![no_main]

use std::os::fd::AsFd;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use sandbox_runtime::modes::kvm::areas::PAGE;
use sandbox_runtime::modes::kvm::elf::Image;
use sandbox_runtime::modes::kvm::channel::Channel;
use sandbox_runtime::modes::kvm::syscalls::{Call, Guest, Then, serve};
use sandbox_runtime::modes::kvm::{load, room};
use sandbox_runtime::trial;

const MEMORY: u64 = 1 << 20;
const CALLS_MAX: usize = 60;

/// Arguments of guests: numbers, addresses that they own, and earlier results.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Argument {
    Any(u64),
    Small(u8),
    Pages(u8),
    Program(u16),
    Stack(u16),
    Heap(u32),
    Answered(u16),
    /// Pages around where memory ends, and where addresses without memory begin.
    Window(i8),
    Beyond(i8),
}

#[derive(Arbitrary, Debug)]
struct Asked {
    number: u16,
    arguments: [Argument; 6],
}

fn near(edge: u64, pages: i8) -> u64 {
    edge.wrapping_add_signed(i64::from(pages) * PAGE as i64)
}

fn whole(guest: &Guest) -> Vec<u8> {
    let (at, size) = guest.memory.whole();
    // The tables, and what is mapped from the beginning: the program and the stack.
    let parts = [0x40_0000..0x40_1000, guest.memory.window() - 4 * PAGE..size];
    // SAFETY: the guest's memory is mapped from its beginning to its end.
    let all = unsafe { std::slice::from_raw_parts(at as *const u8, size as usize) };
    parts.into_iter().flat_map(|part| &all[part.start as usize..part.end as usize]).copied().collect()
}

fuzz_target!(|asked: Vec<Asked>| {
    let binary = trial::binary();
    let image = Image::read(&binary, room(MEMORY)).expect("the trial's binary");
    let (mut guest, stack) = load(&image, &binary, MEMORY, [7; 16]).expect("memory for a guest");
    let pair = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("sockets");
    let (host, socket) = pair(SocketType::STREAM);
    rustix::io::write(&host, b"\x05hello").expect("room for a request");
    // Nobody is at the other end, so that no call waits.
    let (_, control) = pair(SocketType::SEQPACKET);
    let mut channel = Channel::new(socket, control.as_fd(), 1);
    let mut answered = 0;
    let mut kept = None;
    for each in asked.into_iter().take(CALLS_MAX) {
        let arguments = each.arguments.map(|argument| match argument {
            Argument::Any(number) => number,
            Argument::Small(number) => number.into(),
            Argument::Pages(count) => u64::from(count) * PAGE,
            Argument::Program(offset) => 0x40_0000 + u64::from(offset),
            Argument::Stack(offset) => stack.wrapping_sub(u64::from(offset)),
            Argument::Heap(offset) => guest.own.breaks.0 + u64::from(offset),
            Argument::Window(pages) => near(guest.memory.window(), pages),
            Argument::Beyond(pages) => near(1 << 39, pages),
            Argument::Answered(offset) => u64::wrapping_add(answered, offset.into()),
        });
        let call = Call { number: u64::from(each.number % 460), arguments };
        match serve(&call, &mut guest, &mut channel) {
            Then::Return(value) => answered = value,
            Then::End(_) => {}
            Then::Listen(said) => {
                assert!(!said.is_empty() && kept.is_none());
                kept = Some((guest.own, whole(&guest)));
                guest.memory.freeze().expect("memory for a snapshot");
            }
        }
    }
    if let Some((own, bytes)) = kept {
        guest.memory.reset().expect("a reset");
        guest.own = own;
        assert!(whole(&guest) == bytes);
    }
});
