//! The process around a guest. It serves the guest's system calls, so it is where a hostile guest
//! would get to first: it is a user of its own, sees no file, and has hardly any system call itself.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::channel::Channel;
use super::confine;
use super::machine::Machine;
use super::syscalls::cpu;
use super::wire::{self, Order, recv};
use crate::process::recipe::SOCKET;

/// The signal by which a monitor's attention is got.
pub const ATTENTION: i32 = libc::SIGUSR1;

/// The flag that [`on_attention`] sets.
static FLAG: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// A monitor's life: what the descriptor [`SOCKET`] orders, until it is closed. Does not return.
pub fn main() -> ! {
    // SAFETY: a monitor is started with this descriptor, and no other code here has it.
    let control = unsafe { OwnedFd::from_raw_fd(SOCKET) };
    let code = match serve(control.as_fd()) {
        Ok(()) => 0,
        Err(why) => {
            let _ = wire::send(control.as_fd(), &Order::Failed(why), &[]);
            1
        }
    };
    std::process::exit(code)
}

fn serve(control: BorrowedFd<'_>) -> Result<(), String> {
    let failed = |error: Errno| format!("the daemon: {error}");
    let Some((Order::Make { memory, cpu_s }, beside)) = recv(control, true).map_err(failed)? else {
        return Err("found another order, expected one to make a guest".into());
    };
    let [kvm, binary] =
        <[OwnedFd; 2]>::try_from(beside).map_err(|_| "/dev/kvm or the binary is missing")?;
    let binary = read(binary).map_err(|error| format!("the binary: {error}"))?;
    let mut machine = Machine::new(kvm, &binary, memory)?;
    drop(binary);
    listen(&mut machine);
    confine::monitor()?;
    loop {
        let (order, mut beside) = match recv(control, true) {
            Ok(Some(received)) => received,
            Err(Errno::PIPE) => return Ok(()),
            other => return Err(format!("the daemon: {other:?}")),
        };
        let (run, socket) = match (order, beside.pop()) {
            (Order::Begin { run }, Some(socket)) => (run, socket),
            // One that was over already.
            (Order::Stop { .. }, None) => continue,
            (order, _) => return Err(format!("found {order:?}, expected one to begin")),
        };
        let before = cpu();
        limit_cpu(cpu_s);
        let mut channel = Channel::new(socket, control, run);
        if let Some(socket) = channel.socket() {
            // What it sent before it was kept. Nobody has written to this socket yet, and it takes more.
            let _ = send(
                socket,
                machine.sent(),
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            );
        }
        let end = machine.run(&mut channel)?;
        let again = machine.is_kept();
        if again {
            machine.reset()?;
        }
        limit_cpu(0);
        let over = Order::Over {
            run,
            end,
            again,
            cpu_us: cpu().saturating_sub(before).as_micros() as u64,
        };
        wire::send(control, &over, &[]).map_err(failed)?;
        // Only now, so that who sees the socket closed knows why.
        drop(channel);
        if !again {
            return Ok(());
        }
    }
}

fn read(file: OwnedFd) -> std::io::Result<Vec<u8>> {
    let file = File::from(file);
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Let [`ATTENTION`] interrupt the guest and every wait.
fn listen(machine: &mut Machine) {
    FLAG.store(machine.attention(), Ordering::SeqCst);
    // SAFETY: the handler only stores a byte, in memory that lives as long as the process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_attention as *const () as usize;
        libc::sigaction(ATTENTION, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_attention(_: i32) {
    let flag = FLAG.load(Ordering::SeqCst);
    if !flag.is_null() {
        // SAFETY: see `listen`.
        unsafe { flag.write_volatile(1) };
    }
}

/// The kernel ends this process after so many seconds of CPU time from now; 0 takes that back.
fn limit_cpu(seconds: u64) {
    let timer = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: seconds as i64,
            tv_usec: 0,
        },
    };
    // SAFETY: the kernel reads it, and writes nothing.
    unsafe { libc::syscall(libc::SYS_setitimer, libc::ITIMER_PROF, &raw const timer, 0) };
}
