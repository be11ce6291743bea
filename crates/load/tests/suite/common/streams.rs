//! A server of whole requests in streams, over HTTP/2 or HTTP/3, which hands each to a closure.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::Response;
use tokio::net::TcpListener;

use super::quic_site;
use super::site::{Log, Request};

/// Returns an answer as [`super::site`] writes it; none resets the stream.
pub type Handler = dyn Fn(&Request) -> String + Send + Sync;

/// A version of HTTP with streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    H2,
    H3,
}

impl Version {
    pub const ALL: [Version; 2] = [Version::H2, Version::H3];

    /// The protocol of a run.
    pub fn protocol(self) -> &'static str {
        match self {
            Version::H2 => "h2",
            Version::H3 => "h3",
        }
    }
}

/// The rules of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Connections say GOAWAY after so many requests.
    pub requests: Option<u64>,
    /// Bytes of a request's body that it takes at a time.
    pub window: Option<u32>,
}

/// The URL of a server that sends what `handler` returns.
pub fn serve(
    version: Version,
    rules: Rules,
    handler: impl Fn(&Request) -> String + Send + Sync + 'static,
) -> (String, Log) {
    let (log, handler): (Log, Arc<Handler>) = (Log::default(), Arc::new(handler));
    let url = match version {
        Version::H2 => format!("http://{}", serve_h2(rules, log.clone(), handler)),
        Version::H3 => format!("https://{}", quic_site::serve(rules, log.clone(), handler)),
    };
    (url, log)
}

/// The status, header and body of an answer.
type Parts<'a> = (&'a str, Vec<(String, &'a str)>, &'a str);

/// The parts of an answer that is written as HTTP/1.1 writes it; none resets the stream.
pub fn parts(answer: &str) -> Option<Parts<'_>> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let fields = lines.filter_map(|line| line.split_once(": "));
    let fields = fields.map(|(name, value)| (name.to_ascii_lowercase(), value));
    Some((status.expect("a status"), fields.collect(), body))
}

fn serve_h2(rules: Rules, noted: Log, handler: Arc<Handler>) -> SocketAddr {
    let mut builder = Builder::new();
    if let Some(window) = rules.window {
        builder.initial_window_size(window);
    }
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("an address");
            send.send(address).expect("a test");
            for connection in 0.. {
                let (socket, _) = listener.accept().await.expect("a connection");
                let peer = builder.handshake::<_, Bytes>(socket);
                let (handler, log) = (handler.clone(), noted.clone());
                tokio::spawn(async move {
                    let mut peer = peer.await?;
                    let mut number = 0;
                    while let Some(accepted) = peer.accept().await {
                        let (request, respond) = accepted?;
                        let (handler, log) = (handler.clone(), log.clone());
                        tokio::spawn(async move {
                            let request = read(request, connection).await?;
                            let answer = handler(&request);
                            log.note(request);
                            say(&answer, respond)
                        });
                        number += 1;
                        if Some(number) == rules.requests {
                            peer.graceful_shutdown();
                        }
                    }
                    Ok::<(), h2::Error>(())
                });
            }
        });
    });
    receive.recv().expect("a server")
}

async fn read(request: http::Request<RecvStream>, connection: usize) -> Result<Request, h2::Error> {
    let (head, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        bytes.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len())?;
    }
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    let host = head.uri.authority().map(|host| format!("host: {host}"));
    let lines = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        format!("{name}: {value}")
    });
    Ok(Request {
        connection,
        line: format!("{} {path}", head.method),
        headers: host.into_iter().chain(lines).collect(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn say(answer: &str, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let Some((status, fields, body)) = parts(answer) else {
        respond.send_reset(Reason::INTERNAL_ERROR);
        return Ok(());
    };
    let mut response = Response::builder().status(status);
    for (name, value) in fields {
        response = response.header(name, value);
    }
    let response = response.body(()).expect("a response");
    let mut stream = respond.send_response(response, body.is_empty())?;
    match body.is_empty() {
        true => Ok(()),
        false => stream.send_data(Bytes::copy_from_slice(body.as_bytes()), true),
    }
}
