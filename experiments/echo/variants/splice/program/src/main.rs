//! Bytes go through a pipe that holds references to the kernel's pages: nothing is copied to user
//! space.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use echo_server::mover::{Mover, State};
use echo_server::readiness::{self, Trigger};
use echo_server::{Counters, Moved, Options, serve};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};

/// Most bytes moved at once: what a pipe holds.
const PIECE: usize = 64 << 10;

/// An echo server and relay that moves bytes through pipes with splice(2).
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let options = Cli::parse().options;
    serve(
        "splice",
        &options,
        |thread| readiness::work(thread, Pipes, Trigger::Level),
        || Ok(Moved::default()),
    )
}

struct Pipes;

/// A pipe, and the bytes in it.
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    held: usize,
}

impl Mover for Pipes {
    type Flow = Pipe;

    fn flow(&mut self) -> Result<Pipe> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Pipe { out, into, held: 0 })
    }

    fn pump(
        &mut self,
        pipe: &mut Pipe,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        if pipe.held == 0 {
            counters.called();
            pipe.held = match splice(from, None, &pipe.into, None, PIECE, flags) {
                Ok(0) => return Ok(State::Ended),
                Ok(count) => count,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(State::Reading),
                Err(error) => return Err(error),
            };
            counters.forwarded(pipe.held);
        }
        counters.called();
        match splice(&pipe.out, None, to, None, pipe.held, flags) {
            Ok(count) => pipe.held -= count,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(if pipe.held == 0 {
            State::Moved
        } else {
            State::Blocked
        })
    }
}
