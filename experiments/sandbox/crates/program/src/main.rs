//! `tare-sandbox`: runs foreign binaries, isolated, and calls them.

mod audit;
mod bench;
mod benchmark;
mod broker;
mod client;
mod daemon;
mod doors;
mod functions;
mod idle;
mod init;
mod instrument;
mod launch;
mod loads;
mod named;
mod numbered;
mod payloads;
mod peer;
mod place;
mod protocol;
mod reply;
mod serve;
mod server;
mod service;
mod settings;

use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Parser, Subcommand};
use sandbox_runtime::call::HostFunctions;
use sandbox_runtime::{Runtime, home, modes};

use crate::client::Client;
use crate::daemon::{Daemon, read};
use crate::protocol::{Action, Call, Load, LoadOptions};
use crate::service::Service;

/// Bring your own binary: load it once, call it often, each call in a worker of its own.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct At {
    /// The daemon's socket [default: /run/tare-sandbox/socket, or below XDG_RUNTIME_DIR if not root]
    #[arg(long, env = "TARE_SANDBOX")]
    socket: Option<PathBuf>,
}

impl At {
    fn socket(self, home: impl Fn() -> Result<PathBuf, String>) -> Result<PathBuf> {
        let default = || home().map(|home| home.join("socket"));
        self.socket
            .map_or_else(default, Ok)
            .map_err(|why| anyhow!(why))
    }
}

#[derive(clap::Args)]
struct To {
    #[command(flatten)]
    at: At,
    /// User whose daemon may answer, besides root's and one's own
    #[arg(long, value_name = "UID")]
    daemon_user: Option<u32>,
}

impl To {
    fn client(self) -> Result<Client> {
        let socket = self.at.socket(home::place)?;
        Client::connect(&socket, self.daemon_user)
    }
}

#[derive(Subcommand)]
enum Command {
    /// Run the daemon until SIGTERM or SIGINT; its socket is there once everything is ready
    Serve {
        #[command(flatten)]
        at: At,
        /// Mode that isolates the binaries: see `tare-sandbox modes`
        #[arg(long)]
        mode: String,
        /// Binaries to load at once, as NAME=FILE, all with the options that follow
        #[arg(long, value_name = "NAME=FILE")]
        load: Vec<String>,
        #[command(flatten)]
        service: Service,
        #[command(flatten)]
        options: LoadOptions,
        /// The user to become, of the process that serves clients for a launcher
        #[arg(long, hide = true)]
        broker: Option<u32>,
    },
    /// Load a binary
    Load {
        #[command(flatten)]
        to: To,
        /// Name of the loaded binary
        name: String,
        /// A static ELF file for this machine
        file: PathBuf,
        #[command(flatten)]
        options: LoadOptions,
    },
    /// Call a binary: the request comes from standard input, the response goes to standard output
    Call {
        #[command(flatten)]
        to: To,
        /// Name of the loaded binary
        name: String,
        /// Milliseconds that the call may take
        #[arg(long, default_value_t = 0, hide_default_value = true)]
        deadline_ms: u64,
        /// A number by which `tare-sandbox cancel` finds the call, and all others that have it
        #[arg(long, default_value_t = 0, hide_default_value = true)]
        number: u64,
        /// Answer on standard error how long its parts took
        #[arg(long)]
        times: bool,
    },
    /// Cancel all calls that have a number
    Cancel {
        #[command(flatten)]
        to: To,
        /// Number as given to `tare-sandbox call --number`
        number: u64,
    },
    /// Unload a binary, after the calls under way
    Unload {
        #[command(flatten)]
        to: To,
        /// Name of the loaded binary
        name: String,
    },
    /// Print statistics in JSON
    Stats {
        #[command(flatten)]
        to: To,
        /// Medians, 99th percentiles and largest times begin anew with this reading
        #[arg(long)]
        anew: bool,
    },
    /// List the modes with what they promise, and try each of them here
    Modes,
    /// Measure how long a binary takes to load: an instrument of tare's
    Loads {
        /// Measurement to make, in JSON
        #[arg(long)]
        spec: PathBuf,
    },
    /// Keep workers ready and do not call them: an instrument of tare's
    Idle {
        /// Measurement to make, in JSON
        #[arg(long)]
        spec: PathBuf,
    },
    /// Run the original's benchmarks here, without the laboratory
    Bench(bench::Options),
}

fn main() -> Result<()> {
    let command = Cli::parse().command;
    if init::is_needed() {
        match init::run()? {}
    }
    match command {
        Command::Serve {
            at,
            mode,
            load,
            service,
            options,
            broker,
        } => serve::run(Daemon {
            socket: at.socket(home::make)?,
            mode,
            load,
            service,
            options,
            broker,
        }),
        Command::Load {
            to,
            name,
            file,
            options,
        } => {
            let load = Load {
                name,
                binary: read(&file)?,
                options: Some(options),
            };
            to.client()?.act(Action::Load(load))
        }
        Command::Call {
            to,
            name,
            deadline_ms,
            number,
            times,
        } => {
            let mut request = Vec::new();
            std::io::stdin().read_to_end(&mut request)?;
            let answer = to.client()?.call(Call {
                name,
                request,
                deadline_ms,
                number,
                times,
            })?;
            for time in &answer.times {
                eprintln!("{:8} {:9.1} µs", time.phase, time.ns as f64 / 1e3);
            }
            Ok(std::io::stdout().write_all(&answer.response)?)
        }
        Command::Cancel { to, number } => to.client()?.act(Action::Cancel(number)),
        Command::Unload { to, name } => to.client()?.act(Action::Unload(name)),
        Command::Stats { to, anew } => {
            println!("{}", to.client()?.stats(anew)?);
            Ok(())
        }
        Command::Modes => list_modes(),
        Command::Loads { spec } => loads::run(&spec),
        Command::Idle { spec } => idle::run(&spec),
        Command::Bench(options) => bench::run(&options),
    }
}

fn list_modes() -> Result<()> {
    for mode in modes::all() {
        let (name, summary, promise) = (mode.name(), mode.summary(), mode.promise().in_words());
        match Runtime::new(mode, HostFunctions::default()) {
            Ok(_) => println!("{name:14} works here: {summary}; promises {promise}"),
            Err(why) => println!("{name:14} unavailable: {why}"),
        }
    }
    Ok(())
}
