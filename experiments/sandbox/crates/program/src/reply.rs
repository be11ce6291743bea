//! Sends replies to clients that may read them slowly, or not at all.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// A reply of which a part may have been sent.
pub struct Reply<'a> {
    socket: BorrowedFd<'a>,
    frame: Vec<u8>,
    sent: usize,
}

impl<'a> Reply<'a> {
    /// Begin with an encoded frame.
    pub fn new(socket: BorrowedFd<'a>, frame: Vec<u8>) -> Self {
        Reply {
            socket,
            frame,
            sent: 0,
        }
    }

    /// Send what the socket takes without waiting. Return true if that is all.
    ///
    /// # Errors
    ///
    /// The kernel's, when the client is gone.
    pub fn send_at_once(&mut self) -> io::Result<bool> {
        while self.sent < self.frame.len() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(self.socket, &self.frame[self.sent..], flags) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Send what is left, for which the client has so long.
    ///
    /// # Errors
    ///
    /// When the client is gone, or has not read all in time.
    pub fn send_within(mut self, patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        while !self.send_at_once()? {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut waited = [PollFd::from_borrowed_fd(self.socket, PollFlags::OUT)];
            match poll(&mut waited, Some(&timeout)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    const LONG: usize = 1 << 22;

    #[test]
    fn a_client_that_reads_gets_all() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let client = std::thread::spawn(move || {
            let mut got = Vec::new();
            there.read_to_end(&mut got).map(|_| got)
        });
        let mut reply = Reply::new(here.as_fd(), vec![7; LONG]);
        let _ = reply.send_at_once().unwrap();
        reply.send_within(Duration::from_secs(60)).unwrap();
        drop(here);
        assert_eq!(client.join().unwrap().unwrap(), vec![7; LONG]);
    }

    #[test]
    fn a_client_that_does_not_read_is_given_up() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut reply = Reply::new(here.as_fd(), vec![7; LONG]);
        assert!(!reply.send_at_once().unwrap());
        let given_up = reply.send_within(Duration::from_millis(1)).unwrap_err();
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        drop(there);
        assert!(Reply::new(here.as_fd(), vec![7]).send_at_once().is_err());
    }
}
