//! Reports the machine's CPU time by owner over a control socket.
//!
//! With BPF the figures are exact. Without the right to use BPF they come from /proc, where softirq time is
//! sampled and part of it is also charged to the interrupted task.

mod bpf;
mod cost;
mod owners;
mod procfs;
mod report;

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use echo_server::log;
use echo_server::privileges;

use crate::owners::Processes;
use crate::report::{Report, Source};

/// Report CPU time by owner until killed.
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
            log::line(format_args!("echo-cpu-usage: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let processes = Processes::find(&cli.server, cli.backend.as_deref())?;
    let mut source: Box<dyn Source> = match privileges::ensure_bpf() {
        Ok(()) if !cli.procfs => Box::new(bpf::Programs::load()?),
        permitted => {
            let why = permitted
                .err()
                .map_or("--procfs is given".to_owned(), |error| format!("{error:#}"));
            log::line(format_args!(
                "reading /proc ({why}): softirq time is a sample, and part of it is also charged \
                 to the interrupted task"
            ));
            Box::new(procfs::Tasks)
        }
    };
    let _ = std::fs::remove_file(&cli.control);
    let listener = UnixListener::bind(&cli.control)
        .with_context(|| format!("cannot make the control socket {}", cli.control.display()))?;
    log::line("echo-cpu-usage: ready");
    loop {
        let (mut stream, _) = listener.accept().context("accept")?;
        let line = serde_json::to_string(&Report::make(source.as_mut(), &processes)?)? + "\n";
        if let Err(error) = stream.write_all(line.as_bytes()) {
            log::line(format_args!("the control socket's client: {error}"));
        }
    }
}
