//! The cost of the BPF programs: the kernel times them while two threads switch back and forth.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use anyhow::{Context, Result, ensure};
use libbpf_rs::{Object, libbpf_sys};

const TURNS: usize = 5000;

/// Return the mean nanoseconds that the programs take per event.
pub fn of_an_event(object: &Object) -> Result<f64> {
    // SAFETY: takes a number, and returns a descriptor of the caller's or an error.
    let timing = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    ensure!(timing >= 0, "the kernel does not time BPF programs");
    // SAFETY: the descriptor has just been made for this caller; timing ends with it.
    let _timing = unsafe { OwnedFd::from_raw_fd(timing) };
    let before = run(object)?;
    switch_back_and_forth().context("switching between two threads")?;
    let after = run(object)?;
    ensure!(
        after.1 > before.1,
        "the kernel ran none of the BPF programs"
    );
    Ok((after.0 - before.0) as f64 / (after.1 - before.1) as f64)
}

/// Return the nanoseconds and the number of runs of all programs while they were timed.
fn run(object: &Object) -> Result<(u64, u64)> {
    let mut sum = (0, 0);
    for program in object.progs() {
        // SAFETY: zero is a valid bpf_prog_info, and the kernel writes at most its size.
        let info = unsafe {
            let mut info: libbpf_sys::bpf_prog_info = std::mem::zeroed();
            let mut size = size_of_val(&info) as u32;
            let fd = program.as_fd().as_raw_fd();
            let failed = libbpf_sys::bpf_prog_get_info_by_fd(fd, &mut info, &mut size);
            ensure!(
                failed == 0,
                "the kernel does not tell how long a BPF program ran"
            );
            info
        };
        sum.0 += info.run_time_ns;
        sum.1 += info.run_cnt;
    }
    Ok(sum)
}

fn switch_back_and_forth() -> Result<()> {
    let (mut here, mut there) = UnixStream::pair()?;
    let other = thread::spawn(move || -> std::io::Result<()> {
        let mut byte = [0];
        for _ in 0..TURNS {
            there.read_exact(&mut byte)?;
            there.write_all(&byte)?;
        }
        Ok(())
    });
    let mut byte = [0];
    for _ in 0..TURNS {
        here.write_all(&byte)?;
        here.read_exact(&mut byte)?;
    }
    Ok(other.join().expect("it does not panic")?)
}
