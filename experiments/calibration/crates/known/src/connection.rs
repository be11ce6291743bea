//! One client: its bytes until they are requests, and answers until the client takes them.

use std::net::TcpStream;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::account::thread_cpu_ns;
use crate::burden::Burden;
use crate::request::{HEAD_MAX, Request, first};

/// Answers to `/`, right and wrong.
const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
const WRONG: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
const OTHER: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const BAD: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The next step of the server with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for bytes.
    Read,
    /// Wait until the client takes bytes.
    Write,
    /// Forget it.
    Close,
}

/// A connection and what is in flight on it.
#[derive(Debug)]
pub struct Connection {
    /// Its socket.
    pub stream: TcpStream,
    received: Vec<u8>,
    unsent: Vec<u8>,
    ends: bool,
}

impl Connection {
    /// A fresh connection.
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
            unsent: Vec::new(),
            ends: false,
        }
    }

    /// Read what came, answer all whole requests, and send as much as the client takes.
    pub fn serve(&mut self, burden: &mut Burden) -> Next {
        if self.unsent.is_empty() && !self.ends {
            let mut buffer = [0; 16384];
            match recv(&self.stream, &mut buffer, RecvFlags::empty()) {
                Ok((0, _)) => return Next::Close,
                Ok((count, _)) => self.received.extend_from_slice(&buffer[..count]),
                Err(Errno::AGAIN | Errno::INTR) => return Next::Read,
                Err(_) => return Next::Close,
            }
            self.answer(burden);
        }
        self.send()
    }

    fn answer(&mut self, burden: &mut Burden) {
        let mut done = 0;
        while let Some((request, length)) = first(&self.received[done..]) {
            done += length;
            match request {
                Request::Root => {
                    self.unsent
                        .extend_from_slice(if burden.pay() { RIGHT } else { WRONG });
                }
                Request::Account => {
                    let body = burden.account.to_json(thread_cpu_ns());
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                    self.unsent.extend_from_slice(head.as_bytes());
                    self.unsent.extend_from_slice(body.as_bytes());
                }
                Request::Other => self.unsent.extend_from_slice(OTHER),
                Request::Bad => self.refuse(),
            }
            if self.ends {
                break;
            }
        }
        self.received.drain(..done);
        if self.received.len() > HEAD_MAX && !self.ends {
            self.refuse();
        }
    }

    fn refuse(&mut self) {
        self.unsent.extend_from_slice(BAD);
        self.ends = true;
    }

    fn send(&mut self) -> Next {
        while !self.unsent.is_empty() {
            match send(&self.stream, &self.unsent, SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::AGAIN) => return Next::Write,
                Err(Errno::INTR) => {}
                Err(_) => return Next::Close,
            }
        }
        if self.ends { Next::Close } else { Next::Read }
    }
}
