//! The server around its threads: signals, statistics, the log, the last word in JSON.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::counters::{Counters, Moved};
use crate::log;
use crate::options::Options;
use crate::sockets;
use crate::usage::usage;

const TICK: Duration = Duration::from_secs(1);
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// The resources of one thread of a data path.
#[derive(Debug)]
pub struct Thread<'a> {
    /// The thread's own listener.
    pub listener: OwnedFd,
    /// Readable once no more clients are to be taken.
    pub stop: BorrowedFd<'a>,
    /// The thread's counters.
    pub counters: &'a Counters,
    /// The server's options.
    pub options: &'a Options,
}

/// The statistics, as the control socket gives them.
#[derive(Debug, Serialize)]
struct Statistics<'a> {
    server: &'a str,
    shape: String,
    threads: u16,
    draining: bool,
    uptime_s: f64,
    connections: u64,
    accepted: u64,
    closed: u64,
    aborted: u64,
    by_hand: u64,
    bytes: u64,
    messages: u64,
    messages_per_second_now: f64,
    messages_per_second_mean: f64,
    system_calls: u64,
    cpu_user_s: f64,
    cpu_system_s: f64,
    rss_bytes: u64,
    switches_voluntary: u64,
    switches_involuntary: u64,
}

/// Serve until SIGTERM or SIGINT, then drains. `work` is the data path: it returns when its thread
/// was told to stop and its connections have ended, or the time to drain is over. `in_kernel` reads
/// what was forwarded without any thread.
pub fn serve<W, K>(name: &str, options: &Options, work: W, in_kernel: K) -> ExitCode
where
    W: Fn(Thread<'_>) -> Result<()> + Sync,
    K: Fn() -> Result<Moved>,
{
    match run(name, options, &work, &in_kernel) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::line(format_args!("{name}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run<W, K>(name: &str, options: &Options, work: &W, in_kernel: &K) -> Result<()>
where
    W: Fn(Thread<'_>) -> Result<()> + Sync,
    K: Fn() -> Result<Moved>,
{
    raise_descriptor_limit();
    let (signalled, sender) = UnixStream::pair()?;
    signalled.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT] {
        pipe::register(signal, sender.try_clone()?)?;
    }
    let control = options.control.as_deref().map(control_socket).transpose()?;
    let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let counters: Vec<Counters> = (0..options.threads).map(|_| Counters::default()).collect();
    let listeners = (0..options.threads)
        .map(|_| sockets::listener(options))
        .collect::<Result<Vec<_>>>()?;
    let mut service = Service::new(name, options, &counters, in_kernel);
    thread::scope(|scope| {
        let (stop, ended) = (&stop, &ended);
        let threads: Vec<_> = listeners
            .into_iter()
            .zip(&counters)
            .map(|(listener, counters)| {
                scope.spawn(move || {
                    let end = work(Thread {
                        listener,
                        stop: stop.as_fd(),
                        counters,
                        options,
                    });
                    raise(ended);
                    end
                })
            })
            .collect();
        log::line(format_args!(
            "{name}: listening on {} with {} thread(s), {:?}, congestion control {}",
            options.listen, options.threads, options.shape, options.congestion
        ));
        let watched = service.watch(&signalled, control.as_ref(), stop, ended);
        raise(stop);
        let ends: Vec<_> = threads.into_iter().map(|each| each.join()).collect();
        watched?;
        for end in ends {
            end.map_err(|_| anyhow!("a thread panicked"))??;
        }
        service.last_word()
    })
}

struct Service<'a, K> {
    name: &'a str,
    options: &'a Options,
    counters: &'a [Counters],
    in_kernel: &'a K,
    begun: Instant,
    draining: bool,
    last: (Instant, u64),
    now: f64,
}

impl<'a, K: Fn() -> Result<Moved>> Service<'a, K> {
    fn new(
        name: &'a str,
        options: &'a Options,
        counters: &'a [Counters],
        in_kernel: &'a K,
    ) -> Self {
        let begun = Instant::now();
        let (draining, last, now) = (false, (begun, 0), 0.0);
        Self {
            name,
            options,
            counters,
            in_kernel,
            begun,
            draining,
            last,
            now,
        }
    }

    /// Answer the control socket until the threads have ended: one did, or all were told to.
    fn watch(
        &mut self,
        signalled: &UnixStream,
        control: Option<&Control>,
        stop: &OwnedFd,
        ended: &OwnedFd,
    ) -> Result<()> {
        loop {
            let mut fds = vec![
                PollFd::new(signalled, PollFlags::IN),
                PollFd::new(ended, PollFlags::IN),
            ];
            fds.extend(control.map(|each| PollFd::new(&each.listener, PollFlags::IN)));
            let timeout = Timespec::try_from(TICK).expect("a second fits");
            if let Err(error) = poll(&mut fds, Some(&timeout)) {
                if error == rustix::io::Errno::INTR {
                    continue;
                }
                return Err(error).context("poll");
            }
            let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
            let (signal, end, asked) = (ready(0), ready(1), ready(2));
            self.tick()?;
            if end {
                return Ok(());
            }
            if signal {
                let _ = rustix::io::read(signalled, &mut [0u8; 16]);
                if self.draining {
                    return Ok(());
                }
                self.draining = true;
                log::line(format_args!("{}: told to stop; draining", self.name));
                raise(stop);
            }
            if asked && let Some(control) = control {
                self.answer(control);
            }
        }
    }

    fn answer(&self, control: &Control) {
        let line = self.line();
        let answered = control.listener.accept().and_then(|(mut stream, _)| {
            stream.set_write_timeout(Some(CONTROL_PATIENCE))?;
            stream.write_all(line.as_bytes())
        });
        if let Err(error) = answered {
            log::line(format_args!(
                "{}: the control socket's client: {error}",
                self.name
            ));
        }
    }

    fn tick(&mut self) -> Result<()> {
        let (then, before) = self.last;
        if then.elapsed() >= TICK {
            let messages = self.moved()?.messages;
            self.now = messages.saturating_sub(before) as f64 / then.elapsed().as_secs_f64();
            self.last = (Instant::now(), messages);
        }
        Ok(())
    }

    fn moved(&self) -> Result<Moved> {
        let mut sum = (self.in_kernel)()?;
        for each in self.counters {
            let own = each.moved();
            sum.bytes += own.bytes;
            sum.messages += own.messages;
        }
        Ok(sum)
    }

    fn line(&self) -> String {
        let sum = |which: fn(&Counters) -> u64| self.counters.iter().map(which).sum::<u64>();
        let used = usage();
        let moved = self.moved().unwrap_or_default();
        let uptime_s = self.begun.elapsed().as_secs_f64();
        let closed = sum(|each| each.closed.load(Relaxed));
        let accepted = sum(|each| each.accepted.load(Relaxed));
        let statistics = Statistics {
            server: self.name,
            shape: format!("{:?}", self.options.shape).to_lowercase(),
            threads: self.options.threads,
            draining: self.draining,
            uptime_s,
            connections: accepted.saturating_sub(closed),
            accepted,
            closed,
            aborted: sum(|each| each.aborted.load(Relaxed)),
            by_hand: sum(|each| each.by_hand.load(Relaxed)),
            bytes: moved.bytes,
            messages: moved.messages,
            messages_per_second_now: self.now,
            messages_per_second_mean: moved.messages as f64 / uptime_s,
            system_calls: sum(|each| each.calls.load(Relaxed)),
            cpu_user_s: used.cpu_user_s,
            cpu_system_s: used.cpu_system_s,
            rss_bytes: used.rss_bytes,
            switches_voluntary: used.switches_voluntary,
            switches_involuntary: used.switches_involuntary,
        };
        serde_json::to_string(&statistics).expect("numbers and words") + "\n"
    }

    fn last_word(&self) -> Result<()> {
        log::line(format_args!("{}: ended", self.name));
        std::io::stdout()
            .write_all(self.line().as_bytes())
            .context("standard output")
    }
}

/// The control socket; its file goes with it.
struct Control {
    listener: UnixListener,
    path: std::path::PathBuf,
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn control_socket(path: &Path) -> Result<Control> {
    let _ = std::fs::remove_file(path); // of a server that was killed
    let listener = UnixListener::bind(path)
        .with_context(|| format!("cannot make the control socket {}", path.display()))?;
    Ok(Control {
        listener,
        path: path.to_owned(),
    })
}

fn raise(event: &OwnedFd) {
    let _ = rustix::io::write(event, &1u64.to_ne_bytes());
}

fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
