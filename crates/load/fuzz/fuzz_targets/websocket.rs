//! Any bytes from a WebSocket server, in one piece or in three, are read the same and without a crash.
//!
//! `cargo +nightly fuzz run websocket` in `crates/load`. The first bytes say where the cuts are, how many
//! messages are on their way, and whether the server has switched; `E` followed by a number in the rest
//! stands for the echo of that message's first bytes.
#![no_main]

use base64::Engine as _;
use libfuzzer_sys::fuzz_target;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tare_load::dialogue::Dialogue;
use tare_load::echo::Messages;
use tare_load::keys::Keys;
use tare_load::protocol::{End, Event};
use tare_load::target::Target;
use tare_load::websocket::{Upgrade, WebSocket};

const SIZE: usize = 20;

/// The events but those of an answer's begin, the end, and the client's bytes.
type Outcome = (Vec<Event>, End, Vec<u8>);

fn outcome(upgrade: &[Upgrade], messages: &Messages, pieces: &[&[u8]], asked: usize) -> Outcome {
    let keys = vec![Keys::new(None, 0, 0, (0, 1))];
    let mut client = WebSocket::new(upgrade, messages, asked, keys, 0);
    let (mut said, mut events) = (Vec::new(), Vec::new());
    let mut connection = client.begin(0, &mut said);
    let mut request = 0;
    for piece in pieces {
        if let Err(end) = client.recv(&mut connection, piece, &mut said, &mut events) {
            events.retain(|event| !matches!(event, Event::Begun(_)));
            return (events, end, said);
        }
        // Messages go out once, when the switch is done.
        while request < asked && client.room(&connection) > 0 {
            let sent = client.send(&mut connection, request, 0, &mut said);
            sent.expect("room for it");
            request += 1;
        }
    }
    let end = client.recv_end(&mut connection, &mut events);
    events.retain(|event| !matches!(event, Event::Begun(_)));
    (events, end, said)
}

fuzz_target!(|input: &[u8]| {
    let Some(([one, two, asked], rest)) = input.split_first_chunk() else {
        return;
    };
    let target = Target::parse("ws://h/").expect("a target");
    let upgrade = [Upgrade::new(&target, &[], 1).expect("an upgrade")];
    let messages = Messages::new(1, SIZE);
    let mut request = Vec::new();
    upgrade[0].write(&mut Keys::new(None, 0, 0, (0, 1)), &mut request);
    let request = String::from_utf8(request).expect("text");
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    let both = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.expect("a key"));
    let proof = digest(&SHA1_FOR_LEGACY_USE_ONLY, both.as_bytes());
    let proof = base64::engine::general_purpose::STANDARD.encode(proof);
    let head = match asked % 8 {
        7 => String::new(),
        _ => format!("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {proof}\r\n\r\n"),
    };
    let mut bytes = Vec::new();
    let mut left = rest.iter();
    while let Some(byte) = left.next() {
        match (byte, left.as_slice().first()) {
            (b'E', Some(number)) => {
                bytes.extend_from_slice(messages.message(usize::from(*number)));
                left.next();
            }
            _ => bytes.push(*byte),
        }
    }
    let one = usize::from(*one).min(bytes.len());
    let two = (one + usize::from(*two)).min(bytes.len());
    let asked = usize::from(asked % 8) + 1;
    // The head is a piece of its own, so that the messages are on their way when frames come.
    let head = head.as_bytes();
    let whole = outcome(&upgrade, &messages, &[head, &bytes], asked);
    let cut = outcome(&upgrade, &messages, &[head, &bytes[..one], &bytes[one..two], &bytes[two..]], asked);
    assert_eq!(cut, whole);
    assert!(whole.0.len() <= asked);
});
