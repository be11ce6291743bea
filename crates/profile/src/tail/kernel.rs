//! The BPF programs that note events: loading, beginning and ending.

use std::cell::RefCell;

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, RingBufferBuilder};

use super::events::Event;
use crate::cli::Role;
use crate::failure::Failure;
use crate::kernel::{ensure_point, ensure_possible, refusal};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tail.bpf.o"));

/// The loaded and attached programs.
#[derive(Debug)]
pub struct Programs {
    object: Object,
    _links: Vec<Link>,
}

impl Programs {
    /// Load and attach the programs for these roles, which listen on `ports`. Nothing is noted yet.
    pub fn load(roles: &[Role], ports: &[u16]) -> Result<Self, Failure> {
        ensure_possible()?;
        libbpf_rs::set_print(None);
        // It tells what a socket received, and is the newest of all that are needed.
        ensure_point("sock_recv_length", "Linux 6.3")?;
        // libbpf reads ELF in place, so it must be aligned.
        let bytes = OBJECT.to_vec();
        let open = ObjectBuilder::default()
            .open_memory(&bytes)
            .map_err(|error| Failure::of("the BPF programs cannot be read", error))?;
        let object = open.load().map_err(|error| refusal(&error))?;
        let attach = |program: libbpf_rs::ProgramMut<'_>| program.attach();
        let links = object.progs_mut().map(attach).collect::<Result<_, _>>();
        let programs = Self {
            _links: links.map_err(|error| refusal(&error))?,
            object,
        };
        for (role, given) in (0u32..).zip(roles) {
            for &number in &given.processes {
                programs.put("processes", &number.to_ne_bytes(), &role.to_ne_bytes())?;
            }
        }
        for port in ports {
            programs.put("ports", &port.to_ne_bytes(), &[1])?;
        }
        Ok(programs)
    }

    /// Begin to note events.
    pub fn begin(&self) -> Result<(), Failure> {
        self.put("noting", &0u32.to_ne_bytes(), &1u32.to_ne_bytes())
    }

    /// Stop, and return the events in the order of their times, and the number of those that found
    /// no room.
    pub fn end(&self) -> Result<(Vec<Event>, u64), Failure> {
        self.put("noting", &0u32.to_ne_bytes(), &0u32.to_ne_bytes())?;
        let failed = |error| Failure::of("reading the events", error);
        let found = RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        let events = self.table("events");
        let keep = |bytes: &[u8]| {
            found.borrow_mut().extend(Event::of(bytes));
            0
        };
        builder.add(&events, keep).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        ring.consume().map_err(failed)?;
        drop(ring);
        let lost = self
            .table("lost")
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        let lost = lost.map_err(failed)?.unwrap_or_default();
        let lost = lost.try_into().map_or(0, u64::from_ne_bytes);
        let mut found = found.into_inner();
        found.sort_by_key(|event| event.at);
        Ok((found, lost))
    }

    fn put(&self, table: &str, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let done = self.table(table).update(key, value, MapFlags::ANY);
        done.map_err(|error| Failure::of("writing a table of the BPF programs", error))
    }

    fn table(&self, name: &str) -> MapHandle {
        let found = self.object.maps().find(|map| map.name() == name);
        let found = found.expect("events.bpf.h has it");
        MapHandle::try_from(&found).expect("a table has a descriptor")
    }
}
