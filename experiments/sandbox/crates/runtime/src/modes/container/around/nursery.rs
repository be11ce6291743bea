//! The first process of the sandbox around all: it starts each worker by the original's steps, kills it
//! when its line of life is cut, and says on that line how it ended.
//!
//! gVisor's kernel differs from the host's. Mounts become read-only one by one, since it has no
//! `mount_setattr`. No thread keeps its rights as another user, so that a worker becomes its slot's user
//! after its mounts. It limits no message queues, which the filter refuses anyway; and memory by the
//! address space of a process.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, pidfd_send_signal};
use seccompiler::BpfProgram;

use super::report::{End, Report};
use super::sandbox::{BINARY, DOOR, LINE, Order, ROOTS};
use crate::cgroup::SlotGroup;
use crate::descriptors::moved_up;
use crate::modes::roma::{SHOWN, make_folder, own_root};
use crate::process::exit::look;
use crate::process::filter;
use crate::process::launch::{Launched, Vfork};
use crate::process::recipe::{Recipe, SOCKET};
use crate::process::spawner::block_signals;
use crate::process::verify::Evidence;
use crate::slot::Slot;

/// Run until the host closes the line of orders.
pub fn main() -> ! {
    let ended = Nursery::new().and_then(|mut nursery| nursery.run());
    if let Err(why) = &ended {
        // Where the host looks for what the tool says.
        let _ = writeln!(std::io::stderr(), "{why}");
    }
    std::process::exit(i32::from(ended.is_err()))
}

struct Nursery {
    orders: UnixStream,
    binary: OwnedFd,
    filter: BpfProgram,
    vfork: Vfork,
    /// The steps of each slot's workers, and the slot, whose file of standard streams they name.
    recipes: HashMap<u32, (Recipe, Slot)>,
    inmates: Vec<Inmate>,
}

/// A worker that is alive.
struct Inmate {
    number: u32,
    launched: Launched,
    life: UnixStream,
    /// Its line of life has been cut.
    killed: bool,
}

impl Nursery {
    fn new() -> Result<Self, String> {
        block_signals();
        // SAFETY: the host passed this descriptor for the orders, and nothing else of this process has it.
        let orders = unsafe { OwnedFd::from_raw_fd(SOCKET) };
        let orders = moved_up(orders).map_err(|error| format!("the line of orders: {error}"))?;
        let binary = File::open(BINARY).map_err(|error| format!("{BINARY}: {error}"))?;
        let binary = moved_up(binary.into()).map_err(|error| format!("{BINARY}: {error}"))?;
        Ok(Nursery {
            orders: orders.into(),
            binary,
            filter: filter::per_worker()?,
            vfork: Vfork::default(),
            recipes: HashMap::new(),
            inmates: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            let (ordered, ready) = self.wait()?;
            // From the last, since those that have ended are taken out.
            for (place, (cut, ended)) in ready.into_iter().enumerate().rev() {
                if ended {
                    self.report(place);
                } else if cut {
                    let inmate = &mut self.inmates[place];
                    inmate.killed = true;
                    let _ = pidfd_send_signal(&inmate.launched.process, Signal::KILL);
                }
            }
            if ordered {
                let mut order = [0; Order::BYTES];
                if self.orders.read_exact(&mut order).is_err() {
                    return Ok(());
                }
                self.admit(&Order::decode(order))?;
            }
        }
    }

    /// Wait for an order, or for a line that is cut or a worker that has ended.
    fn wait(&self) -> Result<(bool, Vec<(bool, bool)>), String> {
        let mut watched = vec![PollFd::new(&self.orders, PollFlags::IN)];
        for inmate in &self.inmates {
            let wanted = match inmate.killed {
                true => PollFlags::empty(),
                false => PollFlags::IN,
            };
            watched.push(PollFd::new(&inmate.life, wanted));
            watched.push(PollFd::new(&inmate.launched.process, PollFlags::IN));
        }
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("wait for workers: {error}")),
        }
        let seen: Vec<bool> = watched
            .iter()
            .map(|each| !each.revents().is_empty())
            .collect();
        let pairs = seen[1..].chunks_exact(2).zip(&self.inmates);
        let ready = pairs.map(|(pair, inmate)| (pair[0] && !inmate.killed, pair[1]));
        Ok((seen[0], ready.collect()))
    }

    /// Start a worker. The host expects its line of life, and then its socket.
    fn admit(&mut self, order: &Order) -> Result<(), String> {
        let connect = || {
            UnixStream::connect(Path::new(LINE).join(DOOR))
                .map_err(|error| format!("{LINE}: {error}"))
        };
        let mut life = connect()?;
        match connect().and_then(|socket| self.start(order, socket)) {
            Ok(launched) => self.inmates.push(Inmate {
                number: order.number,
                launched,
                life,
                killed: false,
            }),
            Err(why) => {
                clear(order.number);
                // A host that has gone needs no reason.
                let _ = life.write_all(&Report::Failed(why).encode());
            }
        }
        Ok(())
    }

    fn start(&mut self, order: &Order, socket: UnixStream) -> Result<Launched, String> {
        let number = order.number;
        let first = !self.recipes.contains_key(&number);
        if first {
            let slot = Slot::new(number, SlotGroup::default(), false)?;
            let recipe = self.recipe(order, &slot);
            self.recipes.insert(number, (recipe, slot));
        }
        make_folder(&root(number))?;
        let socket = moved_up(socket.into()).map_err(|error| format!("its socket: {error}"))?;
        let flags = libc::CLONE_NEWPID
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWNET;
        let (recipe, slot) = &self.recipes[&number];
        slot.reset()?;
        let launched = self.vfork.launch(recipe, flags, socket.as_fd(), None)?;
        if first && let Err(why) = EVIDENCE.check(launched.pid) {
            let _ = pidfd_send_signal(&launched.process, Signal::KILL);
            look(&launched.process, 0);
            return Err(why);
        }
        Ok(launched)
    }

    fn recipe(&self, order: &Order, slot: &Slot) -> Recipe {
        let mut recipe = Recipe::default();
        recipe.begin(slot, self.binary.as_raw_fd());
        recipe.bound(libc::RLIMIT_CORE, crate::cores::NONE);
        recipe.bound(libc::RLIMIT_MEMLOCK, 0);
        recipe.bound(libc::RLIMIT_CPU, order.cpu_s.into());
        recipe.bound(libc::RLIMIT_NOFILE, order.files.into());
        // Its user's, who is no other worker's; the worker itself is counted as root's, who made it.
        let more = order.processes.saturating_sub(1);
        recipe.bound(libc::RLIMIT_NPROC, more.into());
        recipe.bound(libc::RLIMIT_AS, order.memory.saturating_add(RESERVED));
        own_root(&mut recipe, &root(order.number));
        for place in SHOWN
            .iter()
            .map(|name| format!("/{name}"))
            .chain(["/".into()])
        {
            read_only(&mut recipe, &place);
        }
        recipe.become_user(slot.user());
        recipe.call(
            "a namespace of users of its own",
            libc::SYS_unshare,
            &[libc::CLONE_NEWUSER as usize],
        );
        recipe.drop_capabilities();
        recipe.filter(&self.filter);
        recipe.execute(&[]);
        recipe
    }

    /// Say how a worker ended, and take it out.
    fn report(&mut self, place: usize) {
        let mut inmate = self.inmates.swap_remove(place);
        let end =
            look(&inmate.launched.process, 0).map(|(code, status, cpu)| End { code, status, cpu });
        clear(inmate.number);
        if let Some(end) = end {
            let _ = inmate.life.write_all(&Report::Ended(end).encode());
        }
    }
}

/// Addresses that a worker may have beyond its memory: Go's runtime reserves some 600 MB that it never uses.
const RESERVED: u64 = 1 << 30;

const EVIDENCE: Evidence = Evidence {
    filtered: true,
    no_capabilities: true,
    other_user: true,
    namespaces: &["net", "ipc", "uts", "pid", "user"],
};

fn root(number: u32) -> PathBuf {
    Path::new(ROOTS).join(number.to_string())
}

fn clear(number: u32) {
    crate::scratch::take_away(&root(number));
}

/// Make one mount read-only.
fn read_only(recipe: &mut Recipe, place: &str) {
    let (none, place) = (recipe.text(""), recipe.text(place));
    let flags =
        libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV;
    recipe.call(
        "make a mount read-only",
        libc::SYS_mount,
        &[none, place, 0, flags as usize, 0],
    );
}
