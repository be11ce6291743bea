//! A daemon of one process, or the part of one that serves clients: what it was asked for, and what it has
//! opened before.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use sandbox_runtime::opener::Opener;
use sandbox_runtime::{Runtime, descriptors};

use crate::audit;
use crate::doors::connections;
use crate::protocol::LoadOptions;
use crate::server::Server;
use crate::service::Service;

/// The arguments of a daemon.
pub struct Daemon {
    /// Its socket.
    pub socket: PathBuf,
    /// Its mode.
    pub mode: String,
    /// The binaries that are loaded first, as NAME=FILE.
    pub load: Vec<String>,
    /// The options of serving clients.
    pub service: Service,
    /// The options of the binaries that are loaded first.
    pub options: LoadOptions,
    /// The user that it is to be, if this process is a broker.
    pub broker: Option<u32>,
}

/// The files that a daemon has opened before it serves clients, and the number of connections that it can have.
pub struct Opened {
    audit: Option<audit::File>,
    connections: usize,
    /// Names and binaries that are loaded first.
    load: Vec<(String, Vec<u8>)>,
}

impl Opened {
    /// Open it all.
    ///
    /// # Errors
    ///
    /// What cannot be opened, and why.
    pub fn open(daemon: &Daemon) -> Result<Self> {
        let load = daemon.load.iter().map(|each| {
            let Some((name, file)) = each.split_once('=') else {
                bail!("--load {each}: expected NAME=FILE");
            };
            Ok((name.to_owned(), read(Path::new(file))?))
        });
        Ok(Opened {
            load: load.collect::<Result<_>>()?,
            audit: daemon.service.audit.file().map_err(|why| anyhow!(why))?,
            connections: connections(descriptors::raise()),
        })
    }

    /// Have the audit log's file turned by `open`.
    #[must_use]
    pub fn turned_by(mut self, open: Opener) -> Self {
        self.audit = self.audit.map(|file| file.turned_by(open));
        self
    }

    /// Begin to serve: load what is to be loaded first, and accept connections of `listener`. `open` opens logs by their
    /// names; `process` is the daemon's.
    ///
    /// # Errors
    ///
    /// What cannot be loaded, and why.
    pub fn server(
        self,
        runtime: Runtime,
        (daemon, listener): (&Daemon, UnixListener),
        open: Box<dyn Fn(&str) -> Opener + Send + Sync>,
        process: u32,
    ) -> Result<Arc<Server>> {
        let audit = daemon.service.audit.begin(self.audit);
        let audit = audit.map_err(|why| anyhow!(why))?;
        let service = (daemon.service.clone(), self.connections);
        let server = Server::new(runtime, service, audit, open, process);
        let server = Arc::new(server);
        for (name, binary) in self.load {
            server
                .load(
                    audit::Client::default(),
                    &name,
                    binary,
                    Some(&daemon.options),
                )
                .map_err(|why| anyhow!("--load {name}: {why}"))?;
        }
        server.accept(listener);
        Ok(server)
    }
}

/// Read a file.
///
/// # Errors
///
/// The kernel's, with its name.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| file.display().to_string())
}
