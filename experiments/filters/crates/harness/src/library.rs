//! The filter library, loaded as nginx's module loads it (`include/filter_abi.h`).

use std::ffi::{CString, c_char, c_int};

use anyhow::{Context, Result, bail};
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};

use crate::spec::Spec;

/// `module_url_filter_n`: the answer to a path, by pointer and length. Behind a path is a zero, so
/// that it may be `module_url_filter`, too, which does not look at the length.
pub type Filter = unsafe extern "C" fn(*const u8, usize) -> c_int;
type Initialize = unsafe extern "C" fn(*const c_char) -> c_int;
type Counters = unsafe extern "C" fn(*mut u64, *mut u64);

/// The filter's numbers of accepted and rejected calls.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
pub struct Counts {
    /// Accepted so far.
    pub accepted: u64,
    /// Rejected so far.
    pub rejected: u64,
}

/// A loaded library, or the function that does nothing.
pub struct Library {
    /// The function that is called.
    pub filter: Filter,
    counters: Option<Counters>,
}

/// The function that is called when there is no filter.
extern "C" fn nothing(_path: *const u8, _length: usize) -> c_int {
    1
}

impl Library {
    /// Load and initialises the library; it stays loaded.
    pub fn load(spec: &Spec) -> Result<Self> {
        let Some(path) = &spec.library else {
            return Ok(Self {
                filter: nothing,
                counters: None,
            });
        };
        for (name, value) in spec
            .environment
            .iter()
            .filter(|(_, value)| !value.is_empty())
        {
            // SAFETY: this process has one thread as yet.
            unsafe { std::env::set_var(name, value) };
        }
        // SAFETY: the library's own code runs when it is loaded, as it does in nginx.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .with_context(|| format!("the filter library {} does not load", path.display()))?;
        let missing = || format!("{} lacks a function of filter_abi.h", path.display());
        // SAFETY: filter_abi.h declares them so.
        let (initialize, filter, counters) = unsafe {
            (
                *loaded
                    .get::<Initialize>(b"module_initialize")
                    .with_context(missing)?,
                // In the C calling convention a function does not see an argument more.
                *loaded
                    .get::<Filter>(b"module_url_filter_n")
                    .or_else(|_| loaded.get::<Filter>(b"module_url_filter"))
                    .with_context(missing)?,
                *loaded
                    .get::<Counters>(b"module_get_counters")
                    .with_context(missing)?,
            )
        };
        let prefix = CString::new(spec.prefix.as_str()).context("the prefix has a NUL in it")?;
        // SAFETY: a string with its terminator.
        let code = unsafe { initialize(prefix.as_ptr()) };
        if code != 0 {
            bail!(
                "module_initialize returned {code}, expected 0; see what the library wrote above"
            );
        }
        std::mem::forget(loaded);
        Ok(Self {
            filter,
            counters: Some(counters),
        })
    }

    /// Return the filter's counters, or `None` if there is no filter.
    pub fn counts(&self) -> Option<Counts> {
        let counters = self.counters?;
        let mut counts = Counts::default();
        // SAFETY: two places for what it writes.
        unsafe { counters(&raw mut counts.accepted, &raw mut counts.rejected) };
        Some(counts)
    }
}
