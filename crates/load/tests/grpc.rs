//! Answers to calls of gRPC that are none of gRPC, as a proxy gives them.

mod common;
#[path = "common/h2.rs"]
mod frames;

use std::io::{Read, Write};

use common::{assert_adds_up, bare, count, errors, run};
use frames::{data, headers, settings};
use serde_json::json;
use tare_load::h2::frame::{HEADER, Header, flag};

const PREFACE: usize = 24;
const PAGE: &[u8] = b"<html>502 Bad Gateway</html>";

#[test]
fn a_page_instead_of_a_message_counts_by_its_status() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        stream.read_exact(&mut [0; PREFACE])?;
        stream.write_all(&settings(&[]))?;
        loop {
            let mut head = [0; HEADER];
            stream.read_exact(&mut head)?;
            let header = Header::read(&head);
            stream.read_exact(&mut vec![0; header.length])?;
            // Settings have no stream, and their flag is another one.
            if header.stream == 0 || header.flags & flag::END_STREAM == 0 {
                continue;
            }
            let length = PAGE.len().to_string();
            let fields = [
                (":status", "502"),
                ("content-type", "text/html"),
                ("content-length", &length),
            ];
            let head = headers(header.stream, false, &fields);
            stream.write_all(&[head, data(header.stream, true, PAGE)].concat())?;
        }
    });
    let asked = json!({"protocol": "grpc", "requests": 20, "warmup_s": 0, "duration_s": 600});
    let result = run(address, &asked);
    assert_eq!(count(&result, "total.statuses.502"), 20, "{result}");
    assert_eq!(count(&result, "total.errors.status"), 20, "{result}");
    assert_eq!(errors(&result), 20, "{result}");
    assert_adds_up(&result);
}
