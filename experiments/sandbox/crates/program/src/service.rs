//! The options of serving clients.

use std::path::PathBuf;

use sandbox_runtime::Host;

use crate::audit;

/// Memory of the daemon besides binaries, requests and responses, unless asked for otherwise, in MiB.
const MORE_MB: u64 = 1024;

/// The options of serving clients.
#[derive(Clone, clap::Args)]
pub struct Service {
    /// Folder of the logs of binaries loaded with --log, each NAME.log
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,
    /// Milliseconds that a client has to read a reply, or to send the rest of a request, before its connection
    /// is closed
    #[arg(long, default_value_t = 30_000)]
    pub reply_ms: u64,
    /// Memory of the requests and responses of all clients together, in MiB
    #[arg(long, default_value_t = 1024)]
    pub payload_mb: usize,
    /// Memory of all binaries that are loaded, in MiB
    #[arg(long, default_value_t = 1024)]
    pub binaries_mb: usize,
    /// Memory of the daemon itself, its workers' apart, in MiB [default: 1024 more than --payload-mb and
    /// --binaries-mb together, where it has a control group of its own]
    #[arg(long, value_parser = clap::value_parser!(u32).range(16..))]
    daemon_mb: Option<u32>,
    /// Seconds of CPU time that compiling a module of mode wasm may take, and four times as long
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub compile_s: u32,
    /// Memory that compiling a module may take, in MiB
    #[arg(long, default_value_t = 512)]
    pub compile_mb: u32,
    /// Give each binary the same share of the CPUs while there is more to compute than CPUs, however many
    /// workers and processes it has; not in modes wasm and gvisor-shared
    #[arg(long)]
    fair_cpu: bool,
    #[command(flatten)]
    pub audit: audit::Options,
}

impl Service {
    /// Bound what the daemon itself takes, as far as was asked for.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be bound.
    pub fn bound(&self, host: &Host) -> Result<(), String> {
        self.limit_memory(host)?;
        self.share_cpus(host)
    }

    fn share_cpus(&self, host: &Host) -> Result<(), String> {
        if self.fair_cpu {
            let mode = host.mode().name();
            let shared = host.share_cpus();
            shared.map_err(|why| format!("--fair-cpu in mode {mode}: {why}"))?;
        }
        Ok(())
    }

    /// Limit the memory of the daemon, as far as it has a control group of its own.
    fn limit_memory(&self, host: &Host) -> Result<(), String> {
        let both = self.payload_mb.saturating_add(self.binaries_mb);
        let usual = MORE_MB.saturating_add(both as u64);
        let wanted = self.daemon_mb.map_or(usual, u64::from);
        let limited = host.limit_own_memory(wanted.saturating_mul(1 << 20))?;
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
