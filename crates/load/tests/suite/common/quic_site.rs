//! The server of [`super::streams`] over HTTP/3.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use quinn::{Connection, ConnectionError, RecvStream, SendStream, TransportConfig, VarInt};
use tare_load::cache_header::CacheHeader;
use tare_load::h3::varint::{self, Varint};
use tare_load::h3::{ALPN, qpack};

use super::quic;
use super::site::{Log, Request};
use super::streams::{Handler, Rules, parts};

const DATA: u64 = 0;
pub const HEADERS: u64 = 1;
const SETTINGS: u64 = 4;
const GOAWAY: u64 = 7;
const INTERNAL_ERROR: u32 = 0x102;

/// Most bytes of a request.
const LONGEST: usize = 1 << 20;

/// A frame.
fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::write(kind, &mut bytes);
    varint::write(payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// The address of a server that sends what `handler` returns.
pub fn serve(rules: Rules, log: Log, handler: Arc<Handler>) -> SocketAddr {
    let mut transport = TransportConfig::default();
    if let Some(window) = rules.window {
        transport.stream_receive_window(VarInt::from_u32(window));
    }
    let connections = Arc::new(AtomicUsize::new(0));
    quic::serve_over(transport, ALPN, move |connection| {
        let number = connections.fetch_add(1, SeqCst);
        converse(connection, number, rules, log.clone(), handler.clone())
    })
}

/// Answer the requests of a connection, all at once.
async fn converse(
    connection: Connection,
    number: usize,
    rules: Rules,
    log: Log,
    handler: Arc<Handler>,
) -> Result<(), ConnectionError> {
    let mut control = connection.open_uni().await?;
    let hello = [vec![0], frame(SETTINGS, &[])].concat();
    let _ = control.write_all(&hello).await;
    for count in 1.. {
        let (send, receive) = connection.accept_bi().await?;
        let (handler, log) = (handler.clone(), log.clone());
        tokio::spawn(answer(send, receive, number, log, handler));
        if Some(count) == rules.requests {
            let mut first = Vec::new();
            varint::write(4 * count, &mut first);
            let _ = control.write_all(&frame(GOAWAY, &first)).await;
            return Err(connection.closed().await);
        }
    }
    Ok(())
}

/// Answer a request, unless it is given up.
async fn answer(
    mut send: SendStream,
    mut receive: RecvStream,
    connection: usize,
    log: Log,
    handler: Arc<Handler>,
) {
    let Ok(bytes) = receive.read_to_end(LONGEST).await else {
        return;
    };
    let request = read(&bytes, connection);
    let said = handler(&request);
    log.note(request);
    let Some((status, fields, body)) = parts(&said) else {
        let _ = send.reset(VarInt::from_u32(INTERNAL_ERROR));
        return;
    };
    let fields = fields.iter().map(|(name, value)| (name.as_str(), *value));
    let frames = answer_frames(status, fields, body);
    let _ = send.write_all(&frames).await;
    let _ = send.finish();
}

/// The frames of an answer.
pub fn answer_frames<'a>(
    status: &str,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: &str,
) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::begin(&mut section);
    qpack::field(":status", status.as_bytes(), &mut section);
    for (name, value) in fields {
        qpack::field(name, value.as_bytes(), &mut section);
    }
    [frame(HEADERS, &section), frame(DATA, body.as_bytes())].concat()
}

/// The kinds and payloads of frames.
pub fn frames(bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (kind, length) = (number(&mut rest), number(&mut rest));
        let (payload, after) = rest.split_at(usize::try_from(length).expect("a length"));
        found.push((kind, payload));
        rest = after;
    }
    found
}

/// The request in the frames of a stream.
fn read(bytes: &[u8], connection: usize) -> Request {
    let mut body = Vec::new();
    let (mut method, mut path) = (String::new(), String::new());
    let mut headers = Vec::new();
    for (kind, payload) in frames(bytes) {
        if kind == DATA {
            body.extend_from_slice(payload);
            continue;
        }
        assert_eq!(kind, HEADERS);
        let field = |name: &[u8], value: &[u8]| {
            let value = String::from_utf8_lossy(value).into_owned();
            match name {
                b":method" => method = value,
                b":path" => path = value,
                b":authority" => headers.push(format!("host: {value}")),
                b":scheme" => assert_eq!(value, "https"),
                _ => headers.push(format!("{}: {value}", String::from_utf8_lossy(name))),
            }
        };
        qpack::read(payload, &CacheHeader::default(), field).expect("a section");
    }
    Request {
        connection,
        line: format!("{method} {path}"),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

/// Take an integer.
fn number(rest: &mut &[u8]) -> u64 {
    let mut reader = Varint::default();
    loop {
        let (first, after) = rest.split_first().expect("a whole integer");
        *rest = after;
        if let Some(number) = reader.feed(*first) {
            return number;
        }
    }
}
