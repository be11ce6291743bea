//! The commands that talk to a daemon.

use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::protocol::{Ask, Line, Reply, Request, Response, Say, framed};

/// A connection to a daemon.
pub struct Client(Line<UnixStream>);

impl Client {
    /// To the daemon at `socket`.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).with_context(|| {
            format!(
                "{}: no sandbox answers; start one with `tare-sandbox serve`",
                socket.display()
            )
        })?;
        Ok(Client(Line::new(stream)))
    }

    /// Asks; the answer, refusals turned into errors.
    pub fn ask(&mut self, ask: Ask) -> Result<Say> {
        self.send(&framed(&Request { ask: Some(ask) }))
    }

    /// As [`Client::ask`], with a request that is a frame already.
    pub fn send(&mut self, request: &[u8]) -> Result<Say> {
        self.0.send(request)?;
        match self.0.hear::<Reply>()?.and_then(|reply| reply.say) {
            Some(Say::Refusal(refusal)) => bail!("{}: {}", refusal.kind, refusal.message),
            Some(say) => Ok(say),
            None => bail!("the sandbox closed the connection without an answer"),
        }
    }
}

/// Asks for something to be done.
pub fn done(socket: &Path, what: Ask) -> Result<()> {
    match Client::connect(socket)?.ask(what)? {
        Say::Done(_) => Ok(()),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}

/// Makes a call.
pub fn call(socket: &Path, call: crate::protocol::Call) -> Result<Response> {
    match Client::connect(socket)?.ask(Ask::Call(call))? {
        Say::Response(response) => Ok(response),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}

/// Asks for the statistics, in JSON.
pub fn stats(socket: &Path, anew: bool) -> Result<String> {
    match Client::connect(socket)?.ask(Ask::Stats(anew))? {
        Say::Stats(stats) => Ok(stats),
        other => bail!("an answer that was not expected: {other:?}"),
    }
}
