//! A log of each second's latencies, as HdrHistogram's tools read it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError};

use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// Writes an interval of a second a line; latencies in nanoseconds.
pub struct HdrLog<W> {
    to: W,
    serializer: V2DeflateSerializer,
}

impl<W: Write> HdrLog<W> {
    /// Begin a log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut to: W) -> io::Result<Self> {
        let mut serializer = V2DeflateSerializer::new();
        IntervalLogWriterBuilder::new()
            .add_comment("[Latencies from the intended send, in nanoseconds]")
            .with_start_time(SystemTime::now())
            .begin_log_with(&mut to, &mut serializer)?;
        Ok(HdrLog { to, serializer })
    }
}

impl<W: Write> Observer for HdrLog<W> {
    fn second(&mut self, second: &Second, _: Phase) -> io::Result<()> {
        // Without comments and times, a writer begins without a heading.
        let mut log =
            IntervalLogWriterBuilder::new().begin_log_with(&mut self.to, &mut self.serializer)?;
        let begin = Duration::from_secs(second.index);
        let length = Duration::from_nanos(second.length);
        let written = log.write_histogram(&second.latency, begin, length, None);
        match written {
            Ok(()) => self.to.flush(),
            Err(IntervalLogWriterError::IoError(error)) => Err(error),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_an_interval() {
        let mut bytes = Vec::new();
        let mut log = HdrLog::new(&mut bytes).unwrap();
        let mut second = Second::default();
        for latency in [1000, 2000] {
            second.record(latency);
            let ended = second.turn(0, Default::default());
            log.second(&ended, Phase::Measure).unwrap();
        }
        let text = String::from_utf8(bytes).unwrap();
        let (heading, lines): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with('#'));
        assert!(heading[1].starts_with("#[StartTime: "), "{text}");
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("0.000,1.000,1000.000,HISTFAAA"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("1.000,1.000,2000.000,HISTFAAA"),
            "{text}"
        );
    }
}
