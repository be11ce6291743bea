//! The first process of a container gets the orphans of all others, and must collect them. The daemon
//! cannot, since it tells its own workers' ends apart; so it runs below one that does nothing else.

use std::convert::Infallible;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Return true if this is the first process.
pub fn is_needed() -> bool {
    std::process::id() == 1
}

/// Run this program once more, passes on to it what ends it, and collects whatever ends until it does.
pub fn run() -> Result<Infallible> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let mut arguments = env::args_os();
    let child = Command::new("/proc/self/exe")
        .arg0(arguments.next().unwrap_or_default())
        .args(arguments)
        .spawn()
        .context("/proc/self/exe")?;
    let child = Pid::from_child(&child);
    std::thread::spawn(move || {
        for signal in &mut signals {
            let passed = if signal == SIGINT {
                Signal::INT
            } else {
                Signal::TERM
            };
            let _ = kill_process(child, passed);
        }
    });
    loop {
        let ended = wait(WaitOptions::empty()).context("collect what ended")?;
        if let Some((_, status)) = ended.filter(|(pid, _)| *pid == child) {
            let by_signal = status.terminating_signal().map(|signal| 128 + signal);
            exit(status.exit_status().or(by_signal).unwrap_or(1));
        }
    }
}
