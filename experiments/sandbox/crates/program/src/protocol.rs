//! Messages between clients and the daemon: protobuf, delimited by their lengths.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use prost::{Message, Oneof};
use sandbox_runtime::frame::Decoder;

/// The longest message in either direction, in bytes: a loaded binary, or a payload.
pub const LONGEST: usize = 256 << 20;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// A client's request.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    /// One of these.
    #[prost(oneof = "Action", tags = "1, 2, 3, 4, 5")]
    pub action: Option<Action>,
}

/// Kinds of requests.
#[derive(Clone, PartialEq, Oneof)]
pub enum Action {
    /// Load a binary.
    #[prost(message, tag = "1")]
    Load(Load),
    /// Call one that is loaded.
    #[prost(message, tag = "2")]
    Call(Call),
    /// Unload the binary of this name, after the calls under way.
    #[prost(string, tag = "3")]
    Unload(String),
    /// Statistics; true: medians and the like begin anew with this reading.
    #[prost(bool, tag = "4")]
    Stats(bool),
    /// Cancel all calls with this number, whichever clients they came from.
    #[prost(uint64, tag = "5")]
    Cancel(u64),
}

/// A binary, and how it is loaded; what is 0 takes the daemon's default.
#[derive(Clone, PartialEq, Message)]
pub struct Load {
    /// The handle.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The ELF file.
    #[prost(bytes = "vec", tag = "2")]
    pub binary: Vec<u8>,
    /// Options as on the command line.
    #[prost(message, optional, tag = "3")]
    pub options: Option<LoadOptions>,
}

/// Numbers of `tare-sandbox load`.
#[derive(Clone, Copy, PartialEq, Message, clap::Args)]
pub struct LoadOptions {
    /// Workers that are kept ready, at most 4096 [default: 10]
    #[prost(uint32, tag = "1")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub workers: u32,
    /// Calls that may wait for a worker; one more is refused as busy [default: 1000]
    #[prost(uint32, optional, tag = "2")]
    #[arg(long)]
    pub queue: Option<u32>,
    /// Threads that refill [default: as the mode has it]
    #[prost(uint32, tag = "3")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub keepers: u32,
    /// Memory of a worker in MiB [default: 256]
    #[prost(uint64, tag = "4")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub memory_mb: u64,
    /// Processes and threads of a worker [default: 16]
    #[prost(uint32, tag = "5")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub processes: u32,
    /// CPU seconds of a call, of all its processes [default: 60]
    #[prost(uint32, tag = "6")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub cpu_s: u32,
    /// Open files of a worker [default: 64]
    #[prost(uint32, tag = "7")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub files: u32,
    /// Milliseconds from a call to its response [default: 10000]
    #[prost(uint64, tag = "8")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub deadline_ms: u64,
    /// Milliseconds from a worker's start to its ready byte [default: 5000]
    #[prost(uint64, tag = "9")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub start_ms: u64,
    /// Bytes of a request [default: 67108864]
    #[prost(uint64, optional, tag = "10")]
    #[arg(long)]
    pub request_bytes: Option<u64>,
    /// Bytes of a response, and of each callback [default: 67108864]
    #[prost(uint64, optional, tag = "11")]
    #[arg(long)]
    pub response_bytes: Option<u64>,
    /// Callbacks of one call [default: 1000]
    #[prost(uint32, optional, tag = "12")]
    #[arg(long)]
    pub callbacks_max: Option<u32>,
    /// The binary calls host functions, and wraps its messages in Any
    #[prost(bool, optional, tag = "13")]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub callbacks: Option<bool>,
    /// Requests and responses are in memory that the binary shares with the daemon, if it says so
    #[prost(bool, optional, tag = "14")]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub shared: Option<bool>,
    /// Keep the binary's standard error in the daemon's folder of logs
    #[prost(bool, optional, tag = "15")]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub log: Option<bool>,
    /// Bytes of that log, the newest [default: 1048576]
    #[prost(uint64, tag = "16")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub log_bytes: u64,
    /// Bytes of it that are read in a second; who writes faster waits [default: 33554432]
    #[prost(uint64, tag = "17")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub log_rate: u64,
    /// Calls of one client process at once, those that wait included; one more is refused as busy [default:
    /// as many as there can be]
    #[prost(uint32, tag = "18")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub client_calls: u32,
    /// Workers that one client process has at once [default: all]
    #[prost(uint32, tag = "19")]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub client_workers: u32,
}

/// A call.
#[derive(Clone, PartialEq, Message)]
pub struct Call {
    /// The handle.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The request for the binary.
    #[prost(bytes = "vec", tag = "2")]
    pub request: Vec<u8>,
    /// Milliseconds that it may take; 0: as loaded.
    #[prost(uint64, tag = "3")]
    pub deadline_ms: u64,
    /// A number by which any client can cancel it; 0: none.
    #[prost(uint64, tag = "4")]
    pub number: u64,
    /// True if the answer says how long its parts took.
    #[prost(bool, tag = "5")]
    pub times: bool,
}

/// The daemon's reply.
#[derive(Clone, PartialEq, Message)]
pub struct Reply {
    /// One of these.
    #[prost(oneof = "Answer", tags = "1, 2, 3, 4")]
    pub answer: Option<Answer>,
}

/// Kinds of answers.
#[derive(Clone, PartialEq, Oneof)]
pub enum Answer {
    /// A call's response.
    #[prost(message, tag = "1")]
    Response(Response),
    /// The reason why there is no response, or why nothing was done.
    #[prost(message, tag = "2")]
    Refusal(Refusal),
    /// It is done.
    #[prost(bool, tag = "3")]
    Done(bool),
    /// Statistics in JSON.
    #[prost(string, tag = "4")]
    Stats(String),
}

/// A response, and how long its parts took if that was asked.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    /// The binary's response.
    #[prost(bytes = "vec", tag = "1")]
    pub response: Vec<u8>,
    /// Parts in their order.
    #[prost(message, repeated, tag = "2")]
    pub times: Vec<Time>,
}

/// The time that one part of a call took.
#[derive(Clone, PartialEq, Message)]
pub struct Time {
    /// wait, send or execute.
    #[prost(string, tag = "1")]
    pub phase: String,
    /// Nanoseconds.
    #[prost(uint64, tag = "2")]
    pub ns: u64,
}

/// The reason why a request was refused.
#[derive(Clone, PartialEq, Message)]
pub struct Refusal {
    /// One word: a failure's kind, `load` or `request`.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// A sentence.
    #[prost(string, tag = "2")]
    pub message: String,
}

/// Messages over a stream.
pub struct Channel {
    stream: BufReader<UnixStream>,
    decoder: Decoder,
}

impl Channel {
    /// Over `stream`.
    pub fn new(stream: UnixStream) -> Self {
        Channel {
            stream: BufReader::with_capacity(PIECE, stream),
            decoder: Decoder::new(LONGEST),
        }
    }

    /// Receive the next message; none at the end of the stream. `may_hold` is asked for so many bytes
    /// of memory each time that there are more. The rest of a message that has begun may take so long, if
    /// there is `patience`.
    ///
    /// # Errors
    ///
    /// `OutOfMemory` if it may not hold more, `TimedOut` for a message that is not whole in time, `Other` for
    /// what is no message, and the kernel's.
    pub fn recv<M: Message + Default>(
        &mut self,
        patience: Option<Duration>,
        mut may_hold: impl FnMut(usize) -> bool,
    ) -> io::Result<Option<M>> {
        let mut until = None;
        let received = loop {
            let mut rest = self.stream.buffer();
            let had = rest.len();
            let body = self.decoder.feed(&mut rest).map_err(io::Error::other)?;
            let taken = had - rest.len();
            self.stream.consume(taken);
            // What is decoded is a copy.
            let held = body
                .as_ref()
                .map_or(self.decoder.held(), |body| 2 * body.len());
            if !may_hold(held) {
                break Err(io::ErrorKind::OutOfMemory.into());
            }
            if let Some(body) = body {
                break M::decode(&body[..]).map(Some).map_err(io::Error::other);
            }
            let is_idle = self.decoder.is_idle();
            if until.is_none() && !is_idle && patience.is_some() {
                until = patience.map(|patience| Instant::now() + patience);
                self.stream().set_read_timeout(patience)?;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break Err(late());
            }
            match self.stream.fill_buf() {
                Ok([]) if is_idle => break Ok(None),
                Ok([]) => break Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Err(late()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        if until.is_some() {
            self.stream().set_read_timeout(None)?;
        }
        received
    }

    /// Read what is sent until the end of the stream, for so long at most, and keep nothing of it.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn discard(&mut self, patience: Duration) -> io::Result<()> {
        self.decoder = Decoder::new(LONGEST);
        self.stream().set_read_timeout(Some(patience))?;
        let until = Instant::now() + patience;
        loop {
            let count = self.stream.fill_buf()?.len();
            if count == 0 || Instant::now() >= until {
                return Ok(());
            }
            self.stream.consume(count);
        }
    }

    /// The stream.
    pub fn stream(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    /// Send an encoded frame.
    pub fn send_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(frame)
    }
}

fn late() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the rest of a message did not come in time",
    )
}

/// Encode a message as a frame.
pub fn framed<M: Message>(message: &M) -> Vec<u8> {
    message.encode_length_delimited_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_millis(20));

    fn request(number: u64) -> Request {
        Request {
            action: Some(Action::Cancel(number)),
        }
    }

    #[test]
    fn a_message_that_has_begun_is_not_waited_for_without_end() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(here);
        let whole = framed(&request(1 << 40));
        there
            .write_all(&[&whole[..], &whole[..1]].concat())
            .unwrap();
        let mut recv = || channel.recv::<Request>(SHORT, |_| true);
        assert_eq!(recv().unwrap(), Some(request(1 << 40)));
        assert_eq!(recv().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn who_sends_a_byte_now_and_then_is_not_waited_for_either() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(here);
        // Of 128 MiB, which take longer.
        there.write_all(&[0xff, 0xff, 0xff, 0x3f]).unwrap();
        let sender = std::thread::spawn(move || while there.write_all(b"x").is_ok() {});
        let late = channel.recv::<Request>(SHORT, |_| true);
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(channel);
        sender.join().unwrap();
    }

    #[test]
    fn the_first_byte_of_a_message_is_waited_for() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(here);
        let sender = std::thread::spawn(move || {
            for number in 1..=2 {
                std::thread::sleep(SHORT.unwrap_or_default() * 3);
                there.write_all(&framed(&request(number))).unwrap();
            }
        });
        for number in 1..=2 {
            let found = channel.recv::<Request>(SHORT, |_| true).unwrap();
            assert_eq!(found, Some(request(number)));
        }
        sender.join().unwrap();
        assert_eq!(channel.recv::<Request>(SHORT, |_| true).unwrap(), None);
    }
}
