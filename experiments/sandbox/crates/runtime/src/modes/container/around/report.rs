//! The message on a worker's life line: how it ended, or why there is none.

use std::time::Duration;

/// Bytes of the longest message.
pub const LONGEST: usize = 1024;

const ENDED: u8 = b'E';
const FAILED: u8 = b'F';
const END: usize = 1 + 4 + 4 + 8;

/// A message, the only one on its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The worker has ended.
    Ended(End),
    /// There is no worker: which step failed, in words.
    Failed(String),
}

/// The end of a process, as waitid tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// `si_code`.
    pub code: i32,
    /// `si_status`: an exit code or a signal.
    pub status: i32,
    /// CPU time that it used, all of its threads together.
    pub cpu: Duration,
}

impl Report {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Report::Ended(end) => {
                let mut bytes = vec![ENDED];
                bytes.extend(end.code.to_le_bytes());
                bytes.extend(end.status.to_le_bytes());
                bytes.extend((end.cpu.as_micros() as u64).to_le_bytes());
                bytes
            }
            Report::Failed(why) => {
                let mut bytes = vec![FAILED];
                bytes.extend(why.bytes().take(LONGEST - 1));
                bytes
            }
        }
    }

    /// Read a message; none if it is not whole, or no message.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&ENDED, rest) if bytes.len() == END => {
                let (code, rest) = rest.split_first_chunk()?;
                let (status, rest) = rest.split_first_chunk()?;
                let (cpu, _) = rest.split_first_chunk()?;
                Some(Report::Ended(End {
                    code: i32::from_le_bytes(*code),
                    status: i32::from_le_bytes(*status),
                    cpu: Duration::from_micros(u64::from_le_bytes(*cpu)),
                }))
            }
            (&FAILED, why) => Some(Report::Failed(String::from_utf8_lossy(why).into_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(code: i32, status: i32, micros: u64, why in "[a-z ]{0,99}") {
            let cpu = Duration::from_micros(micros);
            for report in [Report::Ended(End { code, status, cpu }), Report::Failed(why)] {
                prop_assert_eq!(Report::decode(&report.encode()), Some(report));
            }
        }

        #[test]
        fn no_bytes_are_too_odd(bytes: Vec<u8>) {
            let _ = Report::decode(&bytes);
        }
    }

    #[test]
    fn half_a_message_is_none() {
        let end = End {
            code: 1,
            status: 2,
            cpu: Duration::from_secs(3),
        };
        let whole = Report::Ended(end).encode();
        assert!((0..whole.len()).all(|length| Report::decode(&whole[..length]).is_none()));
    }
}
