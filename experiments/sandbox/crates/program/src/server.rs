//! The daemon: a thread for each connection, whose calls are made one after the other.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sandbox_runtime::binary::Binary;
use sandbox_runtime::budget::{Budget, Share};
use sandbox_runtime::call::Caller;
use sandbox_runtime::failure::Failure;
use sandbox_runtime::{Runtime, Settings};

use crate::peer;
use crate::protocol::{
    self, Action, Answer, Call, Channel, Load, LoadOptions, Refusal, Request, Response, Time,
    framed,
};
use crate::reply::Reply;

/// Connections that are served at once.
const CONNECTIONS: usize = 4096;

/// Memory of the daemon besides requests and responses, unless asked for otherwise, in MiB.
const MORE_MB: u64 = 2048;

/// The options of serving clients.
#[derive(clap::Args)]
pub struct Service {
    /// Folder of the logs of binaries loaded with --log, each NAME.log
    #[arg(long, value_name = "FOLDER")]
    logs: Option<PathBuf>,
    /// Milliseconds that a client has to read a reply, before its connection is closed
    #[arg(long, default_value_t = 30_000)]
    reply_ms: u64,
    /// Memory of the requests and responses of all clients together, in MiB
    #[arg(long, default_value_t = 1024)]
    payload_mb: usize,
    /// Memory of the daemon itself, its workers' apart, in MiB [default: 2048 more than --payload-mb, where
    /// it has a control group of its own]
    #[arg(long, value_parser = clap::value_parser!(u32).range(16..))]
    daemon_mb: Option<u32>,
    /// Seconds of CPU time that compiling a module of mode wasm may take, and four times as long
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    compile_s: u32,
    /// Memory that compiling a module may take, in MiB
    #[arg(long, default_value_t = 512)]
    compile_mb: u32,
}

impl Service {
    /// Limit the memory of this process, as far as it has a control group of its own.
    ///
    /// # Errors
    ///
    /// The reason, if a limit was asked for and there can be none.
    pub fn limit_memory(&self, runtime: &Runtime) -> Result<(), String> {
        let usual = MORE_MB.saturating_add(self.payload_mb as u64);
        let wanted = self.daemon_mb.map_or(usual, u64::from);
        let limited = runtime.limit_own_memory(wanted.saturating_mul(1 << 20))?;
        if self.daemon_mb.is_some() && !limited {
            return Err(
                "--daemon-mb: the daemon has no control group of its own; start it in one \
                 (systemd-run --scope --property=Delegate=yes), and in another mode than wasm"
                    .into(),
            );
        }
        Ok(())
    }
}

/// The daemon's state.
pub struct Server {
    runtime: Runtime,
    service: Service,
    budget: Arc<Budget>,
    connections: AtomicUsize,
    numbered: Mutex<HashMap<u64, Arc<Caller>>>,
}

impl Server {
    /// Serve `runtime`.
    pub fn new(runtime: Runtime, service: Service) -> Self {
        Server {
            runtime,
            budget: Budget::new(service.payload_mb.saturating_mul(1 << 20)),
            service,
            connections: AtomicUsize::new(0),
            numbered: Mutex::default(),
        }
    }

    /// Load a binary.
    pub fn load(
        &self,
        name: &str,
        binary: Vec<u8>,
        options: Option<&LoadOptions>,
    ) -> Result<(), String> {
        let options = options.copied().unwrap_or_default();
        let logged = options.log.unwrap_or_default();
        let mut settings = Settings {
            log: logged.then(|| self.log(name)).transpose()?,
            ..settings(&options)
        };
        settings.limits.compile_s = self.service.compile_s;
        settings.limits.compile_bytes = u64::from(self.service.compile_mb) << 20;
        self.runtime.load(name, Binary::new(binary)?, settings)
    }

    /// The log of what is loaded as `name`.
    fn log(&self, name: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.service.logs else {
            return Err("there is no folder for logs; start the sandbox with --logs FOLDER".into());
        };
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(format!(
                "a log named after {name:?}: expected a name that can be a file's"
            ));
        }
        Ok(folder.join(format!("{name}.log")))
    }

    /// Accept connections at `socket` on a thread of its own, for ever.
    pub fn listen(self: &Arc<Self>, socket: &Path) -> Result<()> {
        if UnixStream::connect(socket).is_ok() {
            bail!(
                "{}: another sandbox serves here; stop it, or choose another --socket",
                socket.display()
            );
        }
        let _ = fs::remove_file(socket);
        // A caller can run programs: only the owner may call, from the first moment.
        let hidden = socket.with_extension("new");
        let _ = fs::remove_file(&hidden);
        let listener = UnixListener::bind(&hidden).with_context(|| hidden.display().to_string())?;
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))?;
        fs::rename(&hidden, socket).with_context(|| socket.display().to_string())?;
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
        Ok(())
    }

    /// End all handles after the calls under way.
    pub fn stop(&self) {
        self.runtime.stop();
    }

    fn welcome(self: &Arc<Self>, stream: UnixStream) {
        if self.connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
            self.connections.fetch_sub(1, Ordering::SeqCst);
            let refusal = refusal(
                "busy",
                format!("{CONNECTIONS} connections are open already"),
            );
            // On the thread that accepts connections: nobody is waited for.
            let _ = Reply::new(stream.as_fd(), encoded(refusal)).send_at_once();
            return;
        }
        if let Err(why) = peer::check(&stream, None) {
            self.connections.fetch_sub(1, Ordering::SeqCst);
            let _ = Reply::new(stream.as_fd(), encoded(refusal("user", why))).send_at_once();
            return;
        }
        let server = self.clone();
        let thread = std::thread::Builder::new().name("connection".into());
        let started = thread.spawn(move || {
            let _ = server.serve(stream);
            server.connections.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            self.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let caller = Caller::new(Some(OwnedFd::from(stream.try_clone()?)))?;
        let caller = match peer::process(&stream) {
            Some(process) => caller.of(process),
            None => caller,
        };
        let caller = Arc::new(caller.within(self.budget.clone()));
        let mut channel = Channel::new(stream);
        loop {
            let mut share = self.budget.share();
            let request = match channel.recv::<Request>(|bytes| share.hold(bytes)) {
                Ok(Some(request)) => request,
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    Reply::new(channel.stream().as_fd(), encoded(crowded()))
                        .send_within(self.patience())?;
                    // The client reads the reply once it has sent all.
                    channel.stream().set_read_timeout(Some(self.patience()))?;
                    return channel.discard();
                }
                other => return other.map(drop),
            };
            match request.action {
                Some(Action::Call(call)) => self.call(&mut channel, &call, &caller, share)?,
                other => Reply::new(channel.stream().as_fd(), encoded(self.act(other)))
                    .send_within(self.patience())?,
            }
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.service.reply_ms)
    }

    fn call(
        &self,
        channel: &mut Channel<UnixStream>,
        call: &Call,
        caller: &Arc<Caller>,
        mut share: Share,
    ) -> io::Result<()> {
        let numbered = || self.numbered.lock().unwrap_or_else(PoisonError::into_inner);
        caller.begin();
        if call.number != 0 {
            numbered().insert(call.number, caller.clone());
        }
        let deadline = (call.deadline_ms > 0).then(|| Duration::from_millis(call.deadline_ms));
        let mut served = self
            .runtime
            .call(&call.name, &call.request, caller, deadline);
        if call.number != 0 {
            numbered().remove(&call.number);
        }
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
        let mut reply = Reply::new(channel.stream().as_fd(), encoded(answer));
        // A response that fits into the socket is there before the work of collecting the worker
        // begins; a client that does not read keeps no worker.
        reply.send_at_once()?;
        drop(served);
        reply.send_within(self.patience())
    }

    fn act(&self, action: Option<Action>) -> Answer {
        match action {
            Some(Action::Load(Load {
                name,
                binary,
                options,
            })) => match self.load(&name, binary, options.as_ref()) {
                Ok(()) => Answer::Done(true),
                Err(why) => refusal("load", why),
            },
            Some(Action::Unload(name)) if self.runtime.unload(&name) => Answer::Done(true),
            Some(Action::Unload(name)) => {
                refusal("unloaded", format!("no binary is loaded as {name:?}"))
            }
            Some(Action::Stats(anew)) => {
                let handles = self.runtime.stats(anew);
                let stats =
                    serde_json::json!({"mode": self.runtime.mode().name(), "handles": handles});
                Answer::Stats(stats.to_string())
            }
            Some(Action::Cancel(number)) => {
                let found = self
                    .numbered
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get(&number)
                    .cloned();
                match found {
                    Some(caller) => {
                        caller.cancel();
                        Answer::Done(true)
                    }
                    None => refusal("request", format!("no call has the number {number}")),
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

fn settings(options: &LoadOptions) -> Settings {
    let mut settings = Settings {
        callbacks: options.callbacks.unwrap_or_default(),
        ..Settings::default()
    };
    let limits = &mut settings.limits;
    let set = |place: &mut u32, value: u32| {
        if value > 0 {
            *place = value;
        }
    };
    set(&mut limits.processes, options.processes);
    set(&mut limits.cpu_s, options.cpu_s);
    set(&mut limits.files, options.files);
    limits.shared = options.shared.unwrap_or_default();
    limits.callbacks = options.callbacks_max.unwrap_or(limits.callbacks);
    if options.memory_mb > 0 {
        limits.memory_bytes = options.memory_mb.saturating_mul(1 << 20);
    }
    for (place, value) in [
        (&mut limits.deadline, options.deadline_ms),
        (&mut limits.start, options.start_ms),
    ] {
        if value > 0 {
            *place = Duration::from_millis(value);
        }
    }
    for (place, value) in [
        (&mut limits.request_bytes, options.request_bytes),
        (&mut limits.response_bytes, options.response_bytes),
    ] {
        *place = value.map_or(*place, |value| usize::try_from(value).unwrap_or(usize::MAX));
    }
    for (place, value) in [
        (&mut limits.log_bytes, options.log_bytes),
        (&mut limits.log_rate, options.log_rate),
    ] {
        if value > 0 {
            *place = value;
        }
    }
    if options.workers > 0 {
        settings.workers = options.workers as usize;
    }
    if options.keepers > 0 {
        settings.keepers = Some(options.keepers as usize);
    }
    settings.queue = options.queue.map_or(settings.queue, |queue| queue as usize);
    for (place, value) in [
        (&mut settings.share.calls, options.client_calls),
        (&mut settings.share.workers, options.client_workers),
    ] {
        if value > 0 {
            *place = value as usize;
        }
    }
    settings
}
