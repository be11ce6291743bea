//! WASI preview 1, as much of it as a function needs: its channel, time, random numbers, and its end.
//! Whatever names a file, a socket or another process is there and refuses, so that a C library
//! which might use it can be linked. Layouts and numbers are those of
//! https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.

mod own;
mod poll;
mod stream;
mod view;

use std::fmt;

use wasmtime::{Linker, Module, Val};

use self::view::{BADF, NOTCAPABLE, SPIPE, SUCCESS};
use super::channel::Host;

pub use self::view::MODULE;

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
    own::describe_itself(linker)?;
    own::offer_time(linker)?;
    linker.func_wrap(MODULE, "random_get", own::random_get)?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "proc_exit", |code: i32| -> wasmtime::Result<()> {
        Err(Exit(code).into())
    })?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BADF)?;
    linker.func_wrap(MODULE, "fd_seek", |_: i32, _: i64, _: i32, _: i32| SPIPE)?;
    linker.func_wrap(MODULE, "fd_close", stream::fd_close)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", stream::fd_fdstat_get)?;
    linker.func_wrap_async(MODULE, "fd_read", |guest, (fd, list, count, done)| {
        Box::new(async move { stream::fd_read(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(MODULE, "fd_write", |guest, (fd, list, count, done)| {
        Box::new(async move { stream::fd_write(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(
        MODULE,
        "poll_oneoff",
        |guest, (subscriptions, events, count, done)| {
            Box::new(
                async move { poll::poll_oneoff(guest, subscriptions, events, count, done).await },
            )
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
