//! Finds out whether a program that runs binaries for the host starts at all. It is started once more with a
//! binary that says nothing, so that all that is on its standard error then is its own.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};

use super::exit::{collect, in_words, look};
use super::launch::Vfork;
use super::recipe::Recipe;
use crate::descriptors::moved_up;
use crate::failure::Failure;

/// The most bytes of its words that are kept, from their end.
const WORDS: usize = 1 << 10;

/// The outcome of a rehearsal.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The binary got ready: the program works.
    Starts,
    /// The program ended before. How, and its last words.
    Ends(String, String),
    /// Neither within the time.
    Open,
}

/// Launch `recipe`, whose log is the program's standard error, and end what it has started.
///
/// # Errors
///
/// The step that failed, in words.
pub fn rehearse(
    vfork: &mut Vfork,
    recipe: &Recipe,
    flags: i32,
    patience: Duration,
) -> Result<Outcome, String> {
    let words = |error: Errno| format!("a rehearsal: {error}");
    let pair = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    );
    let (host, guest) = pair.map_err(words)?;
    let guest = moved_up(guest).map_err(words)?;
    let (said, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(words)?;
    let theirs = moved_up(theirs).map_err(words)?;
    rustix::io::ioctl_fionbio(&said, true).map_err(words)?;
    let launched = vfork.launch(recipe, flags, guest.as_fd(), Some(theirs.as_fd()))?;
    drop((guest, theirs));
    let mut tail = Tail::default();
    let is_ready = attend(&host, &said, &launched.process, &mut tail, patience);
    let end = (is_ready == Some(false)).then(|| look(&launched.process, libc::WNOWAIT));
    let _ = pidfd_send_signal(&launched.process, Signal::KILL);
    collect(&launched.process);
    tail.read(&said);
    Ok(match (is_ready, end.flatten()) {
        (Some(true), _) => Outcome::Starts,
        (_, Some(end)) => match in_words(end, Duration::MAX) {
            Failure::Died(how) => Outcome::Ends(how, tail.in_words()),
            _ => Outcome::Open,
        },
        _ => Outcome::Open,
    })
}

/// Read the words until the binary is ready (true) or the program has ended (false).
fn attend(
    host: &OwnedFd,
    said: &OwnedFd,
    process: &OwnedFd,
    tail: &mut Tail,
    patience: Duration,
) -> Option<bool> {
    let until = Instant::now() + patience;
    let mut may_get_ready = true;
    loop {
        let left = until.checked_duration_since(Instant::now())?;
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut watched = vec![PollFd::new(process, PollFlags::IN)];
        if may_get_ready {
            watched.push(PollFd::new(host, PollFlags::IN));
        }
        if !tail.is_whole {
            watched.push(PollFd::new(said, PollFlags::IN));
        }
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let has_ended = !watched[0].revents().is_empty();
        tail.read(said);
        match recv(host, &mut [0u8; 1], RecvFlags::DONTWAIT) {
            Ok((1, _)) => return Some(true),
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => may_get_ready = false,
        }
        if has_ended {
            return Some(false);
        }
    }
}

/// The end of what was read.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    /// True if nobody can say more.
    is_whole: bool,
}

impl Tail {
    /// Read what is there.
    fn read(&mut self, said: &OwnedFd) {
        let mut buffer = [0; WORDS];
        loop {
            match read(said, &mut buffer[..]) {
                Ok(0) => self.is_whole = true,
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    let more = self.bytes.len().saturating_sub(WORDS);
                    self.bytes.drain(..more);
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(_) => {}
            }
            return;
        }
    }

    /// On one line, without control characters.
    fn in_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let plain = |line: &str| line.chars().filter(|each| !each.is_control()).collect();
        let lines = text.lines().map(plain);
        let lines: Vec<String> = lines
            .filter(|line: &String| !line.trim().is_empty())
            .collect();
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that runs `script`, its socket at number 3.
    fn outcome(script: &str, patience: Duration) -> Outcome {
        let mut recipe = Recipe::default();
        recipe.take_socket_and_log();
        let arguments = ["-c".to_owned(), script.to_owned()];
        recipe.execute_file("/bin/sh", &arguments);
        rehearse(&mut Vfork::default(), &recipe, 0, patience).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_last_words_of_who_ends_are_kept_on_one_plain_line() {
        let ends = |how: &str, said: &str| Outcome::Ends(how.to_owned(), said.to_owned());
        let said = r"printf 'first\n\033[1mbold\007\r\n\n \nlast' >&2; exit 3";
        assert_eq!(
            outcome(said, LONG),
            ends("exit code 3", "first; [1mbold; last")
        );
        assert_eq!(outcome("exit 1", LONG), ends("exit code 1", ""));
        assert_eq!(outcome("kill -9 $$", LONG), ends("signal 9", ""));
        let much = "i=0; while [ $i -lt 20000 ]; do echo $i$i$i >&2; i=$((i+1)); done; exit 1";
        let Outcome::Ends(_, words) = outcome(much, LONG) else {
            panic!("it has not ended");
        };
        assert!(
            words.ends_with("; 199991999919999") && words.len() <= 2 * WORDS,
            "{words}"
        );
    }

    #[test]
    fn who_gets_ready_or_does_not_end_is_ended() {
        assert_eq!(
            outcome("printf r >&3; exec sleep 600", LONG),
            Outcome::Starts
        );
        assert_eq!(outcome("printf r >&3; exit 1", LONG), Outcome::Starts);
        assert_eq!(
            outcome("exec sleep 600", Duration::from_millis(50)),
            Outcome::Open
        );
    }
}
