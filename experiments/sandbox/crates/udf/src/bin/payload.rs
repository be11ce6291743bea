//! Takes and gives payloads. `{1: size, 2: count, 3: way, 4: payload…}`; ways: 0 counts the payloads
//! that came with the request, 1 answers with `count` of `size` bytes, 2 passes as many to the host's
//! function "echo", one after the other. Answers `{1: bytes seen, 2: payload…}`.

use tare_udf::message::{Fields, Value, Writer};

fn main() {
    tare_udf::serve(|request, host| {
        let fields = Fields::new(request);
        let number = |field| fields.number(field).unwrap_or(0);
        let payload = vec![b'\n'; number(1) as usize];
        let (mut seen, mut response) = (0, Writer::default());
        match number(3) {
            1 => {
                for _ in 0..number(2) {
                    response = response.bytes(2, &payload);
                    seen += payload.len();
                }
            }
            2 => {
                for _ in 0..number(2) {
                    seen += host
                        .call("echo", &payload)
                        .expect("a host")
                        .map_or(0, |output| output.len());
                }
            }
            _ => {
                for value in fields {
                    if let (4, Value::Bytes(bytes)) = value {
                        seen += bytes.len();
                    }
                }
            }
        }
        response.number(1, seen as u64).done()
    });
}
