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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    struct Given(Option<Ledger>);

    impl Source for Given {
        fn name(&self) -> &'static str {
            "given"
        }

        fn read(&mut self) -> Result<Ledger> {
            Ok(self.0.take().expect("read once"))
        }
    }

    fn used(ns: u64, switches: u64) -> Use {
        Use { ns, switches }
    }

    #[test]
    fn whoever_answers_at_the_control_socket_is_the_server() {
        let path = std::env::temp_dir().join(format!("echo-account-{}", std::process::id()));
        let listener = UnixListener::bind(&path).expect("a writable folder");
        let server = thread::spawn(move || drop(listener.accept().expect("one that asks")));
        let people = People::find(&path, None).expect("it answers");
        server.join().expect("no panic");
        std::fs::remove_file(&path).expect("it is there");

        let ledger = Ledger {
            processes: vec![(std::process::id(), used(10, 1)), (u32::MAX, used(200, 2))],
            kernel_threads: used(3000, 3),
            softirq: used(40_000, 0),
            overhead_ns: 5,
        };
        let book = Book::close(&mut Given(Some(ledger)), &people).expect("accounts");
        let found = serde_json::to_value(&book).expect("numbers");
        let wanted = serde_json::json!({
            "source": "given", "server_ns": 10, "client_ns": 0, "backend_ns": 0,
            "kernel_ns": 3000, "softirq_ns": 40_000, "other_ns": 200, "overhead_ns": 5,
            "server_switches": 1, "client_switches": 0, "kernel_switches": 3,
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn without_a_server_the_error_names_the_socket() {
        let error = People::find("/nowhere/sut".as_ref(), None).expect_err("nobody is there");
        assert!(format!("{error:#}").contains("/nowhere/sut"), "{error:#}");
    }
}
