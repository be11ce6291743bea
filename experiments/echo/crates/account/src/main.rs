//! Says on whose account the machine's CPU time went, over a control socket.
//!
//! With BPF exactly, to what ran; without the right to it from /proc, where softirq time is a
//! sample and is charged to the interrupted task besides.

mod book;
mod bpf;
mod cost;
mod people;
mod procfs;

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use echo_server::log::say;
use echo_server::privileges;

use crate::book::{Book, Source};
use crate::people::People;

/// Accounts for CPU time until it is killed.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Unix socket that answers each connection with one line of JSON.
    #[arg(long, value_name = "PATH")]
    control: PathBuf,
    /// Control socket of the server.
    #[arg(long, value_name = "PATH")]
    server: PathBuf,
    /// Control socket of the backend.
    #[arg(long, value_name = "PATH")]
    backend: Option<PathBuf>,
    /// Read /proc even where BPF is permitted.
    #[arg(long)]
    procfs: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("echo-account: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let people = People::find(&cli.server, cli.backend.as_deref())?;
    let mut source: Box<dyn Source> = match privileges::ensure_bpf() {
        Ok(()) if !cli.procfs => Box::new(bpf::Programs::load()?),
        permitted => {
            let why = permitted
                .err()
                .map_or("asked to".to_owned(), |error| format!("{error:#}"));
            say(format_args!(
                "reading /proc ({why}): softirq time is a sample, and part of it is also counted \
                 as the task's that it interrupted"
            ));
            Box::new(procfs::Tasks)
        }
    };
    let _ = std::fs::remove_file(&cli.control);
    let listener = UnixListener::bind(&cli.control)
        .with_context(|| format!("cannot make the control socket {}", cli.control.display()))?;
    say("echo-account: ready");
    loop {
        let (mut stream, _) = listener.accept().context("accept")?;
        let line = serde_json::to_string(&Book::close(source.as_mut(), &people)?)? + "\n";
        if let Err(error) = stream.write_all(line.as_bytes()) {
            say(format_args!("the control socket's client: {error}"));
        }
    }
}
