//! Access logs, read so that their requests can be sent again.

mod combined;
mod entry;
mod fault;
mod form;
mod format;
mod har;
mod json;
mod stamp;

pub use self::entry::{Entry, Sent};
pub use self::fault::Fault;
pub use self::format::LogFormat;
use self::stamp::SECOND;

/// Most requests that a log may have: each is kept in memory.
const MOST: usize = 2_000_000;

/// A log's requests in the order of their times.
#[derive(Clone, Debug)]
pub struct Log {
    /// The requests, with times in nanoseconds from the first.
    pub entries: Vec<Entry>,
    /// Time from the first request to the end of the last one's gap, in nanoseconds.
    pub length: u64,
    /// Lines, or entries, that are no requests.
    pub skipped: usize,
    /// The format in which it was read.
    pub format: LogFormat,
}

/// Read a log. Lines that are no requests are counted and left out.
///
/// # Errors
/// The first fault and its line, if the log has no request at all; or the fault of the whole text.
pub fn read(text: &str, format: Option<LogFormat>) -> Result<Log, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = format.unwrap_or_else(|| LogFormat::of(text));
    let found: Vec<Result<Entry, Fault>> = match format {
        LogFormat::Combined => lines(text, combined::entry),
        LogFormat::Json => lines(text, json::entry),
        LogFormat::Har => har::entries(text)?,
    };
    if found.len() > MOST {
        return Err(format!("more than {MOST} requests"));
    }
    let all = found.len();
    let mut first = None;
    let mut entries: Vec<Entry> = Vec::new();
    for (index, entry) in found.into_iter().enumerate() {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(fault) => {
                first.get_or_insert((index + 1, fault));
            }
        }
    }
    if entries.is_empty() {
        return Err(match first {
            Some((number, fault)) => format!("no request; the {number}. entry: {fault}"),
            None => "it is empty".into(),
        });
    }
    // A server writes an entry when the answer has ended.
    entries.sort_by_key(|entry| entry.at);
    let length = from_first(&mut entries);
    Ok(Log {
        skipped: all - entries.len(),
        entries,
        length,
        format,
    })
}

fn lines(text: &str, entry: impl Fn(&str) -> Result<Entry, Fault>) -> Vec<Result<Entry, Fault>> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.take(MOST + 1).map(entry).collect()
}

/// Let sorted times begin with 0; return the log's length. If the log knows whole seconds only, the
/// requests of each are spread over it evenly.
fn from_first(entries: &mut [Entry]) -> u64 {
    let first = entries[0].at;
    for entry in &mut *entries {
        entry.at -= first;
    }
    let last = entries[entries.len() - 1].at;
    if entries.iter().all(|entry| entry.whole_second) {
        for second in entries.chunk_by_mut(|a, b| a.at == b.at) {
            let count = second.len() as u64;
            for (place, entry) in (0..).zip(second) {
                entry.at += SECOND * place / count;
            }
        }
        return last.saturating_add(SECOND);
    }
    let mean_gap = last.checked_div(entries.len() as u64 - 1).unwrap_or(0);
    match last.saturating_add(mean_gap) {
        0 => SECOND,
        length => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> (Vec<u64>, u64) {
        let log = read(text, None).unwrap();
        let times = log.entries.iter().map(|entry| entry.at / 1_000_000);
        (times.collect(), log.length / 1_000_000)
    }

    fn combined(seconds: &[u32]) -> String {
        let line = |second: &u32| {
            format!(
                "::1 - - [10/Oct/2000:13:55:{second:02} -0700] \"GET /{second} HTTP/1.1\" 200 5\n"
            )
        };
        seconds.iter().map(line).collect()
    }

    #[test]
    fn requests_of_a_second_are_spread_over_it() {
        let (times, length) = times(&combined(&[36, 36, 38, 36, 36, 38]));
        assert_eq!(times, [0, 250, 500, 750, 2000, 2500]);
        assert_eq!(length, 3000);
    }

    #[test]
    fn fractions_are_kept_and_sorted() {
        let line = |time: f64| format!("{{\"time\": {time}, \"uri\": \"/\"}}\n");
        let text: String = [1e9 + 0.5, 1e9, 1e9 + 0.25].map(line).concat();
        assert_eq!(times(&text), (vec![0, 250, 500], 750));
        assert_eq!(times(&line(1.5)), (vec![0], 1000));
        assert_eq!(
            times(&format!("# a remark\n\n{text}")),
            (vec![0, 250, 500], 750)
        );
        // A mark of the byte order is no part of the first line.
        assert_eq!(times(&format!("\u{feff}{text}")), (vec![0, 250, 500], 750));
    }

    #[test]
    fn what_is_no_request_is_counted() {
        let text =
            combined(&[1, 2]) + "\n::1 - - [10/Oct/2000:13:55:01 -0700] \"-\" 400 0\nrubbish\n";
        let log = read(&text, None).unwrap();
        assert_eq!((log.entries.len(), log.skipped), (2, 2));
        assert_eq!(read("", None).unwrap_err(), "it is empty");
        let fault = read("rubbish\n", None).unwrap_err();
        assert!(fault.starts_with("no request; the 1. entry: "), "{fault}");
    }
}
