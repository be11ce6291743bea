//! `tare-sandbox serve`: the daemon, of one process, or of a launcher and a broker.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use rustix::process::geteuid;
use sandbox_runtime::opener::Opener;
use sandbox_runtime::{Host, Runtime, descriptors};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::daemon::{Daemon, Opened};
use crate::functions::functions;
use crate::named::named;
use crate::place::Place;
use crate::{broker, launch};

/// Serve until SIGTERM or SIGINT.
pub fn run(daemon: Daemon) -> Result<()> {
    if let Some(user) = daemon.broker {
        return broker::run(&daemon, user);
    }
    // From the first moment, so that a signal while binaries are loaded leaves nothing behind.
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let mode = named(&daemon.mode)?;
    descriptors::raise();
    if mode.has_rights() && geteuid().is_root() {
        return launch::run(&daemon, mode, signals);
    }
    let host = Arc::new(Host::new(mode).map_err(|why| anyhow!(why))?);
    let runtime = Runtime::of(host.clone(), functions()).map_err(|why| anyhow!(why))?;
    daemon.service.bound(&host).map_err(|why| anyhow!(why))?;
    let place = Place::new(&daemon.socket);
    let opened = Opened::open(&daemon)?;
    let listener = place.listen()?;
    let logs = daemon.service.logs.clone();
    let open = move |name: &str| {
        let folder = logs.clone().unwrap_or_default();
        Opener::of(folder.join(name))
    };
    let server = opened.server(
        runtime,
        (&daemon, listener),
        Box::new(open),
        std::process::id(),
    )?;
    place.announce()?;
    println!(
        "serving in mode {} at {}",
        daemon.mode,
        daemon.socket.display()
    );
    signals.forever().next();
    server.stop();
    place.remove();
    Ok(())
}
