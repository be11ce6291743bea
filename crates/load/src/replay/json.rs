//! Logs of JSON objects, one a line, by the names that servers and their users give the fields.

use serde_json::Value;

use super::combined::request_line;
use super::entry::{Entry, Sent};
use super::fault::Fault;
use super::stamp;

const TIME: [&str; 7] = [
    "time",
    "ts",
    "timestamp",
    "@timestamp",
    "msec",
    "time_iso8601",
    "time_local",
];
const METHOD: [&str; 2] = ["method", "request_method"];
const URL: [&str; 4] = ["url", "uri", "path", "request_uri"];
const STATUS: [&str; 2] = ["status", "status_code"];
const SIZE: [&str; 4] = ["size", "bytes", "body_bytes_sent", "bytes_sent"];
const BODY_SIZE: [&str; 2] = ["request_body_size", "body_size"];

/// A request in one line. Method, URL and headers may be in an object `request`, as Caddy has them, or
/// its first line in a text of that name.
///
/// # Errors
/// The part that is missing or wrong.
pub fn entry(line: &str) -> Result<Entry, Fault> {
    let object: Value = serde_json::from_str(line).map_err(|why| why.to_string())?;
    let request = &object["request"];
    let field = |names: &[&str]| {
        let mut places = [&object, request].into_iter();
        places.find_map(|place| {
            names
                .iter()
                .map(|name| &place[*name])
                .find(|v| !v.is_null())
        })
    };
    let text = |names: &[&str]| field(names).and_then(Value::as_str);
    let (method, url) = match request.as_str() {
        Some(line) => request_line(line)?,
        None => (
            text(&METHOD).unwrap_or("GET"),
            text(&URL).ok_or("no url, uri, path or request_uri")?,
        ),
    };
    let time = field(&TIME).ok_or("no time, ts or timestamp")?;
    let mut entry = Entry::new(stamp(time)?, method, url)?;
    entry.status = field(&STATUS)
        .and_then(number)
        .and_then(|status| u16::try_from(status).ok());
    entry.size = field(&SIZE).and_then(number);
    if let Some(headers) = field(&["headers"]) {
        add_headers(&mut entry, headers)?;
    }
    if let Some(body) = field(&["body"]) {
        let text = body.as_str().ok_or("a body that is no text")?;
        entry.body = Sent::Bytes(text.into());
    }
    if let Some(size) = field(&BODY_SIZE).and_then(number) {
        entry.body_size(size)?;
    }
    Ok(entry)
}

/// The time in a field: a number, or a text in one of the known formats.
fn stamp(value: &Value) -> Result<stamp::Stamp, Fault> {
    if let Some(value) = value.as_f64() {
        return stamp::unix(value);
    }
    let text = value.as_str().unwrap_or_default();
    match text.parse() {
        Ok(value) => stamp::unix(value),
        Err(_) => stamp::iso(text).or_else(|fault| stamp::common(text).map_err(|_| fault)),
    }
}

fn add_headers(entry: &mut Entry, headers: &Value) -> Result<(), Fault> {
    let object = headers.as_object().ok_or("headers are no object")?;
    for (name, value) in object {
        let several = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in several {
            let value = value.as_str().ok_or("a header that is no text")?;
            entry.add_header(name, value)?;
        }
    }
    Ok(())
}

/// A whole number, which may be written as a text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_names_of_several_servers() {
        let own = entry(
            r#"{"time": "2024-02-29T00:00:00.250Z", "method": "PUT", "url": "http://h/a?b",
                "headers": {"X-A": ["1", "2"], "Host": "h"}, "body": "hi", "status": 201, "size": 7}"#,
        );
        let own = own.unwrap();
        assert_eq!((own.method.as_str(), own.path.as_str()), ("PUT", "/a?b"));
        assert_eq!(
            (own.status, own.size, own.headers.len()),
            (Some(201), Some(7), 2)
        );
        assert_eq!(own.body, Sent::Bytes(b"hi".into()));
        let caddy = entry(
            r#"{"level": "info", "ts": 1709164800.25, "request": {"method": "POST", "uri": "/c",
                "headers": {"User-Agent": ["x"]}}, "size": 9, "status": 200, "body_size": 5}"#,
        );
        let caddy = caddy.unwrap();
        assert_eq!((caddy.at, caddy.path.as_str()), (own.at, "/c"));
        assert_eq!((caddy.body, caddy.headers.len()), (Sent::Size(5), 1));
        let nginx = entry(
            r#"{"msec": "1709164800.250", "request": "GET /n HTTP/2.0", "status": "200",
                "body_bytes_sent": "11"}"#,
        );
        let nginx = nginx.unwrap();
        assert_eq!((nginx.at, nginx.path.as_str()), (own.at, "/n"));
        assert_eq!((nginx.status, nginx.size), (Some(200), Some(11)));
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for line in [
            "",
            "{",
            "[]",
            "1",
            r#"{"time": 1}"#,
            r#"{"uri": "/"}"#,
            r#"{"time": [], "uri": "/"}"#,
            r#"{"time": 1, "uri": 2}"#,
            r#"{"time": 1, "uri": "/", "headers": [1]}"#,
            r#"{"time": 1, "uri": "/", "headers": {"X": 1}}"#,
            r#"{"time": 1, "uri": "/", "body_size": 99999999999}"#,
            r#"{"time": 1, "uri": "/", "body": {"a": 1}}"#,
        ] {
            assert!(entry(line).is_err(), "{line}");
        }
    }
}
