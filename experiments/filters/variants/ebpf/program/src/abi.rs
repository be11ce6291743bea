//! The functions of `include/filter_abi.h`, for nginx's dynamic filter module.

use std::ffi::{CStr, c_char, c_int};
use std::io::{self, Write};
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use anyhow::{Context, Result};
use filter_ebpf::compile::Compiled;

use crate::guard::guard;
use crate::maps::FilterMaps;
use crate::memory::Memory;

struct Filter {
    compiled: Compiled,
    maps: FilterMaps,
}

/// The filter that serves; replaced when nginx's only thread loads a configuration.
static SERVING: AtomicPtr<Filter> = AtomicPtr::new(std::ptr::null_mut());

fn load() -> Result<Filter> {
    let name = std::env::var("FILTER_SHM")
        .context("FILTER_SHM is not set; set it to the name that the controller has in --shm")?;
    let (memory, _) = Memory::open(&name).context("start the controller first")?;
    Ok(Filter {
        compiled: memory.compile()?,
        maps: memory.into_maps(),
    })
}

/// Compile the program in the controller's memory. The controller has the prefix: the argument is not
/// looked at.
#[unsafe(no_mangle)]
pub extern "C" fn module_initialize(_prefix: *const c_char) -> c_int {
    guard(-1, || match load() {
        Ok(filter) => {
            let old = SERVING.swap(Box::into_raw(Box::new(filter)), Ordering::AcqRel);
            if !old.is_null() {
                // SAFETY: it was made by `Box::into_raw`, and no decision is under way.
                drop(unsafe { Box::from_raw(old) });
            }
            0
        }
        Err(error) => {
            // Standard error may be closed or full, which is no reason to panic.
            let _ = writeln!(io::stderr(), "url_filter_ebpf: {error:#}");
            -1
        }
    })
}

/// Have the maps' pages there before a worker's first request.
#[unsafe(no_mangle)]
pub extern "C" fn module_start_worker() {
    guard((), || {
        // SAFETY: nobody initialises in a worker.
        if let Some(filter) = unsafe { SERVING.load(Ordering::Acquire).as_ref() } {
            filter.maps.all().populate();
        }
    });
}

/// Return 1 when the program accepts the path. One that comes to no end is rejected.
///
/// # Safety
/// `url` must have `length` bytes, and nobody may initialise meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn module_url_filter_n(url: *const c_char, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: as the caller promises; a path of no bytes may be at no address.
        let (filter, path) = unsafe {
            let filter = SERVING.load(Ordering::Acquire).as_ref();
            let path = if length == 0 {
                &[]
            } else {
                slice::from_raw_parts(url.cast(), length)
            };
            (filter, path)
        };
        let Some(filter) = filter else { return 0 };
        match filter.compiled.run([path]) {
            Ok(accepted) => c_int::from(accepted == 1),
            Err(_) => {
                filter.maps.count_failure();
                0
            }
        }
    })
}

/// Like [`module_url_filter_n`], for a path that ends with a NUL.
///
/// # Safety
/// `url` must have an end, and nobody may initialise meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn module_url_filter(url: *const c_char) -> c_int {
    guard(0, || {
        // SAFETY: as the caller promises.
        unsafe { module_url_filter_n(url, CStr::from_ptr(url).count_bytes()) }
    })
}

/// Read the decisions so far, of all workers.
///
/// # Safety
/// Both must be addresses of numbers, and nobody may initialise meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn module_get_counters(accepted: *mut u64, rejected: *mut u64) {
    guard((), || {
        // SAFETY: as the caller promises.
        unsafe {
            let filter = SERVING.load(Ordering::Acquire).as_ref();
            let counts = filter
                .map(|filter| filter.maps.counts())
                .unwrap_or_default();
            accepted.write(counts.accepted);
            rejected.write(counts.rejected);
        }
    });
}
