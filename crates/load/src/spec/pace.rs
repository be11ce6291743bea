//! The pace of requests: open or closed loop.

use serde::Deserialize;

/// The pace of requests.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pace {
    /// Each connection sends as soon as it is free.
    Closed {
        /// Most requests per second over all threads.
        #[serde(default)]
        limit: Option<f64>,
    },
    /// One at a time over all connections, which take turns.
    Serial {
        /// Most requests per second.
        #[serde(default)]
        limit: Option<f64>,
    },
    /// By the clock.
    Open {
        /// Requests per second over all threads.
        rate: f64,
        /// The spread of the sends over time.
        #[serde(default)]
        arrivals: Spread,
        /// The way in which a thread waits for the next send.
        #[serde(default)]
        wait: Wait,
    },
}

impl Pace {
    /// A closed loop without a limit.
    pub const CLOSED: Pace = Pace::Closed { limit: None };

    /// Its name in the formats.
    pub fn name(self) -> &'static str {
        match self {
            Pace::Closed { .. } => "closed",
            Pace::Serial { .. } => "serial",
            Pace::Open { .. } => "open",
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace::CLOSED
    }
}

/// The way in which a thread of an open loop waits for the next send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// It polls for the last stretch: sends are in time, and the thread is busy at a high rate.
    #[default]
    Spin,
    /// It sleeps, and sends as late as the kernel wakes it: for measuring the machine's CPU time.
    Sleep,
}

/// The spread of an open loop's sends over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Independent of each other, with exponential gaps.
    #[default]
    Poisson,
    /// At fixed gaps.
    Even,
    /// All sends of a millisecond at its beginning, as a network card hands on the packets that it
    /// has gathered.
    Bursts,
    /// At the times of an access log.
    #[serde(skip)]
    #[value(skip)]
    Log,
}

impl Spread {
    /// Its name in the formats.
    pub fn name(self) -> &'static str {
        match self {
            Spread::Poisson => "poisson",
            Spread::Even => "even",
            Spread::Bursts => "bursts",
            Spread::Log => "log",
        }
    }
}
