//! The answers whose times the load generator wrote, and which of them are looked at.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// The slowest are at least so many.
const FEWEST: usize = 10;
const COLUMNS: usize = 9;

/// One answered request; times in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The generator's port.
    pub port: u16,
    /// The time at which its connection was begun.
    pub opened: u64,
    /// The time at which its connection could be used.
    pub connected: u64,
    /// The time at which it should have been sent.
    pub intended: u64,
    /// The time at which it was sent.
    pub sent: u64,
    /// The time at which its answer was whole.
    pub answered: u64,
    /// The places in the connection's bytes at which it and its answer end; 0 where a connection has a request
    /// at a time.
    pub ends: [u64; 2],
}

impl Request {
    /// True if some of its time in flight on its connection is another's, too.
    fn overlaps(&self, from: u64, until: u64) -> bool {
        self.sent < until && self.answered > from
    }

    /// From the intended send to the answer.
    pub fn latency(&self) -> u64 {
        self.answered.saturating_sub(self.intended)
    }
}

/// The requests that are looked at one by one.
#[derive(Debug)]
pub struct Chosen {
    /// The slowest.
    pub slow: Vec<Request>,
    /// As many around the median.
    pub ordinary: Vec<Request>,
    /// The number of all that they are chosen from.
    pub of: usize,
    /// The number of those that were due within the time, and answered after it.
    pub later: usize,
}

/// All requests, and each connection's.
#[derive(Debug, Default)]
pub struct Requests {
    all: Vec<Request>,
    /// The longest time from a send to its answer.
    longest: u64,
    /// In the order of their answers.
    by_port: HashMap<u16, Vec<usize>>,
}

impl Requests {
    /// Read the file that tare-load wrote.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let what = format!("reading {}", file.display());
        let text = fs::read_to_string(file).map_err(|error| Failure::of(&what, error))?;
        Self::of(&text).ok_or_else(|| Failure::Other(format!("{what}: found no times of answers")))
    }

    /// Read its text; none where that is malformed.
    pub fn of(text: &str) -> Option<Self> {
        let rows = text.lines().skip(1).map(row);
        let mut all = rows.collect::<Option<Vec<_>>>()?;
        all.sort_by_key(|request| request.sent);
        let mut by_port: HashMap<u16, Vec<usize>> = HashMap::new();
        for (number, request) in all.iter().enumerate() {
            by_port.entry(request.port).or_default().push(number);
        }
        for own in by_port.values_mut() {
            own.sort_by_key(|number| all[*number].answered);
        }
        let longest = all
            .iter()
            .map(|request| request.answered.saturating_sub(request.sent));
        Some(Self {
            longest: longest.max().unwrap_or(0),
            all,
            by_port,
        })
    }

    /// True if requests have places in their connections' bytes: a connection may have several in flight.
    pub fn have_places(&self) -> bool {
        self.all.iter().any(|request| request.ends[0] > 0)
    }

    /// The request whose answer made room for this one on the same connection.
    pub fn before(&self, request: &Request) -> Option<&Request> {
        let own = self.by_port.get(&request.port)?;
        let end = own.partition_point(|number| self.all[*number].answered <= request.sent);
        let before = own[..end].last().map(|number| &self.all[*number])?;
        // A port may be used again.
        (before.opened == request.opened).then_some(before)
    }

    /// True if the connection had another request in flight within these times.
    pub fn has_others(&self, request: &Request, from: u64, until: u64) -> bool {
        let own = self
            .by_port
            .get(&request.port)
            .map_or(&[][..], Vec::as_slice);
        let begin = own.partition_point(|number| self.all[*number].answered <= from);
        own[begin..]
            .iter()
            .map(|number| &self.all[*number])
            .take_while(|other| other.answered < until.saturating_add(self.longest))
            .any(|other| other != request && other.overlaps(from, until))
    }

    /// The slowest share of those within a time, and as many around the median.
    pub fn chosen(&self, share: f64, from: u64, until: u64) -> Chosen {
        let due = |request: &&Request| (from..=until).contains(&request.intended);
        let (mut all, later): (Vec<Request>, Vec<_>) = self
            .all
            .iter()
            .filter(due)
            .partition(|request| request.answered <= until);
        all.sort_by_key(Request::latency);
        let count = ((all.len() as f64 * share).ceil() as usize)
            .max(FEWEST)
            .min(all.len() / 4);
        let middle = (all.len() - count) / 2;
        let ordinary = all[middle..middle + count].to_vec();
        Chosen {
            of: all.len(),
            later: later.len(),
            slow: all.split_off(all.len() - count),
            ordinary,
        }
    }
}

fn row(line: &str) -> Option<Request> {
    let cells: Vec<u64> = line
        .split(',')
        .map(|cell| cell.parse().ok())
        .collect::<Option<_>>()?;
    let [
        _,
        port,
        opened,
        connected,
        intended,
        sent,
        answered,
        end,
        answer_end,
    ] = <[u64; COLUMNS]>::try_from(cells).ok()?;
    let port = u16::try_from(port).ok()?;
    Some(Request {
        port,
        opened,
        connected,
        intended,
        sent,
        answered,
        ends: [end, answer_end],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "target,port,opened_ns,connected_ns,intended_ns,sent_ns,answered_ns,sent_bytes,answered_bytes\n";

    #[test]
    fn the_slowest_and_the_ordinary_are_chosen() {
        let rows: String = (0..1000)
            .map(|number| {
                let (begin, slow) = (
                    number * 100,
                    if number % 100 == 7 { 90 } else { number % 10 },
                );
                format!(
                    "0,{},1,2,{begin},{begin},{},0,0\n",
                    50 + number % 3,
                    begin + 1 + slow
                )
            })
            .collect();
        let requests = Requests::of(&format!("{HEADING}{rows}")).expect("well formed");
        let Chosen {
            slow,
            ordinary,
            of,
            later,
        } = requests.chosen(0.001, 0, u64::MAX);
        assert_eq!((of, later), (1000, 0));
        assert!(slow.len() == 10 && slow.iter().all(|request| request.latency() == 91));
        assert!(ordinary.len() == 10 && ordinary.iter().all(|request| request.latency() < 8));
        let third = requests.all[3];
        assert_eq!(requests.before(&third), Some(&requests.all[0]));
        assert_eq!(requests.before(&requests.all[0]), None);
        let none = requests.chosen(0.001, 0, 250);
        assert!(
            none.slow.is_empty(),
            "too few to tell slow ones from others"
        );
        let cut = requests.chosen(0.001, 100, 750);
        assert_eq!(
            (cut.of, cut.later),
            (6, 1),
            "the slow one is still under way"
        );
    }

    #[test]
    fn what_is_no_file_of_times_is_refused() {
        for bad in [
            "0,1,2\n",
            "0,1,2,3,4,5,x,0,0\n",
            "0,70000,1,1,1,1,1,0,0\n",
            "\n",
        ] {
            assert!(
                Requests::of(&format!("{HEADING}{bad}")).is_none(),
                "{bad:?}"
            );
        }
    }
}
