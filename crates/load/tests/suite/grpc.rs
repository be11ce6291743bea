//! Answers to calls of gRPC that are none of gRPC, as a proxy gives them.

use std::io::Write;

use crate::common::h2::{data, headers, preface, settings, whole_request};
use crate::common::{assert_adds_up, bare, count, errors, run};
use serde_json::json;

const PAGE: &[u8] = b"<html>502 Bad Gateway</html>";

#[test]
fn a_page_instead_of_a_message_counts_by_its_status() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        preface(&mut stream)?;
        stream.write_all(&settings(&[]))?;
        loop {
            let asked = whole_request(&mut stream)?;
            let length = PAGE.len().to_string();
            let fields = [
                (":status", "502"),
                ("content-type", "text/html"),
                ("content-length", &length),
            ];
            let head = headers(asked, false, &fields);
            stream.write_all(&[head, data(asked, true, PAGE)].concat())?;
        }
    });
    let asked = json!({"protocol": "grpc", "requests": 20, "warmup_s": 0, "duration_s": 600});
    let result = run(address, &asked);
    assert_eq!(count(&result, "total.statuses.502"), 20, "{result}");
    assert_eq!(count(&result, "total.errors.status"), 20, "{result}");
    assert_eq!(errors(&result), 20, "{result}");
    assert_adds_up(&result);
}
