//! The launcher: the process of the daemon that keeps root's rights. It starts the broker, and then does no
//! more than what [`launcher::serve`] does for it.

use std::env;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, exit};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use rustix::net::{Shutdown, shutdown};
use sandbox_runtime::launcher::{self, Files, Spare, Which};
use sandbox_runtime::mode::Mode;
use sandbox_runtime::opener;
use sandbox_runtime::{Host, Runtime};
use signal_hook::iterator::Signals;

use crate::audit;
use crate::daemon::Daemon;
use crate::functions::functions;
use crate::place::Place;

/// Start a broker, and workers for it, until SIGTERM or SIGINT. Does not return if all went well.
pub fn run(daemon: &Daemon, mode: Box<dyn Mode>, mut signals: Signals) -> Result<()> {
    let host = Arc::new(Host::new(mode).map_err(|why| anyhow!(why))?);
    let runtime = Runtime::of(host.clone(), functions()).map_err(|why| anyhow!(why))?;
    daemon.service.bound(&host).map_err(|why| anyhow!(why))?;
    let user = Spare::take().map_err(|why| anyhow!(why))?;
    let files = Own {
        place: Place::new(&daemon.socket),
        logs: daemon.service.logs.clone(),
        audit: daemon.service.audit.path().cloned(),
    };
    let listener = files.place.listen()?;
    let (control, mut broker) = start(user.user())?;
    launcher::pass(&control, listener.into()).context("pass the socket to the broker")?;
    let ends = control.clone();
    std::thread::spawn(move || {
        signals.forever().next();
        // The broker ends when it sees this.
        let _ = shutdown(&*ends, Shutdown::Write);
    });
    launcher::serve(&host, &control, &files, || {
        // One that has ended by itself is not ended once more.
        let _ = broker.kill();
    });
    let ended = broker.wait().context("collect the broker")?;
    drop(runtime);
    files.place.remove();
    if let Some(signal) = ended.signal() {
        eprintln!("the broker, which serves clients, was ended by signal {signal}");
    }
    drop(user);
    exit(ended.code().unwrap_or(1));
}

/// Start this program once more as a broker. Its standard input is the other end of the socket that is
/// returned.
fn start(user: u32) -> Result<(Arc<OwnedFd>, Child)> {
    let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
    let (here, there) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC)?;
    let mut arguments = env::args_os();
    let broker = Command::new("/proc/self/exe")
        .arg0(arguments.next().unwrap_or_default())
        .args(arguments)
        .args(["--broker", &user.to_string()])
        .stdin(there)
        .spawn()
        .context("start the broker: /proc/self/exe")?;
    Ok((Arc::new(here), broker))
}

/// The files that the launcher was started with.
struct Own {
    place: Place,
    logs: Option<PathBuf>,
    audit: Option<PathBuf>,
}

impl Files for Own {
    fn open(&self, which: &Which, turn: bool) -> Result<File, Error> {
        let none = || Error::from(ErrorKind::NotFound);
        match which {
            Which::Audit => audit::opened(self.audit.as_ref().ok_or_else(none)?, turn),
            Which::Log(name) => {
                let folder = self.logs.as_ref().ok_or_else(none)?;
                opener::anew(&folder.join(name), turn)
            }
        }
    }

    fn announce(&self) -> Result<(), Error> {
        self.place.announce()
    }
}
