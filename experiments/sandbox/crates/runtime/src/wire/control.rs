//! On its control a broker asks; beside each question is a socket for the answer, which stays as long as
//! what was asked for.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::limits::Limits;
use crate::packet::{Packet, recv, send};
use crate::wanted::Wanted;

/// A question of the broker's.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Start workers. Beside it the binary.
    Load(Wanted),
    /// Open a file, of those that the launcher was started with.
    Open {
        /// The log's name; none for the audit log.
        log: Option<String>,
        /// True if the file there is full, and is to be the one before.
        turn: bool,
    },
    /// Show clients the socket.
    Announce,
}

/// An answer of the launcher's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One more keeper has begun. Beside it its line.
    Keeper,
    /// It is done. Beside it the board, or the file that was opened.
    Done,
    /// It is not done; the kernel's number of the error, or 0, and why in words.
    Refused(i32, String),
}

const LOAD: u64 = 1;
const OPEN: u64 = 2;
const ANNOUNCE: u64 = 3;
const KEEPER: u64 = 4;
const DONE: u64 = 5;
const REFUSED: u64 = 6;

impl Question {
    /// The question as a packet.
    pub fn encode(&self) -> Packet {
        match self {
            Question::Load(wanted) => {
                let limits = &wanted.limits;
                let flags = u64::from(limits.shared) | u64::from(wanted.is_logged) << 1;
                let numbers = [
                    limits.memory_bytes,
                    limits.processes.into(),
                    limits.cpu_s.into(),
                    limits.files.into(),
                    limits.start.as_millis() as u64,
                    flags,
                    wanted.workers as u64,
                    wanted.keepers as u64,
                ];
                Packet::new(LOAD, numbers)
            }
            Question::Open { log, turn } => {
                let numbers = [(*turn).into(), log.is_some().into()];
                Packet::new(OPEN, numbers).with_text(log.clone().unwrap_or_default())
            }
            Question::Announce => Packet::new(ANNOUNCE, []),
        }
    }

    /// Read a question, or return `None` if the packet is none. Nothing in it is believed yet.
    pub fn decode(packet: Packet) -> Option<Self> {
        let [
            memory,
            processes,
            cpu_s,
            files,
            start_ms,
            flags,
            workers,
            keepers,
        ] = packet.numbers;
        let narrow = |number: u64| u32::try_from(number).ok();
        Some(match packet.kind {
            LOAD if flags < 4 => Question::Load(Wanted {
                limits: Limits {
                    memory_bytes: memory,
                    processes: narrow(processes)?,
                    cpu_s: narrow(cpu_s)?,
                    files: narrow(files)?,
                    start: Duration::from_millis(start_ms),
                    shared: flags & 1 != 0,
                    ..Limits::default()
                },
                is_logged: flags & 2 != 0,
                workers: narrow(workers)? as usize,
                keepers: narrow(keepers)? as usize,
            }),
            OPEN => Question::Open {
                log: (packet.numbers[1] != 0).then_some(packet.text),
                turn: packet.numbers[0] != 0,
            },
            ANNOUNCE => Question::Announce,
            _ => return None,
        })
    }
}

/// Send an answer with what is beside it. It may `wait` for the broker to make room.
///
/// # Errors
///
/// The kernel's: nobody listens, or there is no room and it does not wait.
pub fn answer(
    socket: BorrowedFd<'_>,
    answer: &Answer,
    beside: &[BorrowedFd<'_>],
    wait: bool,
) -> Result<(), Errno> {
    let packet = match answer {
        Answer::Keeper => Packet::new(KEEPER, []),
        Answer::Done => Packet::new(DONE, []),
        Answer::Refused(errno, why) => {
            Packet::new(REFUSED, [u64::from(*errno as u32)]).with_text(why)
        }
    };
    send(socket, &packet, beside, wait)
}

/// Wait for an answer and what is beside it.
///
/// # Errors
///
/// `PIPE` when the launcher is gone, and the kernel's.
pub fn answered(socket: BorrowedFd<'_>) -> Result<(Answer, Option<OwnedFd>), Errno> {
    let (packet, mut beside) = recv(socket, true)?.ok_or(Errno::BADMSG)?;
    let answer = match packet.kind {
        KEEPER => Answer::Keeper,
        DONE => Answer::Done,
        REFUSED => Answer::Refused(packet.numbers[0] as u32 as i32, packet.text),
        _ => return Err(Errno::BADMSG),
    };
    Ok((answer, beside.pop()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_arrive() {
        let wanted = Wanted {
            limits: Limits {
                memory_bytes: 1 << 40,
                processes: 2,
                cpu_s: 3,
                files: 9,
                start: Duration::from_millis(5),
                shared: true,
                ..Limits::default()
            },
            is_logged: true,
            workers: 6,
            keepers: 7,
        };
        for question in [
            Question::Load(wanted),
            Question::Open {
                log: Some("a.log".into()),
                turn: true,
            },
            Question::Open {
                log: None,
                turn: false,
            },
            Question::Announce,
        ] {
            assert_eq!(Question::decode(question.encode()), Some(question));
        }
        assert_eq!(Question::decode(Packet::new(0, [])), None);
        assert_eq!(Question::decode(Packet::new(LOAD, [0, 1 << 32])), None);
        assert_eq!(
            Question::decode(Packet::new(LOAD, [0, 0, 0, 0, 0, 4])),
            None
        );
    }
}
