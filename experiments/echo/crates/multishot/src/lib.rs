//! io_uring with all that makes it cheap: one accept and one receive for a connection's whole life,
//! buffers that the kernel picks from a ring, and completions only when the thread asks for them.

mod buffers;
mod flow;
mod operations;
mod work;

use std::process::ExitCode;

use echo_server::{Moved, Options};

pub use buffers::Pool;

/// Serves. A thread waits `min_wait_us` microseconds for more completions than one.
pub fn serve(name: &str, options: &Options, pool: &Pool, min_wait_us: u32) -> ExitCode {
    echo_server::serve(
        name,
        options,
        |thread| work::work(thread, pool, min_wait_us),
        || Ok(Moved::default()),
    )
}
