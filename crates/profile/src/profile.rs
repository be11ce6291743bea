//! The profile, as the program prints it (docs/FORMAT.md, "The profile protocol").

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::Role;
use crate::kernel::Why;
use crate::names::{Frame, Named};

/// A line of standard output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// All is loaded; nothing is counted yet.
    Ready,
    /// From now on all is counted.
    Begun,
    /// There can be no profile here.
    Unavailable {
        /// One sentence.
        reason: String,
    },
    /// All that was counted.
    Profile(Profile),
}

/// Stacks, waits and counts of a window of time.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// Version of this layout.
    pub schema_version: u32,
    /// Nanoseconds of CPU time that a sample stands for.
    pub period_ns: u64,
    /// Nanoseconds from beginning to end.
    pub window_ns: u64,
    /// The functions that stacks name by index.
    pub frames: Vec<Frame>,
    /// Roles by name.
    pub roles: BTreeMap<String, RoleProfile>,
    /// Counts that this kernel does not give.
    pub lacking: Vec<&'static str>,
    /// Samples and waits that found no room.
    pub lost: u64,
}

/// One role's part.
#[derive(Debug, Default, Serialize)]
pub struct RoleProfile {
    /// Stacks on a CPU.
    pub samples: Vec<Sample>,
    /// Stacks off the CPU.
    pub waits: Vec<Wait>,
    /// Exact numbers of events, by name.
    pub counts: BTreeMap<String, u64>,
}

/// A stack on a CPU.
#[derive(Debug, Serialize)]
pub struct Sample {
    stack: Vec<u32>,
    count: u64,
}

/// A stack off the CPU.
#[derive(Debug, Serialize)]
pub struct Wait {
    stack: Vec<u32>,
    why: &'static str,
    ns: u64,
    count: u64,
}

/// The figures of all roles together.
#[derive(Debug)]
pub struct Window {
    /// Nanoseconds per sample.
    pub period_ns: u64,
    /// Nanoseconds from beginning to end.
    pub window_ns: u64,
    /// Counts that the kernel does not give.
    pub lacking: Vec<&'static str>,
    /// Records that found no room.
    pub lost: u64,
}

impl Profile {
    /// Put together what belongs to each role; the most frequent samples and the longest waits first.
    pub fn new(
        roles: &[Role],
        window: Window,
        named: Named,
        counts: Vec<BTreeMap<String, u64>>,
    ) -> Self {
        let mut parts: Vec<RoleProfile> = counts
            .into_iter()
            .map(|counts| RoleProfile {
                counts,
                ..RoleProfile::default()
            })
            .collect();
        for ((role, why, stack), sum) in named.places {
            let Some(part) = parts.get_mut(role as usize) else {
                continue;
            };
            let (count, ns) = (sum.count, sum.ns);
            match reason(why) {
                None => part.samples.push(Sample { stack, count }),
                Some(why) => part.waits.push(Wait {
                    stack,
                    why,
                    ns,
                    count,
                }),
            }
        }
        for part in &mut parts {
            part.samples
                .sort_by_key(|sample| std::cmp::Reverse(sample.count));
            part.waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
        }
        Self {
            schema_version: 1,
            period_ns: window.period_ns,
            window_ns: window.window_ns,
            frames: named.frames,
            roles: roles
                .iter()
                .map(|role| role.name.clone())
                .zip(parts)
                .collect(),
            lacking: window.lacking,
            lost: window.lost,
        }
    }
}

fn reason(why: Why) -> Option<&'static str> {
    match why {
        Why::Running => None,
        Why::Blocked => Some("blocked"),
        Why::Queued => Some("queued"),
        Why::Preempted => Some("preempted"),
    }
}
