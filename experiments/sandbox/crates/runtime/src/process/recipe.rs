//! The steps of a new process before it becomes the binary: system calls, recorded beforehand,
//! since between vfork and exec nothing may be allocated.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use seccompiler::BpfProgram;

use crate::limits::{FILES_MAX, Limits};
use crate::slot::Slot;

/// Number of the worker's socket, which its first argument names.
pub const SOCKET: RawFd = 3;

/// Number of the binary until it is executed: above all that the binary itself can open, and below
/// all that is moved up for its worker.
pub const PROGRAM: RawFd = FILES_MAX as RawFd;

/// A system call and what to say when it fails.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// In words.
    pub what: &'static str,
    pub(super) number: libc::c_long,
    pub(super) arguments: [usize; 6],
}

/// A system call, or where something goes that differs with each worker.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// A system call that is the same for each worker.
    Call(Call),
    /// Moves the worker's end of its socket to [`SOCKET`].
    Socket,
    /// Moves the worker's line to its log to standard error.
    Log,
}

/// Orders, with the memory that they point to.
#[derive(Debug, Default)]
pub struct Recipe {
    orders: Vec<Order>,
    texts: Vec<CString>,
    blocks: Vec<Box<[u64]>>,
    programs: Vec<BpfProgram>,
    descriptors: Vec<OwnedFd>,
}

// SAFETY: what the arguments point to is owned by the recipe and never changed.
unsafe impl Send for Recipe {}

impl Recipe {
    /// The orders.
    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// Add a system call with plain numbers.
    pub fn call(
        &mut self,
        what: &'static str,
        number: libc::c_long,
        arguments: &[usize],
    ) -> &mut Self {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        self.orders.push(Order::Call(Call {
            what,
            number,
            arguments: all,
        }));
        self
    }

    /// The address of a copy of `text` that lives as long as the recipe.
    pub fn text(&mut self, text: &str) -> usize {
        self.texts
            .push(CString::new(text).expect("no zero byte in a path"));
        self.texts.last().map_or(0, |text| text.as_ptr() as usize)
    }

    /// The address of a copy of `words` that lives as long as the recipe.
    pub fn words(&mut self, words: &[u64]) -> usize {
        self.blocks.push(words.into());
        self.blocks
            .last()
            .map_or(0, |block| block.as_ptr() as usize)
    }

    /// Record the first steps of every worker: it enters its slot's groups, begins a session, and
    /// gets its descriptors. These are its socket, the binary, and standard streams that lead
    /// nowhere but to the log.
    pub fn begin(&mut self, slot: &Slot, program: RawFd) -> &mut Self {
        self.begin_logged(slot, program, slot.is_logged())
    }

    /// Record the same, with or without a log.
    pub fn begin_logged(&mut self, slot: &Slot, program: RawFd, is_logged: bool) -> &mut Self {
        let zero = self.text("0");
        for entrance in slot.group.entrances() {
            self.call(
                "enter the control group",
                libc::SYS_write,
                &[entrance as usize, zero, 1],
            );
        }
        self.call("begin a session", libc::SYS_setsid, &[]);
        for stream in 0..3 {
            self.call(
                "close a standard stream",
                libc::SYS_dup3,
                &[slot.null() as usize, stream, 0],
            );
        }
        if is_logged {
            self.orders.push(Order::Log);
        }
        self.orders.push(Order::Socket);
        let cloexec = libc::O_CLOEXEC as usize;
        self.call(
            "take the binary",
            libc::SYS_dup3,
            &[program as usize, PROGRAM as usize, cloexec],
        );
        let rest = (SOCKET + 1) as usize;
        let on_exec = libc::CLOSE_RANGE_CLOEXEC as usize;
        self.call(
            "close other files",
            libc::SYS_close_range,
            &[rest, u32::MAX as usize, on_exec],
        )
    }

    /// Record a start with a socket and a log alone.
    #[cfg(test)]
    pub fn take_socket_and_log(&mut self) {
        self.orders.extend([Order::Log, Order::Socket]);
    }

    /// The limits that are a process's own, besides those that it has from the host.
    pub fn limit(&mut self, limits: &Limits) -> &mut Self {
        let bounds = [
            (libc::RLIMIT_CPU, limits.cpu_s.into()),
            (libc::RLIMIT_MEMLOCK, 0),
            (libc::RLIMIT_MSGQUEUE, 0),
            (libc::RLIMIT_NOFILE, limits.files.into()),
        ];
        for (resource, most) in bounds {
            self.bound(resource, most);
        }
        self
    }

    /// One of these limits.
    pub fn bound(&mut self, resource: libc::__rlimit_resource_t, most: u64) -> &mut Self {
        let both = self.words(&[most, most]);
        self.call(
            "set a limit",
            libc::SYS_prlimit64,
            &[0, resource as usize, both],
        )
    }

    /// Become the slot's user, who has no capability.
    pub fn become_user(&mut self, user: u32) -> &mut Self {
        let user = user as usize;
        self.call("leave all groups", libc::SYS_setgroups, &[0, 0]);
        self.call(
            "become the slot's group",
            libc::SYS_setresgid,
            &[user, user, user],
        );
        self.call(
            "become the slot's user",
            libc::SYS_setresuid,
            &[user, user, user],
        )
    }

    /// Give up all capabilities.
    pub fn drop_capabilities(&mut self) -> &mut Self {
        let header = self.words(&[0x2008_0522]); // _LINUX_CAPABILITY_VERSION_3, this process
        let none = self.words(&[0; 3]);
        self.call("drop capabilities", libc::SYS_capset, &[header, none])
    }

    /// Load a filter of system calls.
    pub fn filter(&mut self, program: &BpfProgram) -> &mut Self {
        self.call(
            "give up new privileges",
            libc::SYS_prctl,
            &[libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0],
        );
        self.programs.push(program.clone());
        let kept = self.programs.last().map_or(&[][..], |kept| &kept[..]);
        // struct sock_fprog: a short, padding, and where the instructions are.
        let head = [kept.len() as u64, kept.as_ptr() as u64];
        let address = self.words(&head);
        self.call(
            "load the filter of system calls",
            libc::SYS_seccomp,
            &[libc::SECCOMP_SET_MODE_FILTER as usize, 0, address],
        )
    }

    /// Keep a descriptor open as long as the recipe; its number.
    pub fn keep(&mut self, descriptor: OwnedFd) -> RawFd {
        self.descriptors.push(descriptor);
        self.descriptors.last().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Record the steps of every worker before it becomes another program: it dies with the host,
    /// and receives signals again.
    fn settle(&mut self) -> &mut Self {
        let kill = libc::SIGKILL as usize;
        self.call(
            "die with the host",
            libc::SYS_prctl,
            &[libc::PR_SET_PDEATHSIG as usize, kill, 0, 0, 0],
        );
        let default = self.words(&[0; 4]);
        self.call(
            "receive signals of broken pipes",
            libc::SYS_rt_sigaction,
            &[libc::SIGPIPE as usize, default, 0, 8],
        );
        let none = self.words(&[0]);
        self.call(
            "receive signals",
            libc::SYS_rt_sigprocmask,
            &[libc::SIG_SETMASK as usize, none, 0, 8],
        )
    }

    /// Record a worker's last step: it becomes the binary, with these variables in its environment.
    pub fn execute(&mut self, variables: &[&str]) -> &mut Self {
        self.settle();
        let (name, socket, empty) = (
            self.text("udf"),
            self.text(&SOCKET.to_string()),
            self.text(""),
        );
        let arguments = self.words(&[name as u64, socket as u64, 0]);
        let mut words: Vec<u64> = variables
            .iter()
            .map(|each| self.text(each) as u64)
            .collect();
        words.push(0);
        let environment = self.words(&words);
        self.call(
            "execute the binary",
            libc::SYS_execveat,
            &[
                PROGRAM as usize,
                empty,
                arguments,
                environment,
                libc::AT_EMPTY_PATH as usize,
            ],
        )
    }

    /// Record a worker's last step when another program runs the binary: it becomes the program
    /// `file`.
    pub fn execute_file(&mut self, file: &str, arguments: &[String]) -> &mut Self {
        self.settle();
        let path = self.text(file);
        let mut words = vec![path as u64];
        for argument in arguments {
            words.push(self.text(argument) as u64);
        }
        words.push(0);
        let variable = self.text("PATH=/usr/sbin:/usr/bin:/sbin:/bin") as u64;
        let (arguments, environment) = (self.words(&words), self.words(&[variable, 0]));
        self.call(
            "execute the container's program",
            libc::SYS_execve,
            &[path, arguments, environment],
        )
    }
}
