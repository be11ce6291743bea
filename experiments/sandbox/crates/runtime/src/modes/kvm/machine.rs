//! A guest and its processor: made from a binary, run up to where it wants its request, and brought
//! back there after each call.

use std::os::fd::OwnedFd;
use std::time::Duration;

use super::areas::{Access, PAGE};
use super::channel::Channel;
use super::elf::Image;
use super::memory::{Memory, window_for};
use super::syscalls::{Call, Guest, Own, Then, USER, cpu, serve};
use super::vm::{Exit, Processor, Vm};
use super::wire::End;
use super::{stack, toucher};

/// Bytes of the stack, as Linux has it by default, and of what lies unmapped below it.
const STACK: u64 = 8 << 20;
const GUARD: u64 = 1 << 20;

/// The state to which a guest returns, besides its memory.
struct Kept {
    own: Own,
    processor: Processor,
    /// CPU time that it had used.
    cpu: Duration,
    /// The system call by which it wanted its request.
    call: Call,
    /// The bytes that it had sent until then.
    sent: Vec<u8>,
}

/// A guest and its processor.
pub struct Machine {
    // Before the memory that it uses.
    vm: Vm,
    guest: Guest,
    kept: Option<Kept>,
}

/// Return the addresses at which a program may lie in a guest with `memory` bytes.
pub fn room(memory: u64) -> std::ops::Range<u64> {
    toucher::PLACE.end..window_for(memory) - STACK - GUARD
}

impl Machine {
    /// A guest that may have `memory` bytes, at the beginning of `binary`.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(kvm: OwnedFd, binary: &[u8], memory: u64) -> Result<Self, String> {
        let image = Image::read(binary, room(memory))?;
        let mut random = [0; 16];
        // SAFETY: as many bytes as there are.
        if unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) }
            != random.len() as isize
        {
            return Err("no randomness for the guest".into());
        }
        let (guest, pointer) = load(&image, binary, memory, random)?;
        let vm = Vm::new(kvm, &guest.memory, image.entry, pointer)?;
        Ok(Machine {
            vm,
            guest,
            kept: None,
        })
    }

    /// Return true if it can be brought back to where it wanted its request.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Return the bytes that it had sent until then. They are sent again in a later run.
    pub fn sent(&self) -> &[u8] {
        self.kept.as_ref().map_or(&[], |kept| &kept.sent)
    }

    /// Return the flag that makes it read orders when set to 1.
    pub fn attention(&mut self) -> *mut u8 {
        self.vm.attention()
    }

    /// Run it until its end.
    ///
    /// # Errors
    ///
    /// When KVM does not do what it should, in words.
    pub fn run(&mut self, channel: &mut Channel<'_>) -> Result<End, String> {
        if let Some(kept) = &self.kept {
            let call = kept.call;
            self.guest.own.cpu_since = cpu().saturating_sub(kept.cpu);
            if let Some(end) = self.serve(&call, channel)? {
                return Ok(end);
            }
        }
        loop {
            let call = match self.vm.run(&self.guest.memory)? {
                Exit::Call(call) => call,
                Exit::Fault(at) if self.guest.lacks_memory(at) => return Ok(End::Memory),
                Exit::Fault(_) => return Ok(End::Signal(libc::SIGSEGV)),
                Exit::Interrupted if channel.check().is_err() => return Ok(End::Stopped),
                Exit::Interrupted => continue,
            };
            if let Some(end) = self.serve(&call, channel)? {
                return Ok(end);
            }
        }
    }

    /// Serve a call, before which the guest is kept if it is the moment.
    fn serve(&mut self, call: &Call, channel: &mut Channel<'_>) -> Result<Option<End>, String> {
        let mut then = serve(call, &mut self.guest, channel);
        if let Then::Listen(sent) = then {
            self.guest.memory.freeze()?;
            let processor = self.vm.save()?;
            toucher::touch(&mut self.vm, &self.guest.memory)?;
            self.vm.restore(&processor)?;
            self.kept = Some(Kept {
                own: self.guest.own,
                processor,
                cpu: cpu().saturating_sub(self.guest.own.cpu_since),
                call: *call,
                sent,
            });
            then = serve(call, &mut self.guest, channel);
        }
        match then {
            Then::Return(result) => self.vm.answer(result, self.guest.own.bases).map(|()| None),
            Then::End(end) => Ok(Some(end)),
            Then::Listen(_) => Err("a guest that is kept already".into()),
        }
    }

    /// Bring it back to where it wanted its request: memory, registers, and all else that it could
    /// have changed.
    ///
    /// # Errors
    ///
    /// Why not, in words: it must not be run again.
    pub fn reset(&mut self) -> Result<(), String> {
        let kept = self.kept.as_ref().ok_or("it never wanted a request")?;
        if self.guest.memory.reset()? {
            toucher::touch(&mut self.vm, &self.guest.memory)?;
        }
        self.guest.own = kept.own;
        self.vm.restore(&kept.processor)
    }
}

/// Memory with the program and its stack, and the stack pointer.
///
/// # Errors
///
/// The reason, in words.
pub fn load(
    image: &Image,
    binary: &[u8],
    most: u64,
    random: [u8; 16],
) -> Result<(Guest, u64), String> {
    let window = window_for(most);
    let mut memory = Memory::new(window)?;
    for segment in &image.segments {
        if !memory.set(segment.pages(), Some(segment.access)) {
            return Err("an ELF file with too many segments".into());
        }
        memory.place_bytes(segment.at, &binary[segment.file.clone()]);
    }
    if !toucher::place(&mut memory) {
        return Err("no room for the code that uses pages".into());
    }
    let (bytes, pointer) = stack::build(image, window, USER, random);
    memory.set(
        window - STACK..window,
        Some(Access {
            read: true,
            write: true,
            execute: false,
        }),
    );
    memory.place_bytes(pointer, &bytes);
    let start = image.end() + PAGE;
    let own = Own {
        breaks: (start, start),
        top: window - STACK - GUARD,
        bases: [0; 2],
        cpu_since: cpu(),
    };
    Ok((Guest { memory, own }, pointer))
}
