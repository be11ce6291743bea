//! A listener that takes one client after the other, on a thread of its own.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Pause after a client that could not be taken, for instance since no descriptor is left: it stays in
/// the backlog, so that a poll would return at once.
const PAUSE: Duration = Duration::from_millis(100);

/// A thread that takes clients until it is dropped.
pub struct Listener {
    address: SocketAddr,
    /// The thread ends when this is closed.
    lives: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// The thing that the thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Client,
    PauseEnd,
}

impl Listener {
    /// Call `serve` with each client that connects to `address`.
    ///
    /// # Errors
    /// When the address is not free.
    pub fn new(
        address: SocketAddr,
        serve: impl Fn(TcpStream) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (lives, ends) = UnixStream::pair()?;
        let run = move || {
            let wait = |next| wait(&listener, &ends, next);
            take(wait, || Ok(listener.accept()?.0), serve);
        };
        let thread = thread::Builder::new().name("listener".into()).spawn(run)?;
        Ok(Listener {
            address,
            lives: Some(lives),
            thread: Some(thread),
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.lives.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serve the clients that `accept` returns, until `wait` returns false. After one that cannot be taken
/// there is a pause.
fn take(
    mut wait: impl FnMut(Next) -> bool,
    mut accept: impl FnMut() -> io::Result<TcpStream>,
    serve: impl Fn(TcpStream),
) {
    while wait(Next::Client) {
        match accept() {
            Ok(client) => serve(client),
            // It has gone meanwhile.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                if !wait(Next::PauseEnd) {
                    return;
                }
            }
        }
    }
}

/// Wait for what is `next`; return false once `ends` has been closed on its other side.
fn wait(listener: &TcpListener, ends: &UnixStream, next: Next) -> bool {
    let end = PollFd::new(ends, PollFlags::IN);
    let pause = Timespec::try_from(PAUSE).expect("a short time");
    let polled = match next {
        Next::Client => {
            let client = PollFd::new(listener, PollFlags::IN);
            let mut both = [end, client];
            poll(&mut both, None).map(|_| both[0].revents())
        }
        Next::PauseEnd => {
            let mut one = [end];
            poll(&mut one, Some(&pause)).map(|_| one[0].revents())
        }
    };
    match polled {
        Ok(events) => events.is_empty(),
        Err(Errno::INTR) => true,
        // Without memory for a poll nobody can be served.
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_client_that_cannot_be_taken_is_tried_again_after_a_pause() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = || TcpStream::connect(listener.local_addr().unwrap());
        let none_left = || io::Error::from(Errno::MFILE);
        // The last come first.
        let mut outcomes = vec![
            Err(none_left()),
            client(),
            Err(ErrorKind::WouldBlock.into()),
            client(),
            Err(none_left()),
            Err(none_left()),
        ];
        let (waits, served) = (RefCell::new(Vec::new()), RefCell::new(0));
        let wait = |next| {
            waits.borrow_mut().push(next);
            waits.borrow().len() < 9
        };
        take(
            wait,
            || outcomes.pop().unwrap(),
            |_| *served.borrow_mut() += 1,
        );
        let (client, pause) = (Next::Client, Next::PauseEnd);
        let twice = [client, pause, client, pause, client];
        assert_eq!(waits.take(), [&twice[..], &[client; 3], &[pause]].concat());
        assert_eq!(served.take(), 2);
    }

    #[test]
    fn a_closed_end_ends_the_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (lives, ends) = UnixStream::pair().unwrap();
        assert!(wait(&listener, &ends, Next::PauseEnd));
        drop(lives);
        assert!(!wait(&listener, &ends, Next::PauseEnd));
        assert!(!wait(&listener, &ends, Next::Client));
    }
}
