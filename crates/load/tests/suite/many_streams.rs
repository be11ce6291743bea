//! A connection on which many requests are late at once.

use std::io::{Read, Write};

use crate::common::h2::settings;
use crate::common::{assert_adds_up, bare, count, errors, run};
use serde_json::json;

const MANY: u64 = 10_000;

#[test]
fn all_late_requests_of_a_connection_are_given_up() {
    let address = bare::tcp("127.0.0.1", |mut stream| {
        stream.write_all(&settings(&[]))?;
        let mut piece = vec![0; 1 << 16];
        while stream.read(&mut piece)? > 0 {}
        Ok(())
    });
    let asked = json!({"protocol": "h2", "connections": 1, "depth": MANY, "requests": MANY,
                       "timeout_s": 1, "warmup_s": 0, "duration_s": 600});
    let result = run(address, &asked);
    assert_eq!(count(&result, "total.errors.timeout"), MANY, "{result}");
    assert_eq!(errors(&result), MANY, "{result}");
    assert_adds_up(&result);
}
