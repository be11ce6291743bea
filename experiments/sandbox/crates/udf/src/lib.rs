//! Functions that a sandbox runs. `main` calls [`serve`] with the function, which gets the request's
//! bytes and returns the response's:
//!
//! ```no_run
//! tare_udf::serve(|request, _| request.to_vec());
//! ```
//!
//! The wire: the first argument is the number of a socket. The function says one byte when it is
//! ready, reads its request, a length as a varint and then the bytes, writes its response likewise,
//! and ends.

pub mod message;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;

use message::{Fields, Writer};

const CALLBACK: &str = "type.googleapis.com/privacy_sandbox.server_common.byob.Callback";
const RESPONSE: &str = "type.googleapis.com/tare.Response";

/// The host at the other end of the socket.
#[derive(Debug)]
pub struct Host {
    socket: File,
    /// Messages are wrapped in Any, as they are where callbacks are allowed.
    wrapped: bool,
}

/// Serves one call with `function`, and returns when the response is written.
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
        socket,
        wrapped: false,
    };
    host.socket.write_all(b"R").expect("a host");
    let request = host.hear().expect("a request");
    let response = function(&request, &mut host);
    host.answer(&response)
        .expect("a host that waits for the response");
}

impl Host {
    /// Calls the host's function `name`; none when the host has none, or refuses.
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
        self.say(&any.done())?;
        let answer = self.hear()?;
        let io = Fields::new(&answer).bytes(2).unwrap_or_default();
        Ok(Fields::new(io).bytes(8).map(<[u8]>::to_vec))
    }

    fn answer(&mut self, response: &[u8]) -> io::Result<()> {
        if self.wrapped {
            let any = Writer::default()
                .bytes(1, RESPONSE.as_bytes())
                .bytes(2, response);
            return self.say(&any.done());
        }
        self.say(response)
    }

    fn say(&mut self, body: &[u8]) -> io::Result<()> {
        let mut whole = Vec::with_capacity(body.len() + 5);
        message::varint(body.len() as u64, &mut whole);
        whole.extend_from_slice(body);
        self.socket.write_all(&whole)
    }

    fn hear(&mut self) -> io::Result<Vec<u8>> {
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
