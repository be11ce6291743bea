//! Functions that a sandbox runs. `main` calls [`serve`] with the function, which gets the request's
//! bytes and returns the response's:
//!
//! ```no_run
//! tare_udf::serve(|request, _| request.to_vec());
//! ```
//!
//! The wire: the first argument is the number of a socket. The function says one byte when it is
//! ready, reads its request, a length as a varint and then the bytes, writes its response likewise,
//! and ends. Where it is offered shared memory it says so with another byte, and gets the request and
//! room for the response as two files of memory.

pub mod message;
#[cfg(target_os = "linux")]
mod shared;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::os::fd::FromRawFd;

use message::{Fields, Writer};

const CALLBACK: &str = "type.googleapis.com/privacy_sandbox.server_common.byob.Callback";
const RESPONSE: &str = "type.googleapis.com/tare.Response";
const IN_MEMORY: &str = "type.googleapis.com/tare.InMemory";
/// In the environment of who may share memory with the host.
const OFFER: &str = "TARE_SHARED";

/// The host at the other end of the socket.
#[derive(Debug)]
pub struct Host {
    /// Read ahead, so that a small message takes one system call.
    socket: BufReader<File>,
    /// Messages are wrapped in Any, as they are where callbacks are allowed.
    wrapped: bool,
    /// The memory for the response, unless it goes over the socket.
    memory: Option<File>,
}

/// A request's bytes, wherever they are.
enum Request {
    OverSocket(Vec<u8>),
    #[cfg(target_os = "linux")]
    InMemory(shared::Mapped),
}

impl Deref for Request {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Request::OverSocket(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Request::InMemory(mapped) => mapped,
        }
    }
}

/// Serve one call with `function`, and returns when the response is written.
///
/// # Panics
///
/// When the sandbox does not speak the wire, or is gone.
pub fn serve(function: impl FnOnce(&[u8], &mut Host) -> Vec<u8>) {
    let number = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let number = number.expect("the number of a socket as the first argument");
    // SAFETY: the sandbox opened it for this process alone.
    let socket = unsafe { File::from_raw_fd(number) };
    let mut host = Host {
        socket: BufReader::new(socket),
        wrapped: false,
        memory: None,
    };
    let offered = cfg!(target_os = "linux") && std::env::var_os(OFFER).is_some();
    let ready = if offered { b"S" } else { b"R" };
    host.socket.get_mut().write_all(ready).expect("a host");
    let request = if offered {
        host.take_memory()
    } else {
        host.recv().map(Request::OverSocket)
    };
    let response = function(&request.expect("a request"), &mut host);
    host.answer(&response)
        .expect("a host that waits for the response");
}

impl Host {
    /// Call the host's function `name`; none when the host has none, or refuses.
    ///
    /// # Errors
    ///
    /// When the host is gone.
    pub fn call(&mut self, name: &str, input: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.wrapped = true;
        let callback = Writer::default()
            .bytes(1, name.as_bytes())
            .bytes(2, &Writer::default().bytes(4, input).done());
        let any = Writer::default()
            .bytes(1, CALLBACK.as_bytes())
            .bytes(2, &callback.done());
        self.send(&any.done())?;
        let answer = self.recv()?;
        let io = Fields::new(&answer).bytes(2).unwrap_or_default();
        Ok(Fields::new(io).bytes(8).map(<[u8]>::to_vec))
    }

    #[cfg(target_os = "linux")]
    fn take_memory(&mut self) -> io::Result<Request> {
        let (request, response) = shared::take(self.socket.get_ref())?;
        self.memory = Some(response);
        Ok(Request::InMemory(request))
    }

    #[cfg(not(target_os = "linux"))]
    fn take_memory(&mut self) -> io::Result<Request> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn answer(&mut self, response: &[u8]) -> io::Result<()> {
        if let Some(mut memory) = self.memory.take() {
            // One for which there is no room is not written: the host will refuse its length.
            if memory.seek(SeekFrom::End(0))? >= response.len() as u64 {
                memory.rewind()?;
                memory.write_all(response)?;
            }
            let length = Writer::default().number(1, response.len() as u64);
            let any = Writer::default()
                .bytes(1, IN_MEMORY.as_bytes())
                .bytes(2, &length.done());
            return self.send(&any.done());
        }
        if self.wrapped {
            let any = Writer::default()
                .bytes(1, RESPONSE.as_bytes())
                .bytes(2, response);
            return self.send(&any.done());
        }
        self.send(response)
    }

    fn send(&mut self, body: &[u8]) -> io::Result<()> {
        let mut whole = Vec::with_capacity(body.len() + 5);
        message::varint(body.len() as u64, &mut whole);
        whole.extend_from_slice(body);
        self.socket.get_mut().write_all(&whole)
    }

    fn recv(&mut self) -> io::Result<Vec<u8>> {
        let (mut length, mut digit) = (0usize, [0x80u8]);
        for shift in (0..35).step_by(7) {
            if digit[0] & 0x80 == 0 {
                break;
            }
            self.socket.read_exact(&mut digit)?;
            length |= usize::from(digit[0] & 0x7f) << shift;
        }
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body)?;
        Ok(body)
    }
}
