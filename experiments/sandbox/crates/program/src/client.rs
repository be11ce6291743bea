//! The commands that talk to a daemon.

use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::protocol::{Ask, Line, Reply, Request, Response, Say};

/// Asks the daemon at `socket`; its answer, refusals turned into errors.
fn ask(socket: &Path, ask: Ask) -> Result<Say> {
    let stream = UnixStream::connect(socket).with_context(|| {
        format!(
            "{}: no sandbox answers; start one with `tare-sandbox serve`",
            socket.display()
        )
    })?;
    let mut line = Line::new(stream);
    line.say(&Request { ask: Some(ask) })?;
    match line.hear::<Reply>()?.and_then(|reply| reply.say) {
        Some(Say::Refusal(refusal)) => bail!("{}: {}", refusal.kind, refusal.message),
        Some(say) => Ok(say),
        None => bail!("the sandbox closed the connection without an answer"),
    }
}

/// Asks for something to be done.
pub fn done(socket: &Path, what: Ask) -> Result<()> {
    match ask(socket, what)? {
        Say::Done(_) => Ok(()),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}

/// Makes a call.
pub fn call(socket: &Path, call: crate::protocol::Call) -> Result<Response> {
    match ask(socket, Ask::Call(call))? {
        Say::Response(response) => Ok(response),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}

/// Asks for the statistics, in JSON.
pub fn stats(socket: &Path) -> Result<String> {
    match ask(socket, Ask::Stats(true))? {
        Say::Stats(stats) => Ok(stats),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}
