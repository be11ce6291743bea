//! An instance of the module, and the calls into it.

use wasmtime::{
    Instance, Memory, Store, StoreLimits, StoreLimitsBuilder, Trap, TypedFunc, WasmParams,
    WasmResults,
};

use crate::limit::{Clock, Limit};
use crate::module::Loaded;

/// The most memory that a guest may have, in bytes.
const MEMORY_MAX: usize = 16 << 20;
/// Asked for at least: enough for every prefix and for most URIs.
const ROOM: usize = 8192;

/// The part of the guest's memory that the host may write.
#[derive(Clone, Copy, Default)]
struct Room {
    address: u32,
    length: usize,
}

/// A guest at work.
pub struct Guest {
    store: Store<StoreLimits>,
    memory: Memory,
    filter_buffer: TypedFunc<u32, u32>,
    filter_set_prefix: TypedFunc<(u32, u32), u32>,
    filter_url: TypedFunc<(u32, u32), u32>,
    room: Room,
    limit: Limit,
    _clock: Option<Clock>,
}

impl Guest {
    /// A new instance, which imports nothing. Fails when it lacks a function of `guest.h`.
    pub fn start(loaded: &Loaded) -> Result<Self, String> {
        let limit = loaded.limit;
        let clock = match limit {
            Limit::Epoch => Some(Clock::start(&loaded.engine)?),
            Limit::Fuel | Limit::None => None,
        };
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY_MAX).build();
        let mut store = Store::new(&loaded.engine, limits);
        store.limiter(|limits| limits);
        limit.begin(&mut store)?;
        let instance = Instance::new(&mut store, &loaded.module, &[]).map_err(explain(limit))?;
        let memory = instance.get_memory(&mut store, "memory").ok_or(
            "the module exports no memory; build it from a source as guest/url_filter.c is",
        )?;
        Ok(Self {
            memory,
            filter_buffer: function(&instance, &mut store, "filter_buffer")?,
            filter_set_prefix: function(&instance, &mut store, "filter_set_prefix")?,
            filter_url: function(&instance, &mut store, "filter_url")?,
            store,
            room: Room::default(),
            limit,
            _clock: clock,
        })
    }

    /// Give the guest its prefix. Fails when it refuses.
    pub fn set_prefix(&mut self, prefix: &[u8]) -> Result<(), String> {
        let place = self.hand_over(prefix)?;
        let refused = self
            .filter_set_prefix
            .call(&mut self.store, place)
            .map_err(explain(self.limit))?;
        match refused {
            0 => Ok(()),
            _ => Err("the guest refuses the prefix".into()),
        }
    }

    /// The guest's decision.
    pub fn filter(&mut self, url: &[u8]) -> Result<bool, String> {
        let place = self.hand_over(url)?;
        let answer = self
            .filter_url
            .call(&mut self.store, place)
            .map_err(explain(self.limit))?;
        match answer {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("the guest answers neither 0 nor 1".into()),
        }
    }

    /// Copy bytes into the guest's memory, and begins a call: their address there and length.
    fn hand_over(&mut self, bytes: &[u8]) -> Result<(u32, u32), String> {
        self.limit.begin(&mut self.store)?;
        if bytes.len() > self.room.length {
            self.make_room(bytes.len().max(ROOM))?;
        }
        self.memory
            .write(&mut self.store, self.room.address as usize, bytes)
            .map_err(|_| NO_ROOM)?;
        Ok((self.room.address, bytes.len() as u32))
    }

    #[cold]
    fn make_room(&mut self, length: usize) -> Result<(), String> {
        let asked = u32::try_from(length).map_err(|_| NO_ROOM)?;
        let address = self
            .filter_buffer
            .call(&mut self.store, asked)
            .map_err(explain(self.limit))?;
        // The guest may answer any address; each write checks it against the memory once more.
        let end = address as usize + length;
        if address == 0 || end > self.memory.data_size(&self.store) {
            return Err(NO_ROOM.into());
        }
        self.room = Room { address, length };
        Ok(())
    }
}

const NO_ROOM: &str = "the guest has no room for so many bytes";

fn explain(limit: Limit) -> impl Fn(wasmtime::Error) -> String {
    move |error| match error.downcast_ref::<Trap>() {
        Some(trap) => limit.explain(*trap),
        None => format!("{error:#}"),
    }
}

fn function<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut Store<StoreLimits>,
    name: &str,
) -> Result<TypedFunc<P, R>, String> {
    instance
        .get_typed_func(store, name)
        .map_err(|error| format!("the module lacks a function of guest.h: {error:#}"))
}
