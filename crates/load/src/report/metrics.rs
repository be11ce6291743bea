//! The figures of a run for Prometheus, in its text format (version 0.0.4), while it lasts.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::listener::Listener;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};
use crate::protocol::Kind;

/// Upper bounds of the buckets of latencies, in nanoseconds.
const BOUNDS: [u64; 16] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
];

/// Time that a client may take for its request and the answer: the next one waits for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest request that is read, in bytes.
const LONGEST: usize = 8 * 1024;

/// Serves the run's figures of its last whole second at `/metrics`.
pub struct Metrics {
    listener: Listener,
    text: Arc<Mutex<String>>,
    sums: Sums,
}

/// The sums over a run.
#[derive(Default)]
struct Sums {
    below: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    /// Serve at `address`.
    ///
    /// # Errors
    /// When it is not free.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let text = Sums::default().text(&Second::default(), "warmup");
        let text = Arc::new(Mutex::new(text));
        let shared = text.clone();
        let serve = move |stream| {
            // The lock must not be held for a slow client.
            let text = shared
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            // A client that has gone is no error of the run.
            let _ = answer(stream, &text);
        };
        Ok(Metrics {
            listener: Listener::new(address, serve)?,
            text,
            sums: Sums::default(),
        })
    }

    /// The address at which it serves.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

impl Observer for Metrics {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        self.sums.add(second);
        let text = self.sums.text(second, phase.name());
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
        Ok(())
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

impl Sums {
    fn add(&mut self, second: &Second) {
        let latency = &second.latency;
        for (bound, below) in BOUNDS.iter().zip(&mut self.below) {
            *below += latency.count_between(0, *bound);
        }
        self.count += latency.len();
        self.seconds += latency.mean() * latency.len() as f64 / 1e9;
    }

    fn text(&self, second: &Second, phase: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, second, phase);
        text
    }

    fn write(&self, text: &mut String, second: &Second, phase: &str) -> std::fmt::Result {
        let name = "tare_load_latency_seconds";
        writeln!(
            text,
            "# HELP {name} Latency of correct answers from the intended send."
        )?;
        writeln!(text, "# TYPE {name} histogram")?;
        for (bound, below) in BOUNDS.iter().zip(&self.below) {
            let bound = *bound as f64 / 1e9;
            writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {below}")?;
        }
        writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {}", self.count)?;
        writeln!(
            text,
            "{name}_sum {}\n{name}_count {}",
            self.seconds, self.count
        )?;
        let name = "tare_load_errors_total";
        writeln!(text, "# HELP {name} Requests and connections that failed.")?;
        writeln!(text, "# TYPE {name} counter")?;
        for kind in Kind::ALL {
            let count = second.failures.of(kind);
            writeln!(text, "{name}{{kind=\"{}\"}} {count}", kind.name())?;
        }
        let name = "tare_load_in_flight";
        writeln!(
            text,
            "# HELP {name} Requests in flight.\n# TYPE {name} gauge"
        )?;
        writeln!(text, "{name} {}", second.in_flight)?;
        let name = "tare_load_phase";
        writeln!(
            text,
            "# HELP {name} The phase of the run.\n# TYPE {name} gauge"
        )?;
        for each in [Phase::Warmup, Phase::Measure, Phase::Drain] {
            let each = each.name();
            writeln!(
                text,
                "{name}{{phase=\"{each}\"}} {}",
                u8::from(each == phase)
            )?;
        }
        Ok(())
    }
}

/// Answer the one request of a client.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            length => request.extend_from_slice(&piece[..length]),
        }
    }
    let mut words = request.split(|byte| *byte == b' ');
    let (method, url) = (words.next().unwrap_or(b""), words.next().unwrap_or(b""));
    let path = url.split(|byte| *byte == b'?').next();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", Some(b"/metrics" | b"/")) => ("200 OK", text),
        _ => ("404 Not Found", "the figures are at /metrics\n"),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    )?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    stream.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn fetch(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_client_that_sends_byte_by_byte_is_cut_off() {
        let metrics = Metrics::new("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut slow = TcpStream::connect(metrics.address()).unwrap();
        slow.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let cut = (0..100).any(|_| {
            let sent = slow.write_all(b"x");
            let late = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
            sent.is_err() || !slow.read(&mut [0]).is_err_and(|error| late(&error))
        });
        assert!(cut);
    }

    #[test]
    fn the_sums_so_far_are_served_and_the_port_is_free_afterwards() {
        let mut metrics = Metrics::new("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = metrics.address();
        let get = b"GET /metrics HTTP/1.1\r\n\r\n";
        assert!(fetch(address, get).contains("\ntare_load_latency_seconds_count 0\n"));
        let mut second = Second::default();
        for latency in [60_000, 60_000, 3_000_000_000] {
            second.record(latency);
            let ended = second.turn(7, Default::default());
            metrics.second(&ended, Phase::Measure).unwrap();
        }
        let text = fetch(address, get);
        for line in [
            "HTTP/1.1 200 OK\r",
            "tare_load_latency_seconds_bucket{le=\"0.00005\"} 0",
            "tare_load_latency_seconds_bucket{le=\"0.0001\"} 2",
            "tare_load_latency_seconds_bucket{le=\"2\"} 2",
            "tare_load_latency_seconds_bucket{le=\"5\"} 3",
            "tare_load_latency_seconds_bucket{le=\"+Inf\"} 3",
            "tare_load_errors_total{kind=\"timeout\"} 0",
            "tare_load_in_flight 7",
            "tare_load_phase{phase=\"measure\"} 1",
        ] {
            assert!(
                text.lines().any(|found| found == line.trim_end()),
                "{line} in {text}"
            );
        }
        let asked = fetch(address, b"HEAD /metrics?a=b HTTP/1.1\r\n\r\n");
        assert!(
            asked.starts_with("HTTP/1.1 200 ") && asked.ends_with("\r\n\r\n"),
            "{asked}"
        );
        assert!(fetch(address, b"GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(fetch(address, &[b'x'; LONGEST]).starts_with("HTTP/1.1 404 "));
        drop(TcpStream::connect(address).unwrap());
        assert!(Metrics::new(address).is_err());
        drop(metrics);
        assert!(TcpStream::connect(address).is_err());
    }
}
