//! What is answered: CPU time so far, by whose account it went on.

use anyhow::Result;
use serde::Serialize;

use crate::people::{People, Person};

/// One account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    pub ns: u64,
    pub switches: u64,
}

/// Everything so far: processes by number, and what is no process.
#[derive(Debug, Default)]
pub struct Ledger {
    pub processes: Vec<(u32, Use)>,
    pub kernel_threads: Use,
    pub softirq: Use,
    /// What the accounting itself took, within the other accounts.
    pub overhead_ns: u64,
}

/// Where it is read.
pub trait Source {
    /// Its name in the answer.
    fn name(&self) -> &'static str;
    /// Everything so far.
    fn read(&mut self) -> Result<Ledger>;
}

/// The answer: nanoseconds and context switches so far.
#[derive(Debug, Default, Serialize)]
pub struct Book {
    source: &'static str,
    server_ns: u64,
    client_ns: u64,
    backend_ns: u64,
    kernel_ns: u64,
    softirq_ns: u64,
    other_ns: u64,
    overhead_ns: u64,
    server_switches: u64,
    client_switches: u64,
    kernel_switches: u64,
}

impl Book {
    /// Sorts all accounts by person.
    pub fn close(source: &mut dyn Source, people: &People) -> Result<Self> {
        let ledger = source.read()?;
        let mut book = Self {
            source: source.name(),
            kernel_ns: ledger.kernel_threads.ns,
            kernel_switches: ledger.kernel_threads.switches,
            softirq_ns: ledger.softirq.ns,
            overhead_ns: ledger.overhead_ns,
            ..Self::default()
        };
        for (process, each) in ledger.processes {
            match people.who_is(process) {
                Person::Server => {
                    book.server_ns += each.ns;
                    book.server_switches += each.switches;
                }
                Person::Client => {
                    book.client_ns += each.ns;
                    book.client_switches += each.switches;
                }
                Person::Backend => book.backend_ns += each.ns,
                Person::Other => book.other_ns += each.ns,
            }
        }
        Ok(book)
    }
}
