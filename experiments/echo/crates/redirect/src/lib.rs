//! User space of the echo servers whose bytes the kernel redirects by itself.
//!
//! It accepts, puts sockets into the maps, sees to it that nothing is lost when a peer closes, and
//! closes connections that go over a limit. No byte passes through it.

mod connection;
mod kernel;
mod work;

use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result};
use echo_server::log;
use echo_server::{Moved, Options};

use kernel::Kernel;
pub use kernel::Limits;

/// Serve with the BPF object `object`, built over `bpf/redirect.bpf.h`.
pub fn serve(name: &str, options: &Options, limits: &Limits, object: &[u8]) -> ExitCode {
    let loaded = (0..options.threads)
        .map(|_| Kernel::load(object, limits, options.shape))
        .collect::<Result<Vec<_>>>();
    let kernels = match loaded {
        Ok(kernels) => kernels,
        Err(error) => {
            log::line(format_args!("{name}: {error:#}"));
            return ExitCode::FAILURE;
        }
    };
    let readers: Vec<_> = kernels.iter().map(Kernel::reader).collect();
    // Each thread has programs and maps of its own, as it has a listener of its own.
    let kernels = Mutex::new(kernels);
    echo_server::serve(
        name,
        options,
        |thread| {
            let kernel = kernels.lock().expect("no thread panics with it").pop();
            work::work(thread, &kernel.context("one for each thread")?)
        },
        || {
            let mut sum = Moved::default();
            for reader in &readers {
                let moved = reader
                    .as_ref()
                    .map_err(|error| anyhow::anyhow!("{error:#}"))?
                    .read()?;
                sum.bytes += moved.bytes;
                sum.messages += moved.messages;
            }
            Ok(sum)
        },
    )
}
