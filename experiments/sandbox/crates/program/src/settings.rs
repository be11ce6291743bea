//! The settings of a loaded binary, as options say.

use std::time::Duration;

use sandbox_runtime::Settings;

use crate::protocol::LoadOptions;

/// Return the settings that the options ask for; what is 0 or not there stays as it is by default.
pub fn settings(options: &LoadOptions) -> Settings {
    let mut settings = Settings {
        callbacks: options.callbacks.unwrap_or_default(),
        ..Settings::default()
    };
    let limits = &mut settings.limits;
    let set = |place: &mut u32, value: u32| {
        if value > 0 {
            *place = value;
        }
    };
    set(&mut limits.processes, options.processes);
    set(&mut limits.cpu_s, options.cpu_s);
    set(&mut limits.files, options.files);
    limits.shared = options.shared.unwrap_or_default();
    limits.callbacks = options.callbacks_max.unwrap_or(limits.callbacks);
    if options.memory_mb > 0 {
        limits.memory_bytes = options.memory_mb.saturating_mul(1 << 20);
    }
    for (place, value) in [
        (&mut limits.deadline, options.deadline_ms),
        (&mut limits.start, options.start_ms),
    ] {
        if value > 0 {
            *place = Duration::from_millis(value);
        }
    }
    for (place, value) in [
        (&mut limits.request_bytes, options.request_bytes),
        (&mut limits.response_bytes, options.response_bytes),
    ] {
        *place = value.map_or(*place, |value| usize::try_from(value).unwrap_or(usize::MAX));
    }
    for (place, value) in [
        (&mut limits.log_bytes, options.log_bytes),
        (&mut limits.log_rate, options.log_rate),
    ] {
        if value > 0 {
            *place = value;
        }
    }
    if options.workers > 0 {
        settings.workers = options.workers as usize;
    }
    if options.keepers > 0 {
        settings.keepers = Some(options.keepers as usize);
    }
    settings.queue = options.queue.map_or(settings.queue, |queue| queue as usize);
    for (place, value) in [
        (&mut settings.share.calls, options.client_calls),
        (&mut settings.share.workers, options.client_workers),
    ] {
        if value > 0 {
            *place = value as usize;
        }
    }
    settings
}
