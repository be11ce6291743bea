//! The daemon: a thread for each connection, whose calls are made one after the other.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox_runtime::binary::{self, Binary};
use sandbox_runtime::budget::{Budget, Share};
use sandbox_runtime::call::Caller;
use sandbox_runtime::failure::Failure;
use sandbox_runtime::opener::Opener;
use sandbox_runtime::{Runtime, Settings};
use serde_json::{Value, json};

use crate::audit::{Audit, Client, Event};
use crate::doors::Doors;
use crate::numbered::Numbered;
use crate::peer;
use crate::protocol::{
    self, Action, Answer, Call, Channel, Load, LoadOptions, Refusal, Request, Response, Time,
    framed,
};
use crate::reply::Reply;
use crate::service::Service;
use crate::settings::settings;

/// Bytes of the longest name of a binary.
const NAME_MAX: usize = 256;

/// The daemon's state.
pub struct Server {
    runtime: Runtime,
    service: Service,
    budget: Arc<Budget>,
    binaries: Arc<Budget>,
    audit: Audit,
    /// Opens logs.
    open: Box<dyn Fn(&str) -> Opener + Send + Sync>,
    doors: Arc<Doors>,
    numbered: Numbered,
}

impl Server {
    /// Serve `runtime`, over so many `connections` at most. `open` opens logs by their names; `process` is the
    /// daemon's.
    pub fn new(
        runtime: Runtime,
        (service, connections): (Service, usize),
        audit: Audit,
        open: Box<dyn Fn(&str) -> Opener + Send + Sync>,
        process: u32,
    ) -> Self {
        audit.note(|| {
            let version = env!("CARGO_PKG_VERSION");
            let mode = runtime.mode().name();
            Event::of(
                "start",
                json!({"mode": mode, "version": version, "daemon": process}),
            )
        });
        Server {
            runtime,
            audit,
            open,
            budget: Budget::new(service.payload_mb.saturating_mul(1 << 20)),
            binaries: Budget::new(service.binaries_mb.saturating_mul(1 << 20)),
            service,
            doors: Doors::new(connections),
            numbered: Numbered::default(),
        }
    }

    /// Load a binary, for a client or for who started the daemon.
    pub fn load(
        &self,
        client: Client,
        name: &str,
        binary: Vec<u8>,
        options: Option<&LoadOptions>,
    ) -> Result<(), String> {
        let bytes = binary.len();
        let sha256 = self.audit.is_open().then(|| binary::sha256(&binary));
        let done = self.loaded(name, binary, options);
        self.audit.note(|| {
            let (ok, message) = (done.is_ok(), done.as_ref().err());
            let fields = json!({"name": name, "bytes": bytes, "sha256": sha256, "ok": ok, "message": message});
            Event::by(client, "load", fields)
        });
        done
    }

    fn loaded(
        &self,
        name: &str,
        binary: Vec<u8>,
        options: Option<&LoadOptions>,
    ) -> Result<(), String> {
        let options = options.copied().unwrap_or_default();
        let logged = options.log.unwrap_or_default();
        if name.len() > NAME_MAX {
            let found = name.len();
            return Err(format!(
                "a name of {found} bytes, expected at most {NAME_MAX}"
            ));
        }
        let mut share = self.binaries.share();
        if !share.hold(binary.len()) {
            return Err(
                "the binaries that are loaded take all their memory; unload one, or start the sandbox with a \
                 larger --binaries-mb"
                    .into(),
            );
        }
        let mut settings = Settings {
            log: logged.then(|| self.log(name)).transpose()?,
            share_of_memory: Some(Arc::new(share)),
            ..settings(&options)
        };
        settings.limits.compile_s = self.service.compile_s;
        settings.limits.compile_bytes = u64::from(self.service.compile_mb) << 20;
        self.runtime.load(name, Binary::new(binary)?, settings)
    }

    /// The log of what is loaded as `name`.
    fn log(&self, name: &str) -> Result<Opener, String> {
        if self.service.logs.is_none() {
            return Err("there is no folder for logs; start the sandbox with --logs FOLDER".into());
        }
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(format!(
                "a log named after {name:?}: expected a name that can be a file's"
            ));
        }
        Ok((self.open)(&format!("{name}.log")))
    }

    /// Accept connections on a thread of its own, for ever.
    pub fn accept(self: &Arc<Self>, listener: UnixListener) {
        let server = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => server.welcome(stream),
                    // No descriptors are left: some connection will end.
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        });
    }

    /// End all handles after the calls under way.
    pub fn stop(&self) {
        self.runtime.stop();
        self.audit.end();
    }

    /// Serve a connection on a thread of its own, unless it has to stay out: here nobody is waited for.
    fn welcome(self: &Arc<Self>, stream: UnixStream) {
        let client = peer::client(&stream);
        let door = match self.doors.enter(client.pid) {
            Ok(door) => door,
            Err(why) => {
                let busy = encoded(refusal("busy", why));
                let _ = Reply::new(stream.as_fd(), busy).send_at_once();
                return;
            }
        };
        if let Err(why) = peer::check(&stream, None) {
            self.audit
                .note(|| Event::by(client, "refused", json!({"message": why})));
            let _ = Reply::new(stream.as_fd(), encoded(refusal("user", why))).send_at_once();
            return;
        }
        let server = self.clone();
        let thread = std::thread::Builder::new().name("connection".into());
        // Without a thread the connection is closed.
        let _ = thread.spawn(move || {
            let _ = server.serve(stream);
            drop(door);
        });
    }

    fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let caller = Caller::new(Some(OwnedFd::from(stream.try_clone()?)))?;
        let client = peer::client(&stream);
        let caller = match client.pid {
            Some(process) => caller.of(process),
            None => caller,
        };
        let caller = Arc::new(caller.within(self.budget.clone()));
        let mut channel = Channel::new(stream);
        loop {
            let mut share = self.budget.share();
            let patience = Some(self.patience());
            let request = match channel.recv::<Request>(patience, |bytes| share.hold(bytes)) {
                Ok(Some(request)) => request,
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    Reply::new(channel.stream().as_fd(), encoded(crowded()))
                        .send_within(self.patience())?;
                    drop(share);
                    // The client reads the reply once it has sent all.
                    return channel.discard(self.patience());
                }
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::TimedOut) =>
                {
                    let fields = json!({"message": error.to_string()});
                    self.audit.note(|| Event::by(client, "invalid", fields));
                    return Err(error);
                }
                other => return other.map(drop),
            };
            match request.action {
                Some(Action::Call(call)) => {
                    self.call(&mut channel, &call, (&caller, client), share)?
                }
                other => Reply::new(channel.stream().as_fd(), encoded(self.act(client, other)))
                    .send_within(self.patience())?,
            }
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.service.reply_ms.max(1))
    }

    fn call(
        &self,
        channel: &mut Channel,
        call: &Call,
        (caller, client): (&Arc<Caller>, Client),
        mut share: Share,
    ) -> io::Result<()> {
        let begun = Instant::now();
        caller.begin();
        let numbered = self.numbered.enter(call.number, caller);
        let deadline = (call.deadline_ms > 0).then(|| Duration::from_millis(call.deadline_ms));
        let mut served = self
            .runtime
            .call(&call.name, &call.request, caller, deadline);
        drop(numbered);
        let answer = match &mut served.outcome {
            // It is copied when it is encoded.
            Ok(response) if !share.hold(call.request.len() + 2 * response.len()) => crowded(),
            Ok(response) => {
                let times = served.times.iter().filter(|_| call.times);
                let times = times.map(|(phase, time)| Time {
                    phase: phase.name().into(),
                    ns: time.as_nanos() as u64,
                });
                Answer::Response(Response {
                    response: std::mem::take(response),
                    times: times.collect(),
                })
            }
            Err(failure) => refusal(failure.kind(), failure.to_string()),
        };
        self.audit
            .note(|| called(client, call, &answer, begun.elapsed()));
        let stopped = match (&served.outcome, &served.limits) {
            (Err(failure), Some(limits)) if served.had_a_worker() => {
                Event::of_failure(client, &call.name, failure, limits, deadline)
            }
            _ => None,
        };
        if let Some(event) = stopped {
            self.audit.note(|| event);
        }
        let mut reply = Reply::new(channel.stream().as_fd(), encoded(answer));
        // A response that fits into the socket is there before the work of collecting the worker
        // begins; a client that does not read keeps no worker.
        reply.send_at_once()?;
        drop(served);
        reply.send_within(self.patience())
    }

    fn act(&self, client: Client, action: Option<Action>) -> Answer {
        let note = |name, mut fields: Value, ok: bool| {
            fields["ok"] = ok.into();
            self.audit.note(|| Event::by(client, name, fields));
        };
        match action {
            Some(Action::Load(Load {
                name,
                binary,
                options,
            })) => match self.load(client, &name, binary, options.as_ref()) {
                Ok(()) => Answer::Done(true),
                Err(why) => refusal("load", why),
            },
            Some(Action::Unload(name)) => {
                let done = self.runtime.unload(&name);
                note("unload", json!({"name": name}), done);
                if done {
                    Answer::Done(true)
                } else {
                    refusal("unloaded", format!("no binary is loaded as {name:?}"))
                }
            }
            Some(Action::Stats(anew)) => {
                let handles = self.runtime.stats(anew);
                let stats =
                    serde_json::json!({"mode": self.runtime.mode().name(), "handles": handles});
                Answer::Stats(stats.to_string())
            }
            Some(Action::Cancel(number)) => {
                let done = self.numbered.cancel(number);
                note("cancel", json!({"number": number}), done);
                if done {
                    Answer::Done(true)
                } else {
                    refusal("request", format!("no call has the number {number}"))
                }
            }
            Some(Action::Call(_)) | None => refusal(
                "request",
                "a request of a kind that is not known here".into(),
            ),
        }
    }
}

fn encoded(answer: Answer) -> Vec<u8> {
    framed(&protocol::Reply {
        answer: Some(answer),
    })
}

fn crowded() -> Answer {
    let failure = Failure::Crowded;
    refusal(failure.kind(), failure.to_string())
}

fn refusal(kind: &str, message: String) -> Answer {
    Answer::Refusal(Refusal {
        kind: kind.into(),
        message,
    })
}

/// Return the event of a call that has ended.
fn called(client: Client, call: &Call, answer: &Answer, took: Duration) -> Event {
    let (ok, kind, message, bytes) = match answer {
        Answer::Refusal(refusal) => (false, Some(&refusal.kind), Some(&refusal.message), 0),
        Answer::Response(response) => (true, None, None, response.response.len()),
        Answer::Done(_) | Answer::Stats(_) => (true, None, None, 0),
    };
    let fields = json!({
        "name": call.name, "number": call.number, "ok": ok, "kind": kind, "message": message,
        "request_bytes": call.request.len(), "response_bytes": bytes, "us": took.as_micros() as u64,
    });
    Event::by(client, "call", fields)
}
