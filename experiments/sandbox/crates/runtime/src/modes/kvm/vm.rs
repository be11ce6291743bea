//! A virtual machine with one processor, which begins in ring 3 and knows no other: there is no kernel
//! in it. What would enter one, a system call or a fault, shuts the processor down, and KVM says so
//! with all registers as they were. That a system call does so is what [`Vm::run`] relies on and what
//! a mode's trial finds out: where KVM enters the guest's kernel instead, no run gets far.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use kvm_bindings::{
    KVM_CAP_X86_TRIPLE_FAULT_EVENT, KVM_MAX_CPUID_ENTRIES, KVM_VCPUEVENT_VALID_TRIPLE_FAULT, Msrs,
    kvm_enable_cap, kvm_msr_entry, kvm_regs, kvm_segment, kvm_sregs, kvm_userspace_memory_region,
    kvm_vcpu_events, kvm_xsave,
};
use kvm_ioctls::{Cap, Kvm, SyncReg, VcpuExit, VcpuFd, VmFd};

use super::memory::Memory;
use super::syscalls::Call;

/// Protected, with an FPU, write-protected also for the host's walks, paged.
const CR0: u64 = 0x8001_0033;
/// Physical address extension, SSE and its exceptions.
const CR4: u64 = 0x620;
/// System calls, long mode, no-execute.
const EFER: u64 = 0xd01;
const INTERRUPTS: u64 = 1 << 9;
const ALWAYS_SET: u64 = 1 << 1;
/// The flags that a program may set: the results of arithmetic, the direction, AC and ID.
const OWN_FLAGS: u64 = 0x24_0cd5;
/// The kernel's entry for system calls: nothing is ever mapped there.
const ENTRY: u64 = 0x7fff_ffff_0000;
const LSTAR: u32 = 0xc000_0082;
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// The reason why the guest stopped running.
#[derive(Clone, Copy, Debug)]
pub enum Exit {
    /// It wants a system call served.
    Call(Call),
    /// It did what it may not, at this address of its memory if it was about memory.
    Fault(u64),
    /// Somebody wants attention.
    Interrupted,
}

/// Everything of a processor that a guest can change.
pub struct Processor {
    registers: kvm_regs,
    special: kvm_sregs,
    extended: kvm_xsave,
    events: kvm_vcpu_events,
    selectors: [u16; 4],
}

/// The machine. It must not outlive the memory that it was made with.
pub struct Vm {
    _vm: VmFd,
    processor: VcpuFd,
    bases: [u64; 2],
    /// It was seen there after a system call.
    stays_in_ring_3: bool,
}

impl Vm {
    /// A machine over `memory`, whose processor will begin at `entry` with its stack at `stack`.
    ///
    /// # Errors
    ///
    /// Which step failed and why, in words.
    pub fn new(kvm: OwnedFd, memory: &Memory, entry: u64, stack: u64) -> Result<Self, String> {
        let step = |what: &'static str| {
            move |error: kvm_ioctls::Error| format!("/dev/kvm: {what}: {error}")
        };
        // SAFETY: the descriptor is open, and nobody else's.
        let kvm = unsafe { Kvm::from_raw_fd(kvm.into_raw_fd()) };
        if kvm.get_api_version() != 12 || !kvm.check_extension(Cap::SyncRegs) {
            return Err("/dev/kvm is no KVM of version 12 with KVM_CAP_SYNC_REGS".into());
        }
        let vm = kvm.create_vm().map_err(step("a machine"))?;
        // So that a shutdown which is under way when a run is stopped can be taken back.
        let shutdowns = kvm_enable_cap {
            cap: KVM_CAP_X86_TRIPLE_FAULT_EVENT,
            args: [1, 0, 0, 0],
            ..kvm_enable_cap::default()
        };
        vm.enable_cap(&shutdowns)
            .map_err(step("KVM_CAP_X86_TRIPLE_FAULT_EVENT"))?;
        let (address, size) = memory.whole();
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: size,
            userspace_addr: address,
        };
        // SAFETY: the memory outlives the machine.
        unsafe { vm.set_user_memory_region(region) }.map_err(step("its memory"))?;
        let mut processor = vm.create_vcpu(0).map_err(step("its processor"))?;
        let features = kvm
            .get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)
            .map_err(step("what it can do"))?;
        processor
            .set_cpuid2(&features)
            .map_err(step("what it can do"))?;
        let mut special = processor.get_sregs().map_err(step("its state"))?;
        ring_3(&mut special, memory.root());
        processor.set_sregs(&special).map_err(step("its state"))?;
        let registers = kvm_regs {
            rip: entry,
            rsp: stack,
            rflags: ALWAYS_SET | INTERRUPTS,
            ..kvm_regs::default()
        };
        processor
            .set_regs(&registers)
            .map_err(step("its registers"))?;
        let entry = kvm_msr_entry {
            index: LSTAR,
            data: ENTRY,
            ..kvm_msr_entry::default()
        };
        let entries =
            Msrs::from_entries(&[entry]).map_err(|error| format!("/dev/kvm: {error:?}"))?;
        if processor
            .set_msrs(&entries)
            .map_err(step("where system calls go"))?
            != 1
        {
            return Err("/dev/kvm: it refuses to be told where system calls go".into());
        }
        processor.set_sync_valid_reg(SyncReg::Register);
        Ok(Vm {
            _vm: vm,
            processor,
            bases: [0; 2],
            stays_in_ring_3: false,
        })
    }

    /// Run the guest until something is to be done.
    ///
    /// # Errors
    ///
    /// When KVM does not do what it should, in words.
    pub fn run(&mut self, memory: &Memory) -> Result<Exit, String> {
        match self.processor.run() {
            Ok(VcpuExit::Shutdown) => {}
            Ok(VcpuExit::MmioRead(at, _)) => return Ok(Exit::Fault(at)),
            Ok(VcpuExit::MmioWrite(at, _)) => return Ok(Exit::Fault(at)),
            Ok(VcpuExit::Intr) => return Ok(self.interrupted()),
            Ok(
                VcpuExit::InternalError | VcpuExit::Hlt | VcpuExit::IoIn(..) | VcpuExit::IoOut(..),
            ) => {
                return Ok(Exit::Fault(0));
            }
            Ok(other) => {
                return Err(format!(
                    "KVM: found {other:?}, expected a shutdown at a system call"
                ));
            }
            Err(error) if error.errno() == libc::EINTR => return Ok(self.interrupted()),
            Err(error) if error.errno() == libc::EAGAIN => {
                return Err("KVM cannot start the thread that it keeps: allow 2 processes".into());
            }
            Err(error) => return Err(format!("KVM: {error}")),
        }
        let registers = self.processor.sync_regs().regs;
        // The processor has put where to go on into RCX, and went to an address that the guest cannot
        // come to but on purpose.
        let before = registers.rcx.wrapping_sub(SYSCALL.len() as u64);
        let called = registers.rip == ENTRY && memory.read(before) == Some(SYSCALL);
        if called && self.stays_in_ring_3 {
            return Ok(Exit::Call(call_in(&registers)));
        }
        let special = self
            .processor
            .get_sregs()
            .map_err(|error| format!("KVM: its state: {error}"))?;
        if special.cs.dpl != 3 {
            return Err("KVM: the processor is in ring 0 after a system call, expected it to be in ring 3 as with PVM".into());
        }
        if !called {
            return Ok(Exit::Fault(special.cr2));
        }
        self.stays_in_ring_3 = true;
        Ok(Exit::Call(call_in(&registers)))
    }

    fn interrupted(&mut self) -> Exit {
        self.processor.set_kvm_immediate_exit(0);
        Exit::Interrupted
    }

    /// Let the guest go on with the result of its call, and with these bases of FS and GS.
    ///
    /// # Errors
    ///
    /// KVM's, in words.
    pub fn answer(&mut self, result: u64, bases: [u64; 2]) -> Result<(), String> {
        let registers = &mut self.processor.sync_regs_mut().regs;
        // A guest that went to the entry by itself has chosen R11.
        let flags = registers.r11 & OWN_FLAGS | ALWAYS_SET | INTERRUPTS;
        (registers.rax, registers.rip, registers.rflags) = (result, registers.rcx, flags);
        self.processor.set_sync_dirty_reg(SyncReg::Register);
        if bases != self.bases {
            let failed = |error| format!("KVM: the base of a segment: {error}");
            let mut special = self.processor.get_sregs().map_err(failed)?;
            [special.fs.base, special.gs.base] = bases;
            self.processor.set_sregs(&special).map_err(failed)?;
            self.bases = bases;
        }
        Ok(())
    }

    /// Let the guest go on at `at`, with these values in RSI and RCX, in one run of its own.
    ///
    /// # Errors
    ///
    /// KVM's, in words.
    pub fn go(&mut self, at: u64, [rsi, rcx]: [u64; 2]) -> Result<(), String> {
        let registers = kvm_regs {
            rip: at,
            rsi,
            rcx,
            rflags: ALWAYS_SET | INTERRUPTS,
            ..kvm_regs::default()
        };
        self.processor
            .set_regs(&registers)
            .map_err(|error| format!("KVM: the processor's state: {error}"))?;
        self.processor.sync_regs_mut().regs = registers;
        Ok(())
    }

    /// Save the processor's state.
    ///
    /// # Errors
    ///
    /// KVM's, in words.
    pub fn save(&self) -> Result<Processor, String> {
        let failed = |error| format!("KVM: the processor's state: {error}");
        let mut events = self.processor.get_vcpu_events().map_err(failed)?;
        events.flags |= KVM_VCPUEVENT_VALID_TRIPLE_FAULT;
        events.triple_fault.pending = 0;
        Ok(Processor {
            events,
            selectors: selectors(),
            registers: self.processor.get_regs().map_err(failed)?,
            special: self.processor.get_sregs().map_err(failed)?,
            extended: self.processor.get_xsave().map_err(failed)?,
        })
    }

    /// Make the processor what it was.
    ///
    /// # Errors
    ///
    /// KVM's, in words.
    pub fn restore(&mut self, kept: &Processor) -> Result<(), String> {
        let failed = |error| format!("KVM: the processor's state: {error}");
        self.processor.set_kvm_immediate_exit(0);
        if selectors() != kept.selectors {
            return Err("it has loaded a segment register, which nothing brings back".into());
        }
        self.processor.set_regs(&kept.registers).map_err(failed)?;
        self.processor.set_sregs(&kept.special).map_err(failed)?;
        self.processor
            .set_vcpu_events(&kept.events)
            .map_err(failed)?;
        // SAFETY: without features asked for besides, the state has no more than these 4096 bytes.
        unsafe { self.processor.set_xsave(&kept.extended) }.map_err(failed)?;
        self.processor.sync_regs_mut().regs = kept.registers;
        self.bases = [kept.special.fs.base, kept.special.gs.base];
        Ok(())
    }

    /// Return the flag that makes [`Vm::run`] return as soon as possible when a signal's handler
    /// sets it to 1.
    pub fn attention(&mut self) -> *mut u8 {
        &raw mut self.processor.get_kvm_run().immediate_exit
    }
}

/// DS, ES, FS and GS of this thread, which PVM shares with the guest: what that loads stays, whatever
/// KVM is told. To load FS anew takes away what this thread finds its own data by.
fn selectors() -> [u16; 4] {
    let (ds, es, fs, gs): (u16, u16, u16, u16);
    // SAFETY: it only reads registers.
    unsafe {
        std::arch::asm!(
            "mov {:x}, ds", "mov {:x}, es", "mov {:x}, fs", "mov {:x}, gs",
            out(reg) ds, out(reg) es, out(reg) fs, out(reg) gs,
            options(nomem, nostack, preserves_flags),
        );
    }
    [ds, es, fs, gs]
}

/// The system call that these registers hold.
fn call_in(registers: &kvm_regs) -> Call {
    Call {
        number: registers.rax,
        arguments: [
            registers.rdi,
            registers.rsi,
            registers.rdx,
            registers.r10,
            registers.r8,
            registers.r9,
        ],
    }
}

/// 64-bit mode in ring 3, with page tables at `root`.
fn ring_3(special: &mut kvm_sregs, root: u64) {
    let segment = |selector, type_, long| kvm_segment {
        selector,
        type_,
        limit: u32::MAX,
        present: 1,
        dpl: 3,
        s: 1,
        g: 1,
        l: long,
        db: 1 - long,
        ..kvm_segment::default()
    };
    let data = segment(0x2b, 3, 0);
    special.cs = segment(0x33, 11, 1);
    (special.ss, special.ds, special.es, special.fs, special.gs) = (data, data, data, data, data);
    (special.cr0, special.cr3, special.cr4, special.efer) = (CR0, root, CR4, EFER);
}
