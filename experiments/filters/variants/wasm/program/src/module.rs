//! The compiled module: found, checked and taken in.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, mem};

use wasmtime::{Config, Engine, Module};

use crate::limit::Limit;

/// A module and what it runs in.
pub struct Loaded {
    /// wasmtime, set up as the module was compiled for.
    pub engine: Engine,
    /// The module.
    pub module: Module,
    /// The limit of its calls.
    pub limit: Limit,
}

/// Take in the module that `WASM_MODULE_PATH` names, or the one that lies beside the library.
pub fn load() -> Result<Loaded, String> {
    let limit = Limit::chosen()?;
    let path = match env::var_os("WASM_MODULE_PATH") {
        Some(path) => PathBuf::from(path),
        None => beside_library(&format!("url_filter.{}.cwasm", limit.name()))?,
    };
    let why = |error: &dyn std::fmt::Display| {
        format!(
            "the module {}: {error:#}; expected a WebAssembly module, or what compile.py made of it \
             with wasmtime 48 and --limit {}: set WASM_MODULE_PATH to one of them",
            path.display(),
            limit.name()
        )
    };
    let mut bytes = fs::read(&path).map_err(|error| why(&error))?;
    if bytes.starts_with(b"\0asm") {
        bytes = compile(&path, limit.name()).map_err(|error| why(&error))?;
    }
    let mut config = Config::new();
    limit.configure(&mut config);
    let engine = Engine::new(&config).map_err(|error| why(&error))?;
    if Engine::detect_precompiled(&bytes).is_none() {
        return Err(why(&"it is no compiled module"));
    }
    // SAFETY: compiled modules are native code. Who may set WASM_MODULE_PATH may also set
    // DYNAMIC_LOAD_LIB_PATH, and is trusted as much.
    let module = unsafe { Module::deserialize(&engine, bytes) }.map_err(|error| why(&error))?;
    Ok(Loaded {
        engine,
        module,
        limit,
    })
}

/// Compile a WebAssembly module with the compiler beside this library.
fn compile(module: &Path, limit: &str) -> Result<Vec<u8>, String> {
    let compiler = beside_library("compile-wasm")?;
    let done = Command::new(&compiler)
        .args([module.as_os_str(), limit.as_ref()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            format!(
                "its compiler {} does not start: {error}",
                compiler.display()
            )
        })?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("it does not compile: {}", said.trim()))
}

fn beside_library(name: &str) -> Result<PathBuf, String> {
    // SAFETY: dladdr fills what it is given, for an address of this very library.
    let library = unsafe {
        let mut found: libc::Dl_info = mem::zeroed();
        if libc::dladdr(load as *const libc::c_void, &mut found) == 0 {
            return Err("where this library lies is unknown; set WASM_MODULE_PATH".into());
        }
        CStr::from_ptr(found.dli_fname)
    };
    let path = Path::new(library.to_str().map_err(|error| error.to_string())?);
    Ok(path.with_file_name(name))
}
