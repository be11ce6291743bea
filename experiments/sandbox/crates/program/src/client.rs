//! The commands that talk to a daemon.

use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use crate::peer;
use crate::protocol::{Action, Answer, Call, Channel, Reply, Request, Response, framed};

/// A connection to a daemon.
pub struct Client(Channel);

impl Client {
    /// To the daemon at `socket`, of root, of this user or of `another`.
    pub fn connect(socket: &Path, another: Option<u32>) -> Result<Self> {
        let stream = UnixStream::connect(socket).with_context(|| {
            format!(
                "{}: no sandbox answers; start one with `tare-sandbox serve`",
                socket.display()
            )
        })?;
        peer::check(&stream, another).map_err(|why| {
            anyhow!(
                "{}: {why}; name the user with --daemon-user if the daemon is that user's",
                socket.display()
            )
        })?;
        Ok(Client(Channel::new(stream)))
    }

    /// Send a request and return the answer. A refusal is an error.
    pub fn request(&mut self, action: Action) -> Result<Answer> {
        self.send_frame(&framed(&Request {
            action: Some(action),
        }))
    }

    /// Like [`Client::request`], with a request that is a frame already.
    pub fn send_frame(&mut self, request: &[u8]) -> Result<Answer> {
        self.0.send_frame(request)?;
        match self
            .0
            .recv::<Reply>(None, |_| true)?
            .and_then(|reply| reply.answer)
        {
            Some(Answer::Refusal(refusal)) => bail!("{}: {}", refusal.kind, refusal.message),
            Some(answer) => Ok(answer),
            None => bail!("the sandbox closed the connection without an answer"),
        }
    }

    /// Have something done.
    pub fn act(&mut self, action: Action) -> Result<()> {
        match self.request(action)? {
            Answer::Done(_) => Ok(()),
            other => bail!("an answer that was not expected: {other:?}"),
        }
    }

    /// Make a call.
    pub fn call(&mut self, call: Call) -> Result<Response> {
        match self.request(Action::Call(call))? {
            Answer::Response(response) => Ok(response),
            other => bail!("an answer that was not expected: {other:?}"),
        }
    }

    /// Return the statistics, in JSON.
    pub fn stats(&mut self, anew: bool) -> Result<String> {
        match self.request(Action::Stats(anew))? {
            Answer::Stats(stats) => Ok(stats),
            other => bail!("an answer that was not expected: {other:?}"),
        }
    }
}
