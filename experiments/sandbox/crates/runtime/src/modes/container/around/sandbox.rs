//! The sandbox around all workers of a binary: how it is started, and how workers come from it.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, socketpair};
use rustix::process::{Signal, pidfd_send_signal};
use serde_json::{Value, json};

use super::super::tool::{STATE, Tool, text};
use super::super::{Gvisor, PLACE, root_folder};
use crate::binary::Binary;
use crate::cgroup::{Bounds, Hierarchy};
use crate::descriptors::moved_up;
use crate::limits::Limits;
use crate::process::exit::collect;
use crate::process::launch::{Launched, Vfork};
use crate::process::recipe::{Recipe, SOCKET};
use crate::slot::Slot;

/// The binary, as it is called inside.
pub const BINARY: &str = "/udf";
/// The first process's program, inside.
pub const NURSERY: &str = "/nursery";
/// The folder, inside, with the socket [`DOOR`] that the first process connects to for each worker.
pub const LINE: &str = "/line";
/// That socket.
pub const DOOR: &str = "socket";
/// The folder of workers' roots, inside.
pub const ROOTS: &str = "/roots";

/// Least time that the sandbox has until its first worker is there.
const START: Duration = Duration::from_secs(10);

/// An order to start a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The number of its slot.
    pub number: u32,
    /// Seconds of CPU time.
    pub cpu_s: u32,
    /// Open files.
    pub files: u32,
    /// Processes and threads.
    pub processes: u32,
    /// Bytes of a process's address space.
    pub memory: u64,
}

impl Order {
    /// Bytes of an order.
    pub const BYTES: usize = 24;

    fn encode(self) -> Vec<u8> {
        let words = [self.number, self.cpu_s, self.files, self.processes].map(u32::to_le_bytes);
        [words.as_flattened(), &self.memory.to_le_bytes()].concat()
    }

    /// Read an order.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let (words, memory) = bytes.split_at(16);
        let (words, _) = words.as_chunks();
        let word = |place: usize| u32::from_le_bytes(words[place]);
        let (memory, _) = memory.as_chunks();
        Order {
            number: word(0),
            cpu_s: word(1),
            files: word(2),
            processes: word(3),
            memory: u64::from_le_bytes(memory[0]),
        }
    }
}

/// A sandbox that runs.
pub struct Sandbox {
    orders: OwnedFd,
    line: UnixListener,
    launched: Launched,
    limits: Limits,
    /// Dropped before the hierarchy that it lies in, and after the end of all processes in it.
    slot: Option<Slot>,
    hierarchy: Hierarchy,
}

impl Sandbox {
    /// Start one for so many workers: `program` is runsc. The thread has a mount namespace and files of its own.
    ///
    /// # Errors
    ///
    /// The step that failed, in words.
    pub fn start(
        program: &str,
        binary: &Binary,
        limits: &Limits,
        workers: usize,
    ) -> Result<Self, String> {
        let folder = Path::new(PLACE).join("around");
        let line = folder.join("line");
        let _ = fs::remove_dir_all(&folder);
        for made in [folder.join(STATE), line.clone()] {
            fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
        }
        let config = folder.join("config.json");
        fs::write(&config, configuration(&line).to_string())
            .map_err(|error| format!("{}: {error}", config.display()))?;
        let line = UnixListener::bind(line.join(DOOR))
            .map_err(|error| format!("the sandbox's line: {error}"))?;

        let hierarchy = Hierarchy::new()?;
        let more = Gvisor.overhead();
        let count = workers as u64;
        let bounds = Bounds {
            memory: limits
                .memory_bytes
                .saturating_mul(count)
                .saturating_add(more.memory_bytes),
            processes: limits
                .processes
                .saturating_mul(workers as u32)
                .saturating_add(more.processes),
            cpu: Duration::MAX,
        };
        let slot = hierarchy
            .slot(0, bounds, None)
            .and_then(|group| Slot::new(0, group, false));
        let slot = slot.inspect_err(|_| hierarchy.remove())?;
        let (orders, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .and_then(|(here, there)| Ok((here, moved_up(there)?)))
        .map_err(|error| format!("the line of orders: {error}"))?;
        let recipe = recipe(&slot, binary, program, &folder);
        let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        let launched = Vfork::default().launch(&recipe, flags, there.as_fd(), None);
        let launched = launched.inspect_err(|_| hierarchy.remove())?;
        Ok(Sandbox {
            orders,
            line,
            launched,
            limits: limits.clone(),
            slot: Some(slot),
            hierarchy,
        })
    }

    /// The number of the tool's process.
    pub fn pid(&self) -> i32 {
        self.launched.pid
    }

    /// Start a worker in the slot. Return its line of life and its socket.
    ///
    /// # Errors
    ///
    /// The reason why there is none, in words: the sandbox is of no more use.
    pub fn admit(&self, number: u32) -> Result<(OwnedFd, OwnedFd), String> {
        let order = Order {
            number,
            cpu_s: self.limits.cpu_s,
            files: self.limits.files,
            processes: self.limits.processes,
            memory: self.limits.memory_bytes,
        };
        let until = Instant::now() + self.limits.start.max(START);
        write(&self.orders, &order.encode())
            .map_err(|error| format!("the sandbox around all workers: {error}"))?;
        Ok((self.accept(until)?, self.accept(until)?))
    }

    /// Wait for a connection.
    fn accept(&self, until: Instant) -> Result<OwnedFd, String> {
        let wrong = |what: &str| format!("the sandbox around all workers {what}");
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut watched = [
                PollFd::new(&self.line, PollFlags::IN),
                PollFd::new(&self.launched.process, PollFlags::IN),
            ];
            match poll(&mut watched, Some(&left)) {
                Ok(0) => return Err(wrong("starts none in time")),
                Ok(_) if watched[0].revents().is_empty() => return Err(wrong("has ended")),
                Ok(_) => {
                    return accept_with(&self.line, SocketFlags::CLOEXEC)
                        .map_err(|error| wrong(&format!("cannot be reached: {error}")));
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(wrong(&format!("cannot be reached: {error}"))),
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.launched.process, Signal::KILL);
        collect(&self.launched.process);
        drop(self.slot.take());
        self.hierarchy.remove();
    }
}

fn recipe(slot: &Slot, binary: &Binary, program: &str, folder: &Path) -> Recipe {
    let mut recipe = Recipe::default();
    recipe.begin(slot, binary.file().as_raw_fd());
    let (kind, place) = (recipe.text("proc"), recipe.text("/proc"));
    recipe.call("its own /proc", libc::SYS_mount, &[kind, place, kind, 0, 0]);
    let passed = format!("{SOCKET}:{SOCKET}");
    let (state, bundle) = (text(&folder.join(STATE)), text(folder));
    let first = ["--root", &state];
    let rest = [
        "--host-uds",
        "open",
        "run",
        "--bundle",
        &bundle,
        "--pass-fd",
        &passed,
        "around",
    ];
    let arguments = [&first[..], super::super::gvisor::OPTIONS, &rest].concat();
    let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
    recipe.execute_file(program, &arguments);
    recipe
}

/// The bundle's config.json: the first process is root of the sandbox, and of nothing else.
fn configuration(line: &Path) -> Value {
    let rights = [
        "CAP_CHOWN",
        "CAP_DAC_OVERRIDE",
        "CAP_KILL",
        "CAP_SETGID",
        "CAP_SETPCAP",
        "CAP_SETUID",
        "CAP_SYS_ADMIN",
        "CAP_SYS_CHROOT",
        "CAP_SYS_PTRACE",
    ];
    let none: [&str; 0] = [];
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({"type": kind}));
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": 0, "gid": 0},
            "args": [NURSERY],
            "env": ["PATH=/"],
            "cwd": "/",
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": rights, "effective": rights, "permitted": rights, "inheritable": none, "ambient": none,
            },
            "rlimits": [{"type": "RLIMIT_NOFILE", "soft": 65536, "hard": 65536}],
        },
        "root": {"path": text(&root_folder()), "readonly": true},
        "hostname": "udf",
        "mounts": [
            {
                "destination": "/proc", "type": "proc", "source": "proc",
                "options": ["nosuid", "noexec", "nodev"],
            },
            {"destination": ROOTS, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=755"]},
            {
                "destination": LINE, "type": "bind", "source": text(line),
                "options": ["bind", "ro", "nosuid", "nodev", "noexec"],
            },
        ],
        "linux": {"namespaces": namespaces},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_sent() {
        let order = Order {
            number: 1,
            cpu_s: u32::MAX,
            files: 3,
            processes: 4,
            memory: 1 << 40,
        };
        let bytes = order.encode().try_into().unwrap();
        assert_eq!(Order::decode(bytes), order);
    }
}
