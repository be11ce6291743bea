//! Users that take values from answers, in TLS.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use rustls::{ServerConnection, StreamOwned};
use serde_json::json;
use tare_load::h2::frame::{HEADER, Header, kind};

use super::server::{config, listen, run};
use crate::common::h2::{headers, path, settings};
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

#[test]
fn a_server_that_chooses_http2_has_users_in_streams() {
    let mut config = config();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let address = listen(move |socket| {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut peer = StreamOwned::new(connection, socket);
        peer.read_exact(&mut [0; 24])?;
        peer.write_all(&settings(&[]))?;
        let mut number = 0;
        loop {
            peer.flush()?;
            let mut header = [0; HEADER];
            peer.read_exact(&mut header)?;
            let header = Header::read(&header);
            let mut block = vec![0; header.length];
            peer.read_exact(&mut block)?;
            if header.kind == kind::HEADERS {
                let status = match (number % 2, path(&block).as_str()) {
                    (0, "/in") | (1, "/17") => "200",
                    _ => "404",
                };
                number += 1;
                let fields = [(":status", status), ("x-id", "17")];
                peer.write_all(&headers(header.stream, true, &fields))?;
            }
        }
    });
    let mix = json!([{"url": "/in", "take": {"id": "header:x-id"}}, {"url": "/${id}"}]);
    for protocol in ["h2", "auto"] {
        let spec = json!({"protocol": protocol, "sequence": {}, "mix": mix, "requests": 40,
                          "warmup_s": 0, "duration_s": 60});
        let result = run(address, &json!({}), &spec);
        assert_eq!(errors(&result), 0, "{result}");
        assert_eq!(count(&result, "total.statuses.200"), 40);
        assert_eq!(result["protocol"], "h2");
    }
}
