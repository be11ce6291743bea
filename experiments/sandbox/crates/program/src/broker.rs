//! The broker: the process of the daemon that clients talk to. It is a user of its own without any right,
//! and asks the launcher for workers.

use std::io::stdin;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use rustix::process::getppid;
use sandbox_runtime::Runtime;
use sandbox_runtime::launcher::{Launcher, Which, confine};
use sandbox_runtime::opener::Opener;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::daemon::{Daemon, Opened};
use crate::functions::functions;
use crate::named::named;

/// Serve as `user` until the launcher, at the other end of standard input, says that it is over.
pub fn run(daemon: &Daemon, user: u32) -> Result<()> {
    // Whoever ends the daemon tells all of its processes; the launcher says when this one is to end.
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    let control = stdin().as_fd().try_clone_to_owned();
    let control = control.context("the launcher's socket")?;
    let launcher = Arc::new(Launcher::new(control, named(&daemon.mode)?));
    let listener = launcher.passed().context("the launcher's socket")?.into();
    let opened = Opened::open(daemon)?;
    // From here on it reads what strangers send.
    confine::broker(user).map_err(|why| anyhow!("the broker's rights: {why}"))?;
    let opened = opened.turned_by(Opener::new(launcher.opener(Which::Audit)));
    let logs = launcher.clone();
    let open = move |name: &str| Opener::new(logs.opener(Which::Log(name.into())));
    let runtime = Runtime::with_launcher(launcher.clone(), functions());
    let process = getppid().map_or(0, |launcher| launcher.as_raw_nonzero().get() as u32);
    let server = opened.server(runtime, (daemon, listener), Box::new(open), process)?;
    launcher.announce()?;
    println!(
        "serving in mode {} at {}",
        daemon.mode,
        daemon.socket.display()
    );
    launcher.wait();
    server.stop();
    Ok(())
}
