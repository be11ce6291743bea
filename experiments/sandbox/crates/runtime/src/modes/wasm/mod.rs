//! WebAssembly within this process: a guest reaches its own memory and the few functions of WASI
//! that are offered, and nothing else. Instances come from a pool, their memory from an image that
//! is copied where it is written.

mod cache;
mod channel;
mod compile;
pub mod compiler;
mod engine;
mod guest;
mod ticker;
mod trial;
mod wasi;

use std::sync::{Arc, Mutex};

use wasmtime::{Engine, InstancePre, Linker, Module};

use self::cache::{Cache, Place};
use self::channel::Host;
use self::compile::compile;
use self::guest::Guest;
use self::ticker::Ticker;
use crate::binary::Binary;
use crate::limits::Limits;
use crate::mode::{Mode, Promise, Spawner, Template, Worker};
use crate::slot::Slot;

/// The mode.
pub struct Wasm;

impl Mode for Wasm {
    fn name(&self) -> &'static str {
        "wasm"
    }

    fn promise(&self) -> Promise {
        Promise::Apart
    }

    fn summary(&self) -> &'static str {
        "WebAssembly in the daemon's own process: its own memory, and few functions of WASI"
    }

    fn has_processes(&self) -> bool {
        false
    }

    fn has_logs(&self) -> bool {
        false
    }

    fn trial(&self) -> Option<Vec<u8>> {
        Some(trial::module())
    }

    /// A module reaches what the daemon gives it, and no more.
    fn has_rights(&self) -> bool {
        false
    }

    fn accept(&self, binary: &Binary, limits: &Limits) -> Result<(), String> {
        if !binary.is_module() {
            return Err(
                "mode wasm runs WebAssembly modules, and this is an ELF file; compile the same source for \
                 wasm32-wasip1"
                    .into(),
            );
        }
        if limits.shared {
            return Err(
                "mode wasm shares no memory with its modules, into whose own a request is copied in any case; \
                 load it without --shared"
                    .into(),
            );
        }
        Ok(())
    }

    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String> {
        let words = |error: wasmtime::Error| format!("{error:#}");
        let engine = engine::running(limits).map_err(|error| {
            format!("no memory is set aside for instances: {error:#}; raise the limit of address space (ulimit -v)")
        })?;
        let module = module(&engine, &binary, limits)?;
        let mut linker = Linker::new(&engine);
        wasi::offer(&mut linker).map_err(words)?;
        wasi::refuse_the_rest(&mut linker, &module)?;
        let ready = linker.instantiate_pre(&module).map_err(words)?;
        let ticker = Ticker::new(&engine).map_err(|error| format!("a thread: {error}"))?;
        Ok(Arc::new(Compiled {
            ready,
            ticker: Arc::new(ticker),
            limits: limits.clone(),
        }))
    }
}

/// Return the module, compiled now or for an earlier load.
fn module(engine: &Engine, binary: &Binary, limits: &Limits) -> Result<Module, String> {
    let cache = Cache::open();
    let place = Place::of(binary.bytes()?, engine::key(engine));
    // SAFETY: a compiler of this engine made it, and since then nobody but this user could change it.
    let take = |compiled: &[u8]| unsafe { Module::deserialize(engine, compiled) };
    if let Some(module) = cache.get(&place).and_then(|compiled| take(&compiled).ok()) {
        return Ok(module);
    }
    let compiled = compile(binary, limits)?;
    let module = take(&compiled).map_err(|error| format!("{error:#}"))?;
    cache.put(&place, &compiled);
    Ok(module)
}

/// A module, compiled.
struct Compiled {
    ready: InstancePre<Host>,
    ticker: Arc<Ticker>,
    limits: Limits,
}

impl Template for Compiled {
    fn settle(&self, _: usize) -> Result<Box<dyn Spawner>, String> {
        Ok(Box::new(InstanceSpawner {
            ready: self.ready.clone(),
            ticker: self.ticker.clone(),
            limits: self.limits.clone(),
        }))
    }

    /// There is nothing outside of the module's own memory that it was given: it imports functions
    /// alone, and those by name.
    fn verify(&self, _: Option<i32>) -> Result<(), String> {
        let functions = |import: &wasmtime::ImportType<'_>| {
            import.module() == wasi::MODULE && import.ty().func().is_some()
        };
        match self.ready.module().imports().find(|each| !functions(each)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "the module was given {}.{}, which is no function of WASI",
                other.module(),
                other.name()
            )),
        }
    }
}

struct InstanceSpawner {
    ready: InstancePre<Host>,
    ticker: Arc<Ticker>,
    limits: Limits,
}

impl Spawner for InstanceSpawner {
    fn spawn(&mut self, _: &Slot) -> Result<Box<dyn Worker>, String> {
        let guest = Guest::new(&self.ready, &self.ticker, &self.limits)?;
        Ok(Box::new(Arc::new(Mutex::new(guest))))
    }
}
