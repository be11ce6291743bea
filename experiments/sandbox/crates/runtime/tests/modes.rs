//! Every mode that needs no program of others serves calls of the smallest binary, through the
//! library alone.

use std::sync::Arc;
use std::time::Duration;

use sandbox_runtime::binary::Binary;
use sandbox_runtime::call::{Caller, HostFunctions};
use sandbox_runtime::failure::Failure;
use sandbox_runtime::{Runtime, Settings, modes};

/// They have contract tests, which bring the programs.
const OF_OTHERS: [&str; 5] = ["gvisor", "gvisor-shared", "bwrap", "crun", "runc"];

/// Users, namespaces and control groups of their own are root's to give.
fn may_isolate() -> bool {
    rustix::process::geteuid().is_root()
}

fn runtimes() -> impl Iterator<Item = Runtime> {
    let all = if may_isolate() {
        modes::all()
    } else {
        Vec::new()
    };
    let usable = |name| name != "kvm" || std::path::Path::new("/dev/kvm").exists();
    all.into_iter()
        .filter(|mode| !OF_OTHERS.contains(&mode.name()))
        .filter(move |mode| usable(mode.name()))
        .map(|mode| Runtime::new(mode, HostFunctions::default()).unwrap())
}

fn load(runtime: &Runtime, name: &str, settings: Settings) -> Result<(), String> {
    let trial = runtime.mode().trial().unwrap();
    runtime.load(name, Binary::new(trial).unwrap(), settings)
}

#[test]
fn calls_are_served_by_fresh_workers() {
    for runtime in runtimes() {
        let settings = Settings {
            workers: 3,
            ..Settings::default()
        };
        load(&runtime, "udf", settings).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let caller = Arc::new(Caller::new(None).unwrap());
                    for _ in 0..20 {
                        let served = runtime.call("udf", b"request", &caller, None);
                        assert_eq!(served.outcome, Ok(Vec::new()), "{}", runtime.mode().name());
                    }
                });
            }
        });
        let stats = &runtime.stats(false)["udf"];
        assert_eq!((stats.ok, stats.failures.len()), (80, 0));
        assert!(stats.started >= 80 && stats.failed_starts == 0);
        assert!(runtime.unload("udf") && !runtime.unload("udf"));
        let caller = Arc::new(Caller::new(None).unwrap());
        let served = runtime.call("udf", b"", &caller, None);
        assert_eq!(served.outcome, Err(Failure::Unloaded));
    }
}

#[test]
fn handles_are_apart_and_limits_are_checked() {
    for runtime in runtimes() {
        load(
            &runtime,
            "a",
            Settings {
                workers: 1,
                ..Settings::default()
            },
        )
        .unwrap();
        load(
            &runtime,
            "b",
            Settings {
                workers: 2,
                keepers: Some(2),
                ..Settings::default()
            },
        )
        .unwrap();
        assert!(
            load(&runtime, "a", Settings::default())
                .unwrap_err()
                .contains("unload it first")
        );
        assert!(
            load(
                &runtime,
                "c",
                Settings {
                    workers: 0,
                    ..Settings::default()
                }
            )
            .is_err()
        );
        let mut narrow = Settings {
            workers: 1,
            ..Settings::default()
        };
        narrow.limits.request_bytes = 3;
        narrow.limits.deadline = Duration::from_secs(5);
        load(&runtime, "c", narrow).unwrap();
        let caller = Arc::new(Caller::new(None).unwrap());
        let long = runtime.call("c", b"four", &caller, None);
        assert_eq!(long.outcome, Err(Failure::RequestTooLong));
        assert_eq!(
            runtime.call("c", b"not", &caller, None).outcome,
            Ok(Vec::new())
        );
        runtime.stop();
        assert_eq!(
            runtime.call("a", b"", &caller, None).outcome,
            Err(Failure::Unloaded)
        );
        assert!(runtime.stats(false).is_empty());
    }
}
