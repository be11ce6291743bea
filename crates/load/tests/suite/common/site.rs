//! A server of whole requests, which hands each to a closure.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex};

use super::bare;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Method and path.
    pub line: String,
    /// The other lines of the head.
    pub headers: Vec<String>,
    /// Its text; what is none is replaced.
    pub body: String,
}

impl Request {
    /// The value of a header; empty without it.
    pub fn header(&self, name: &str) -> &str {
        let values = self.headers.iter().filter_map(|line| line.split_once(": "));
        let mut own = values.filter(|(other, _)| other.eq_ignore_ascii_case(name));
        own.next().map_or("", |(_, value)| value)
    }

    /// The bytes of its body.
    pub fn length(&self) -> u64 {
        self.header("content-length").parse().unwrap_or(0)
    }
}

/// The requests of a server, in the order in which they came.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Request>>>);

impl Log {
    pub fn taken(&self) -> Vec<Request> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }

    pub fn note(&self, request: Request) {
        self.0.lock().expect("no panic").push(request);
    }
}

/// An answer of status 200.
pub fn ok(headers: &str, body: &str) -> String {
    answer("200 OK", headers, body)
}

pub fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

/// The URL of a server that sends what `handler` returns, and closes after an answer that says so.
pub fn serve(handler: impl Fn(&Request) -> String + Send + Sync + 'static) -> (String, Log) {
    let log = Log::default();
    let (noted, connections) = (log.clone(), Mutex::new(0));
    let address = bare::tcp("127.0.0.1", move |mut stream| {
        let connection = {
            let mut count = connections.lock().expect("no panic");
            *count += 1;
            *count - 1
        };
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader, connection)? {
            let answer = handler(&request);
            noted.note(request);
            stream.write_all(answer.as_bytes())?;
            if answer.contains("Connection: close") || answer.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    });
    (format!("http://{address}"), log)
}

/// The next request of a connection; none at its end.
pub fn read(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Request>> {
    let (mut line, mut lines) = (String::new(), Vec::new());
    while reader.read_line(&mut line)? > 0 && line != "\r\n" {
        lines.push(line.trim_end().to_string());
        line.clear();
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let mut request = Request {
        connection,
        line: lines.remove(0).trim_end_matches(" HTTP/1.1").into(),
        headers: lines,
        body: String::new(),
    };
    let mut body = Vec::new();
    reader.take(request.length()).read_to_end(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(request))
}
