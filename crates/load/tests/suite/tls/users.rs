//! Users that take values from answers, in TLS.

use std::io::{self, BufReader, Write};
use std::sync::Arc;

use rustls::{ServerConnection, StreamOwned};
use serde_json::json;

use super::server::{config, listen, run};
use crate::common::site::{answer, read};
use crate::common::{count, errors};

#[test]
fn a_value_of_one_answer_is_in_the_next_request() {
    let config = Arc::new(config());
    let address = listen(move |socket| {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut peer = BufReader::new(StreamOwned::new(connection, socket));
        for number in 0.. {
            let Some(request) = read(&mut peer, 0)? else {
                break;
            };
            let status = match (number % 2, request.line.as_str()) {
                (0, "GET /in") | (1, "GET /17") => "200 OK",
                _ => "404 No",
            };
            let answer = answer(status, "X-Id: 17\r\n", "");
            peer.get_mut().write_all(answer.as_bytes())?;
        }
        Ok(())
    });
    let mix = json!([{"url": "/in", "take": {"id": "header:x-id"}}, {"url": "/${id}"}]);
    let spec = json!({"sequence": {}, "mix": mix, "requests": 40, "warmup_s": 0, "duration_s": 60});
    let result = run(address, &json!({}), &spec);
    assert_eq!(errors(&result), 0, "{result}");
    assert_eq!(count(&result, "total.requests"), 40);
}
