//! WASI preview 1, as much of it as a function needs: its line, time, random numbers, and its end.
//! Whatever names a file, a socket or another process is there and refuses, so that a C library
//! which might use it can be linked. Layouts and numbers are those of
//! https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.

use std::fmt;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_getres, clock_gettime};
use wasmtime::{Caller, Linker, Module, Val};

use super::line::{Host, Line, UNHEARD, Wait};
use crate::loaded::lock;

/// What all its functions are imported from.
pub const MODULE: &str = "wasi_snapshot_preview1";

const LINE: i32 = 3;
/// Descriptors before it: reading finds the end, what is written is nobody's.
const STREAMS: std::ops::Range<i32> = 0..LINE;
/// The most that one call waits for, or names buffers.
const PLACES: u32 = 1024;
/// The most random bytes at once.
const RANDOM: u32 = 1 << 20;

/// What a function answers: 0 or why not.
type Errno = i32;
const SUCCESS: Errno = 0;
const BADF: Errno = 8;
const FAULT: Errno = 21;
const INVAL: Errno = 28;
const SPIPE: Errno = 70;
const NOTCAPABLE: Errno = 76;

/// Functions that are there and refuse.
const REFUSED: &[&str] = &[
    "fd_advise",
    "fd_allocate",
    "fd_datasync",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_pwrite",
    "fd_readdir",
    "fd_renumber",
    "fd_sync",
    "fd_tell",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "proc_raise",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
];

/// A guest ended itself, with this code.
#[derive(Debug)]
pub struct Exit(pub i32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Defines the functions that do something.
///
/// # Errors
///
/// The engine's.
pub fn offer(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    describe_itself(linker)?;
    tell_time(linker)?;
    linker.func_wrap(MODULE, "random_get", random_get)?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "proc_exit", |code: i32| -> wasmtime::Result<()> {
        Err(Exit(code).into())
    })?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BADF)?;
    linker.func_wrap(MODULE, "fd_seek", |_: i32, _: i64, _: i32, _: i32| SPIPE)?;
    linker.func_wrap(MODULE, "fd_close", fd_close)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", fd_fdstat_get)?;
    linker.func_wrap_async(MODULE, "fd_read", |guest, (fd, list, count, done)| {
        Box::new(async move { fd_read(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(MODULE, "fd_write", |guest, (fd, list, count, done)| {
        Box::new(async move { fd_write(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(
        MODULE,
        "poll_oneoff",
        |guest, (asked, told, count, done)| {
            Box::new(async move { poll_oneoff(guest, asked, told, count, done).await })
        },
    )?;
    Ok(())
}

/// Defines those that refuse, as far as `module` imports them.
///
/// # Errors
///
/// What else it imports, in words: it would never run.
pub fn refuse_the_rest(linker: &mut Linker<Host>, module: &Module) -> Result<(), String> {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        let refused = from == MODULE && REFUSED.contains(&name);
        let whole = import.ty();
        match whole.func() {
            Some(kind) if refused && kind.results().map(|each| each.is_i32()).eq([true]) => {
                linker.allow_shadowing(true);
                linker
                    .func_new(from, name, kind.clone(), |_, _, results| {
                        results[0] = Val::I32(NOTCAPABLE);
                        Ok(())
                    })
                    .map_err(|error| format!("{error:#}"))?;
                linker.allow_shadowing(false);
            }
            Some(_) if from == MODULE && !refused => {}
            _ => {
                return Err(format!(
                    "it imports {from}.{name}, which is not offered; only functions of WASI preview 1 are"
                ));
            }
        }
    }
    Ok(())
}

/// The guest's memory, its line, and where in the memory nothing lies: an error that says so.
struct View<'a> {
    memory: &'a mut [u8],
    host: &'a mut Host,
}

impl<'a> View<'a> {
    fn of(guest: &'a mut Caller<'_, Host>) -> Result<Self, Errno> {
        let memory = guest.data().memory.ok_or(FAULT)?;
        let (memory, host) = memory.data_and_store_mut(guest);
        Ok(View { memory, host })
    }

    fn bytes(&mut self, at: u32, length: u32) -> Result<&mut [u8], Errno> {
        let (at, length) = (at as usize, length as usize);
        self.memory.get_mut(at..at + length).ok_or(FAULT)
    }

    fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Errno> {
        self.bytes(at, bytes.len() as u32)?.copy_from_slice(bytes);
        Ok(())
    }

    fn number<const SIZE: usize>(&mut self, at: u32) -> Result<u64, Errno> {
        let mut wide = [0; 8];
        wide[..SIZE].copy_from_slice(self.bytes(at, SIZE as u32)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// The buffers that a list names: where, and how long.
    fn buffers(&mut self, list: i32, count: i32) -> Result<Vec<(u32, u32)>, Errno> {
        let (list, count) = (list as u32, count as u32);
        if count > PLACES {
            return Err(INVAL);
        }
        (0..count)
            .map(|index| {
                let at = list.checked_add(index * 8).ok_or(FAULT)?;
                let length = at.checked_add(4).ok_or(FAULT)?;
                Ok((
                    self.number::<4>(at)? as u32,
                    self.number::<4>(length)? as u32,
                ))
            })
            .collect()
    }
}

fn errno(done: Result<(), Errno>) -> Errno {
    done.err().unwrap_or(SUCCESS)
}

/// Its arguments are its name and the number of its line; its environment is empty.
fn describe_itself(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    const ARGUMENTS: &[u8] = b"udf\x003\x00";
    linker.func_wrap(
        MODULE,
        "args_sizes_get",
        |mut guest: Caller<'_, Host>, count: i32, size: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                view.put(count as u32, &2u32.to_le_bytes())?;
                view.put(size as u32, &(ARGUMENTS.len() as u32).to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "args_get",
        |mut guest: Caller<'_, Host>, list: i32, text: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let (list, text) = (list as u32, text as u32);
                let second = list.checked_add(4).ok_or(FAULT)?;
                view.put(text, ARGUMENTS)?;
                view.put(list, &text.to_le_bytes())?;
                view.put(second, &(text + 4).to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "environ_sizes_get",
        |mut guest: Caller<'_, Host>, count: i32, size: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                view.put(count as u32, &[0; 4])?;
                view.put(size as u32, &[0; 4])
            }))
        },
    )?;
    linker.func_wrap(MODULE, "environ_get", |_: i32, _: i32| SUCCESS)?;
    Ok(())
}

fn tell_time(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let nanoseconds = |time: rustix::time::Timespec| {
        (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64
    };
    linker.func_wrap(
        MODULE,
        "clock_res_get",
        move |mut guest: Caller<'_, Host>, which: i32, at: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let fine = nanoseconds(clock_getres(clock(which)?));
                view.put(at as u32, &fine.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        move |mut guest: Caller<'_, Host>, which: i32, _: i64, at: i32| {
            errno(View::of(&mut guest).and_then(|mut view| {
                let now = nanoseconds(clock_gettime(clock(which)?));
                view.put(at as u32, &now.to_le_bytes())
            }))
        },
    )?;
    Ok(())
}

fn clock(number: i32) -> Result<ClockId, Errno> {
    match number {
        0 => Ok(ClockId::Realtime),
        1 => Ok(ClockId::Monotonic),
        _ => Err(INVAL),
    }
}

/// At most as many as take less than a tick, since nothing interrupts it.
fn random_get(mut guest: Caller<'_, Host>, at: i32, length: i32) -> Errno {
    if length as u32 > RANDOM {
        return INVAL;
    }
    errno(View::of(&mut guest).and_then(|mut view| {
        for piece in view.bytes(at as u32, length as u32)?.chunks_mut(256) {
            // SAFETY: the piece is as long as it says. Up to 256 bytes always come whole.
            unsafe { libc::getrandom(piece.as_mut_ptr().cast(), piece.len(), 0) };
        }
        Ok(())
    }))
}

fn fd_close(guest: Caller<'_, Host>, fd: i32) -> Errno {
    if fd == LINE {
        lock(&guest.data().line).closed = true;
    }
    if fd == LINE || STREAMS.contains(&fd) {
        SUCCESS
    } else {
        BADF
    }
}

fn fd_fdstat_get(mut guest: Caller<'_, Host>, fd: i32, at: i32) -> Errno {
    const CHARACTERS: u8 = 2;
    const STREAM: u8 = 6;
    let kind = match fd {
        LINE => STREAM,
        fd if STREAMS.contains(&fd) => CHARACTERS,
        _ => return BADF,
    };
    // Its rights: to read and to write.
    let (mut made, rights) = ([0; 24], (1u64 << 1 | 1 << 6).to_le_bytes());
    made[0] = kind;
    made[8..16].copy_from_slice(&rights);
    errno(View::of(&mut guest).and_then(|mut view| view.put(at as u32, &made)))
}

/// Lets whoever runs the guest go on, and comes back when he lets it run again.
async fn wait(guest: &Caller<'_, Host>, what: Wait) {
    lock(&guest.data().line).waits = Some(what);
    let mut been = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut been, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

async fn fd_read(mut guest: Caller<'_, Host>, fd: i32, list: i32, count: i32, done: i32) -> Errno {
    if fd == LINE {
        while lock(&guest.data().line).unread().is_empty() {
            let input = Wait {
                input: true,
                ..Wait::default()
            };
            wait(&guest, input).await;
        }
    }
    errno(View::of(&mut guest).and_then(|mut view| {
        let mut total = 0u32;
        for (at, length) in view.buffers(list, count)? {
            let line = view.host.line.clone();
            let buffer = view.bytes(at, length)?;
            let more = match fd {
                LINE => take(&mut lock(&line), buffer),
                fd if STREAMS.contains(&fd) => 0,
                _ => return Err(BADF),
            };
            total = total.saturating_add(more);
        }
        view.put(done as u32, &total.to_le_bytes())
    }))
}

fn take(line: &mut Line, buffer: &mut [u8]) -> u32 {
    let unread = line.unread();
    let count = unread.len().min(buffer.len());
    buffer[..count].copy_from_slice(&unread[..count]);
    line.read += count;
    count as u32
}

async fn fd_write(mut guest: Caller<'_, Host>, fd: i32, list: i32, count: i32, done: i32) -> Errno {
    if fd == LINE {
        while lock(&guest.data().line).output.len() >= UNHEARD {
            let hearing = Wait {
                hearing: true,
                ..Wait::default()
            };
            wait(&guest, hearing).await;
        }
    }
    errno(View::of(&mut guest).and_then(|mut view| {
        let mut total = 0u32;
        for (at, length) in view.buffers(list, count)? {
            let line = view.host.line.clone();
            let mut line = lock(&line);
            let buffer = view.bytes(at, length)?;
            let more = match fd {
                LINE if line.closed => return Err(BADF),
                LINE => {
                    let room = UNHEARD.saturating_sub(line.output.len());
                    let taken = &buffer[..buffer.len().min(room)];
                    line.output.extend_from_slice(taken);
                    taken.len() as u32
                }
                fd if STREAMS.contains(&fd) => length,
                _ => return Err(BADF),
            };
            total = total.saturating_add(more);
        }
        view.put(done as u32, &total.to_le_bytes())
    }))
}

/// What a guest asks to be told of.
enum Event {
    Moment(Instant),
    Input,
    Output,
    Nothing(Errno),
}

struct Asked {
    name: u64,
    kind: u8,
    event: Event,
}

/// Waits until one of the events has happened; tells of all that have.
async fn poll_oneoff(
    mut guest: Caller<'_, Host>,
    asked: i32,
    told: i32,
    count: i32,
    done: i32,
) -> Errno {
    let events = match View::of(&mut guest).and_then(|mut view| {
        (0..count as u32)
            .map(|index| ask(&mut view, asked, index))
            .collect()
    }) {
        Ok::<Vec<Asked>, _>(events) if (1..=PLACES as i32).contains(&count) => events,
        Ok(_) => return INVAL,
        Err(errno) => return errno,
    };
    loop {
        let happened: Vec<&Asked> = {
            let line = lock(&guest.data().line);
            let has = |each: &&Asked| match each.event {
                Event::Moment(due) => due <= Instant::now(),
                Event::Input => !line.unread().is_empty(),
                Event::Output | Event::Nothing(_) => true,
            };
            events.iter().filter(has).collect()
        };
        if !happened.is_empty() {
            return errno(View::of(&mut guest).and_then(|mut view| {
                for (index, each) in happened.iter().enumerate() {
                    let at = (told as u32).checked_add(index as u32 * 32).ok_or(FAULT)?;
                    view.put(at, &answer(each))?;
                }
                view.put(done as u32, &(happened.len() as u32).to_le_bytes())
            }));
        }
        let moments = events.iter().filter_map(|each| match each.event {
            Event::Moment(due) => Some(due),
            _ => None,
        });
        let what = Wait {
            input: events.iter().any(|each| matches!(each.event, Event::Input)),
            until: moments.min(),
            ..Wait::default()
        };
        wait(&guest, what).await;
    }
}

fn ask(view: &mut View<'_>, asked: i32, index: u32) -> Result<Asked, Errno> {
    if index >= PLACES {
        return Err(INVAL);
    }
    let at = (asked as u32).checked_add(index * 48).ok_or(FAULT)?;
    view.bytes(at, 48)?;
    let kind = view.number::<1>(at + 8)? as u8;
    let which = view.number::<4>(at + 16)? as i32;
    let event = match kind {
        0 => {
            let (time, absolute) = (
                view.number::<8>(at + 24)?,
                view.number::<2>(at + 40)? & 1 == 1,
            );
            moment(which, Duration::from_nanos(time), absolute)
                .map_or_else(Event::Nothing, Event::Moment)
        }
        1 if which == LINE => Event::Input,
        2 if which == LINE => Event::Output,
        1 | 2 => Event::Nothing(BADF),
        _ => return Err(INVAL),
    };
    Ok(Asked {
        name: view.number::<8>(at)?,
        kind,
        event,
    })
}

fn moment(which: i32, time: Duration, absolute: bool) -> Result<Instant, Errno> {
    let now = clock_gettime(clock(which)?);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let left = if absolute {
        time.saturating_sub(now)
    } else {
        time
    };
    // Nobody waits as long as the clock cannot count.
    let far = Duration::from_secs(1 << 32);
    Ok(Instant::now() + left.min(far))
}

fn answer(asked: &Asked) -> [u8; 32] {
    let mut made = [0; 32];
    made[..8].copy_from_slice(&asked.name.to_le_bytes());
    if let Event::Nothing(errno) = asked.event {
        made[8..10].copy_from_slice(&(errno as u16).to_le_bytes());
    }
    made[10] = asked.kind;
    made
}
