//! The owner of each process: server, client, backend or other.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::net::sockopt::socket_peercred;

/// The owner of a process's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Server,
    Client,
    Backend,
    Other,
}

/// The numbers of the known processes.
#[derive(Debug)]
pub struct Processes {
    server: u32,
    backend: Option<u32>,
    own: u32,
    starter: u32,
}

impl Processes {
    /// Find the server and the backend behind their control sockets. Every other child of the process that
    /// started this one is the client.
    pub fn find(server: &Path, backend: Option<&Path>) -> Result<Self> {
        let starter = std::os::unix::process::parent_id();
        let own = std::process::id();
        let (server, backend) = (behind(server)?, backend.map(behind).transpose()?);
        Ok(Self {
            server,
            backend,
            own,
            starter,
        })
    }

    /// Return the owner of a process. A process that has ended belongs to `Other`.
    pub fn owner_of(&self, process: u32) -> Owner {
        if process == self.server {
            Owner::Server
        } else if Some(process) == self.backend {
            Owner::Backend
        } else if process != self.own && parent(process) == Some(self.starter) {
            Owner::Client
        } else {
            Owner::Other
        }
    }
}

fn behind(control: &Path) -> Result<u32> {
    let what = || format!("control socket {}", control.display());
    let mut stream = UnixStream::connect(control).with_context(what)?;
    let peer = socket_peercred(&stream).with_context(what)?;
    stream
        .read_to_string(&mut String::new())
        .with_context(what)?;
    Ok(peer.pid.as_raw_nonzero().get() as u32)
}

fn parent(process: u32) -> Option<u32> {
    parent_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn parent_in(stat: &str) -> Option<u32> {
    // The name before it may hold spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_child_of_the_same_starter_is_the_client_while_it_lives() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("cat");
        let own = u32::MAX;
        let processes = Processes {
            server: 5,
            backend: Some(6),
            own,
            starter: std::process::id(),
        };
        assert_eq!(processes.owner_of(5), Owner::Server);
        assert_eq!(processes.owner_of(6), Owner::Backend);
        assert_eq!(processes.owner_of(child.id()), Owner::Client);
        assert_eq!(processes.owner_of(std::process::id()), Owner::Other);
        let itself = Processes {
            own: child.id(),
            ..processes
        };
        assert_eq!(itself.owner_of(child.id()), Owner::Other);
        drop(child.stdin.take());
        child.wait().expect("its end");
        let none = Processes { own, ..itself };
        assert_eq!(none.owner_of(child.id()), Owner::Other);
    }

    proptest! {
        #[test]
        fn a_name_does_not_hide_the_parent(name in "[ ()a-z0-9]{0,15}", parent in 0..4_194_304u32) {
            let stat = format!("17 ({name}) S {parent} 17 17 0 -1 4194304\n");
            prop_assert_eq!(parent_in(&stat), Some(parent));
        }

        #[test]
        fn other_text_has_no_parent(text in "[^)]*") {
            prop_assert_eq!(parent_in(&text), None);
        }
    }
}
