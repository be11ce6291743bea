//! Records: one line each, whatever clients choose for names.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use sandbox_runtime::failure::Failure;
use sandbox_runtime::limits::Limits;
use serde_json::{Map, Value, json};

/// The longest text of a field, in characters; what is longer ends in an ellipsis.
const LONGEST: usize = 256;
/// SIGSYS on Linux for x86-64: the kernel's filter of system calls kills with it.
const SIGSYS: i32 = 31;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client {
    /// Its process; none in another PID namespace.
    pub pid: Option<u64>,
    /// Its user.
    pub uid: Option<u32>,
}

/// A kind of event, and its fields.
#[derive(Debug)]
pub struct Event {
    name: &'static str,
    fields: Value,
}

impl Event {
    /// An event of any kind; `fields` is an object.
    pub fn of(name: &'static str, fields: Value) -> Self {
        Event { name, fields }
    }

    /// The same of a client's.
    pub fn by(client: Client, name: &'static str, mut fields: Value) -> Self {
        fields["pid"] = json!(client.pid);
        fields["uid"] = json!(client.uid);
        Event { name, fields }
    }

    /// Return its kind, of which a second may have so many: its name, and true if it is of a failure.
    pub fn kind(&self) -> (&'static str, bool) {
        (self.name, self.fields["ok"] == false)
    }

    /// Return the event of a worker that was killed, or ended by the kernel's filter of system calls, as its call's
    /// failure says.
    pub fn of_failure(
        client: Client,
        name: &str,
        failure: &Failure,
        limits: &Limits,
        deadline: Option<Duration>,
    ) -> Option<Self> {
        let deadline = deadline.map_or(limits.deadline, |asked| asked.min(limits.deadline));
        let (reason, limit) = match failure {
            Failure::Memory => ("memory", json!({"memory_bytes": limits.memory_bytes})),
            Failure::CpuTime => ("cpu_time", json!({"cpu_s": limits.cpu_s})),
            Failure::Deadline => (
                "deadline",
                json!({"deadline_ms": deadline.as_millis() as u64}),
            ),
            Failure::Cancelled => ("cancelled", Value::Null),
            Failure::Protocol(_) => ("protocol", Value::Null),
            Failure::Died(how) if *how == format!("signal {SIGSYS}") => {
                let fields = json!({"name": name, "message": failure.to_string()});
                return Some(Self::by(client, "denial", fields));
            }
            _ => return None,
        };
        let fields = json!({"name": name, "reason": reason, "limit": limit});
        Some(Self::by(client, "kill", fields))
    }
}

/// An event with its number and its time.
#[derive(Debug)]
pub struct Record {
    number: u64,
    time: SystemTime,
    event: Event,
}

impl Record {
    /// Of now.
    pub fn new(number: u64, event: Event) -> Self {
        Record {
            number,
            time: SystemTime::now(),
            event,
        }
    }

    /// Return the record as JSON, with its line feed: of ASCII alone, so that nothing in it is the end of a line to
    /// anybody.
    pub fn line(&self) -> Vec<u8> {
        let mut all = Map::new();
        all.insert("seq".into(), self.number.into());
        let time = humantime::format_rfc3339_micros(self.time).to_string();
        all.insert("time".into(), time.into());
        all.insert("event".into(), self.event.name.into());
        if let Value::Object(fields) = &self.event.fields {
            all.extend(
                fields
                    .iter()
                    .map(|(key, value)| (key.clone(), bounded(value))),
            );
        }
        let mut line = ascii(&Value::Object(all).to_string());
        line.push('\n');
        line.into_bytes()
    }
}

/// The value, its texts cut to the longest there may be.
fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

/// JSON with every character beyond ASCII, and DEL, as its escape.
fn ascii(json: &str) -> String {
    let mut all = String::with_capacity(json.len());
    for character in json.chars() {
        if (' '..='~').contains(&character) {
            all.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(all, "\\u{unit:04x}");
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fields: Value) -> String {
        String::from_utf8(Record::new(7, Event::of("call", fields)).line()).unwrap()
    }

    #[test]
    fn no_name_makes_a_second_line_or_another_field() {
        let names = [
            "a\n{\"seq\":8,\"event\":\"load\"}",
            "a\",\"event\":\"load\",\"x\":\"",
            "\r\u{b}\u{c}\u{1c}\u{85}\u{2028}\u{2029}\0\u{7f}",
            "ä€😀\\",
        ];
        for name in names {
            let line = line(json!({"name": name}));
            let body = line.strip_suffix('\n').unwrap();
            assert!(
                body.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
                "{line}"
            );
            let read: Value = serde_json::from_str(body).unwrap();
            assert_eq!(read["name"], name);
            assert_eq!((&read["event"], &read["seq"]), (&json!("call"), &json!(7)));
        }
    }

    #[test]
    fn a_long_name_is_cut() {
        let read: Value = serde_json::from_str(&line(json!({"name": "ä".repeat(5000)}))).unwrap();
        assert_eq!(read["name"], format!("{}…", "ä".repeat(256)));
    }

    #[test]
    fn kills_name_the_limit_that_was_hit() {
        let limits = Limits::default();
        let of = |failure, deadline| {
            let event = Event::of_failure(Client::default(), "f", &failure, &limits, deadline)?;
            Some((
                event.name,
                event.fields["reason"].clone(),
                event.fields["limit"].clone(),
            ))
        };
        let kill = |reason: &str, limit| Some(("kill", json!(reason), limit));
        let memory = json!({"memory_bytes": 256 << 20});
        assert_eq!(of(Failure::Memory, None), kill("memory", memory));
        let cpu = json!({"cpu_s": 60});
        assert_eq!(of(Failure::CpuTime, None), kill("cpu_time", cpu));
        for (asked, found) in [(None, 10_000), (Some(5), 5), (Some(99_000), 10_000)] {
            let deadline = asked.map(Duration::from_millis);
            let limit = json!({"deadline_ms": found});
            assert_eq!(of(Failure::Deadline, deadline), kill("deadline", limit));
        }
        let protocol = Failure::Protocol("?".into());
        assert_eq!(of(protocol, None), kill("protocol", Value::Null));
        let denied = of(Failure::Died("signal 31".into()), None);
        assert_eq!(denied.map(|found| found.0), Some("denial"));
        assert_eq!(of(Failure::Died("signal 11".into()), None), None);
        assert_eq!(of(Failure::Busy, None), None);
    }
}
