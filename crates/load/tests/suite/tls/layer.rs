//! The layer by itself: every way to cut what a server says, and what only hand-made records say.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustls::{ProtocolVersion, ServerConfig, ServerConnection};
use tare_load::dialogue::ReadHint;
use tare_load::owed;
use tare_load::protocol::{End, Failure};
use tare_load::random;
use tare_load::spec;
use tare_load::stream::layer::{Layer, Received, Receiver};
use tare_load::stream::tls::record::{Protection, content};
use tare_load::stream::tls::terms::Terms;
use tare_load::stream::tls::trust::Trust;
use tare_load::stream::tls::{HTTP1, Tls, Wire};

use super::server;

/// Keeps the bytes that a dialogue would receive.
#[derive(Default)]
struct Heard {
    secured: bool,
    bytes: Vec<u8>,
}

impl Receiver for Heard {
    fn read_hint(&self) -> ReadHint {
        ReadHint::Recv(usize::MAX)
    }

    fn secured(&mut self) {
        assert!(!self.secured, "a handshake ends once");
        self.secured = true;
    }

    fn recv(&mut self, bytes: &[u8]) -> Result<(), End> {
        assert!(self.secured && !bytes.is_empty());
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn discard(&mut self, _: usize) -> Result<(), End> {
        unreachable!("TLS discards nothing")
    }
}

/// A connection of the layer, and the other end of its socket.
struct Client<'a> {
    layer: Tls<'a>,
    wire: Wire,
    socket: OwnedFd,
    peer: UnixStream,
    heard: Heard,
    sealed: Vec<u8>,
}

fn terms(version: &str, alpn: &[u8]) -> Terms {
    let spec = spec::Tls {
        version: Some(version.into()),
        resume: true,
        ..spec::Tls::default()
    };
    Terms::of(&spec, Trust::Loopback, ["localhost"].into_iter(), alpn).expect("terms")
}

impl<'a> Client<'a> {
    fn new(terms: &'a Terms) -> Self {
        let (socket, peer) = UnixStream::pair().expect("sockets");
        socket.set_nonblocking(true).expect("a socket");
        let mut layer = Tls::new(terms);
        let mut sealed = Vec::new();
        let mut wire = layer.begin(0).expect("a connection");
        assert_eq!(layer.greet(&mut wire, &mut sealed), Ok(false));
        Client {
            layer,
            wire,
            socket: socket.into(),
            peer,
            heard: Heard::default(),
            sealed,
        }
    }

    /// Receives `bytes` in pieces of these sizes, in turn.
    fn receive(&mut self, bytes: &[u8], sizes: &[usize]) -> Result<(), End> {
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            rest = after;
            self.peer.write_all(piece).expect("room");
            let received = self.layer.receive(
                &mut self.wire,
                &self.socket,
                &mut self.heard,
                &mut self.sealed,
            )?;
            match received {
                Received::End => {
                    assert!(rest.is_empty(), "nothing comes after the end");
                    return Err(End::Proper);
                }
                received => assert_eq!(received, Received::All),
            }
        }
        Ok(())
    }

    fn say(&mut self, text: &[u8]) {
        let mut said = text.to_vec();
        let sealed = self.layer.seal(&mut self.wire, &mut said, &mut self.sealed);
        assert!(sealed.is_ok() && said.is_empty());
    }

    /// Makes the handshake with `server`, whose bytes come in pieces.
    fn shake(&mut self, server: &mut ServerConnection, sizes: &[usize]) -> Result<(), End> {
        while server.is_handshaking() || !self.heard.secured || server.wants_write() {
            read(server, &mut self.sealed);
            self.receive(&written(server), sizes)?;
        }
        read(server, &mut self.sealed);
        Ok(())
    }
}

/// What the server makes of what was sealed.
fn read(server: &mut ServerConnection, sealed: &mut Vec<u8>) -> Vec<u8> {
    let mut bytes = sealed.as_slice();
    let mut heard = Vec::new();
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).expect("room");
        let state = server.process_new_packets().expect("correct records");
        let start = heard.len();
        heard.resize(start + state.plaintext_bytes_to_read(), 0);
        let reader = &mut server.reader();
        reader.read_exact(&mut heard[start..]).expect("so much");
    }
    sealed.clear();
    heard
}

fn written(server: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).expect("room");
    }
    bytes
}

fn connection(config: ServerConfig) -> ServerConnection {
    let mut server = ServerConnection::new(Arc::new(config)).expect("a server");
    server.set_buffer_limit(None);
    server
}

#[test]
fn what_is_said_is_heard_however_it_is_cut() {
    let text = random::bytes(3, 40_000);
    for version in ["1.2", "1.3"] {
        let terms = terms(version, HTTP1);
        for sizes in [&[1][..], &[2, 3, 5, 7], &[16_384, 1, 300], &[100_000]] {
            let mut client = Client::new(&terms);
            let mut server = connection(server::config());
            client.shake(&mut server, sizes).expect("a handshake");
            client.say(&text);
            assert!(read(&mut server, &mut client.sealed) == text);
            server.writer().write_all(&text).expect("room");
            let bytes = written(&mut server);
            client.receive(&bytes, sizes).expect("correct records");
            assert!(client.heard.bytes == text, "in pieces of {sizes:?}");
            server.send_close_notify();
            let end = client.receive(&written(&mut server), sizes);
            assert_eq!(end, Err(End::Proper));
        }
        let report = terms.handshakes.report();
        // Each client is a thread of its own, with sessions of its own.
        assert_eq!((report.full, report.resumed, report.other), (4, 0, 0));
    }
}

#[test]
fn http_2_needs_a_server_that_chose_it() {
    let terms = terms("1.3", b"h2");
    let mut config = server::config();
    config.alpn_protocols.clear();
    let end = Client::new(&terms).shake(&mut connection(config), &[100_000]);
    let why = "the server did not choose the requested ALPN protocol";
    assert_eq!(end, Err(End::Broken(Failure::connect(why))));
    let mut config = server::config();
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let end = Client::new(&terms).shake(&mut connection(config), &[100_000]);
    assert_eq!(end, Ok(()));
    assert_eq!(terms.handshakes.report().first.alpn.as_deref(), Some("h2"));
}

#[test]
fn the_system_s_roots_issued_no_certificate_of_ours() {
    let spec = spec::Tls::default();
    match Terms::of(&spec, Trust::System, ["localhost"].into_iter(), HTTP1) {
        Ok(terms) => {
            let end = Client::new(&terms).shake(&mut connection(server::config()), &[100_000]);
            let why = "the server's certificate was issued by none of the roots";
            assert_eq!(end, Err(End::Broken(Failure::connect(why))));
        }
        // A small system has none.
        Err(error) => assert!(
            error
                .to_string()
                .starts_with("tls.roots: this system has no")
        ),
    }
}

#[test]
fn changes_of_keys_are_a_flood_once_too_many_replies_wait() {
    let terms = terms("1.3", HTTP1);
    let mut client = Client::new(&terms);
    let mut server = connection(server::config());
    client.shake(&mut server, &[100_000]).expect("a handshake");
    let mut change = |client: &mut Client<'_>| {
        server.refresh_traffic_keys().expect("TLS 1.3");
        client.receive(&written(&mut server), &[100_000])
    };
    for _ in 0..2 {
        client.layer.taken(&mut client.wire);
        for _ in 0..owed::MOST {
            assert_eq!(change(&mut client), Ok(()));
        }
    }
    let why = "the server asks for more than 1000 replies and takes none";
    let flood = Err(End::Broken(Failure::read(why)));
    assert_eq!(change(&mut client), flood);
}

/// What the client makes of records that are made by hand after its handshake.
fn by_hand(version: &str, kind: u8, pieces: &[&[u8]]) -> Result<Vec<u8>, End> {
    let terms = terms(version, HTTP1);
    let mut client = Client::new(&terms);
    let mut config = server::config();
    config.enable_secret_extraction = true;
    let mut server = connection(config);
    client.shake(&mut server, &[100_000]).expect("a handshake");
    let version = match version {
        "1.2" => ProtocolVersion::TLSv1_2,
        _ => ProtocolVersion::TLSv1_3,
    };
    let secrets = server.dangerous_extract_secrets().expect("secrets");
    let mut protection = Protection::new(version, secrets.tx).expect("a known cipher");
    let mut bytes = Vec::new();
    for piece in pieces {
        protection.seal(kind, piece, &mut bytes).expect("records");
    }
    protection
        .seal(content::DATA, b"after it", &mut bytes)
        .expect("records");
    client.receive(&bytes, &[100_000])?;
    Ok(client.heard.bytes)
}

fn broken(why: &'static str) -> Result<Vec<u8>, End> {
    Err(End::Broken(Failure::read(why)))
}

#[test]
fn alerts_end_the_connection() {
    for version in ["1.2", "1.3"] {
        let alert = |bytes: &[u8]| by_hand(version, content::ALERT, &[bytes]);
        assert_eq!(alert(&[2, 80]), broken("TLS alert internal_error"));
        assert_eq!(alert(&[2]), broken("an invalid TLS alert"));
        assert_eq!(alert(&[1, 90]), Ok(b"after it".to_vec()));
        let unknown = by_hand(version, 24, &[b"heartbeat"]);
        assert!(matches!(unknown, Err(End::Broken(_))));
    }
}

#[test]
fn messages_after_the_handshake() {
    let hand = |pieces: &[&[u8]]| by_hand("1.3", content::HANDSHAKE, pieces);
    let out_of_turn = || broken("a TLS message out of turn");
    // A key update takes effect at once, so that the old key does no more.
    for update in [[24, 0, 0, 1, 0], [24, 0, 0, 1, 1]] {
        let old_key = broken("a TLS record that cannot be decrypted");
        assert_eq!(hand(&[&update]), old_key);
        assert_eq!(hand(&[&update[..3], &update[3..]]), old_key);
    }
    assert_eq!(hand(&[&[24, 0, 0, 1, 2]]), out_of_turn());
    assert_eq!(hand(&[&[24, 0, 0, 1, 0, 4]]), out_of_turn());
    assert_eq!(hand(&[&[1, 0, 0, 0]]), out_of_turn());
    assert_eq!(
        hand(&[&[4, 1, 255, 255]]),
        broken("a TLS message that is too long")
    );
    let ticket = broken("a TLS ticket that cannot be read");
    assert_eq!(hand(&[&[4, 0, 0, 1, 0]]), ticket);
    let amid = broken("a TLS message that is interrupted by another");
    assert_eq!(hand(&[&[4, 0, 0, 9, 0]]), amid);
    let renegotiation = by_hand("1.2", content::HANDSHAKE, &[&[0, 0, 0, 0]]);
    let why = "the server asks for another TLS handshake";
    assert_eq!(renegotiation, broken(why));
}
