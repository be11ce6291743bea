//! Divides a load among threads.

use std::sync::Arc;

use super::arrivals::Arrivals;
use super::load::{Load, Place, Timeouts};
use super::picks::{Choice, Picks};
use super::slices::Slices;
use crate::random::{Random, Use, stream};
use crate::spec::{AccountFiles, Pace, Think, Wait};

/// One thread's part of a load.
#[derive(Debug)]
pub struct Duty {
    /// The time at which each connection is opened, and its target.
    pub openings: Vec<(u64, usize)>,
    /// The rule for when requests are sent.
    pub turns: Turns,
    /// The requests to each target.
    pub picks: Vec<Picks>,
    /// The pause before a connection's next request, and the random numbers that it is drawn by.
    pub think: Option<(Think, Random)>,
    /// The slices in which targets take turns.
    pub slices: Option<Sliced>,
    /// Requests to be sent in the window, if their number is fixed.
    pub requests: Option<u64>,
    /// Requests on a connection before it is closed and another opened.
    pub per_connection: Option<u64>,
    /// The sizes of answers by the log that is replayed, by exchange.
    pub logged_sizes: Option<Arc<[Option<u64>]>>,
    /// True if the times of each answer are kept.
    pub keeps_times: bool,
    /// The time limits.
    pub timeouts: Timeouts,
}

/// The slices of a duel, their random order, and the accounts that are read between rounds.
#[derive(Debug)]
pub struct Sliced {
    /// Their lengths.
    pub slices: Slices,
    /// Of their order.
    pub random: Random,
    /// By target.
    pub accounts: Vec<AccountFiles>,
}

/// The rule for when one thread sends.
#[derive(Debug)]
pub enum Turns {
    /// On each connection, as soon as it is free.
    AtOnce,
    /// At most this many requests per second.
    Limited {
        /// Requests per second of this thread; as many as possible if absent.
        limit: Option<f64>,
        /// Most requests in flight over all connections, which take turns.
        most: u64,
    },
    /// At the intended sends of each target; at once where it has none.
    Intended(Vec<Option<Arrivals>>, Wait),
}

/// The part of `load` that thread `index` makes.
pub fn of(load: &Load, index: usize) -> Duty {
    let gap = load.ramp_per_s.map_or(0.0, |ramp| 1e9 / ramp);
    let order = load.order();
    // A target's sends and requests are shared out to the threads that have connections to it.
    let places = load.places(index);
    let own = order.into_iter().enumerate();
    let own = own.skip(index).step_by(load.threads);
    Duty {
        openings: own
            .map(|(number, target)| ((number as f64 * gap) as u64, target))
            .collect(),
        turns: turns(load, index, &places),
        picks: picks(load, index, &places),
        think: load
            .think
            .map(|think| (think, stream(load.seed, index, Use::Think))),
        slices: load.slices.map(|slices| Sliced {
            slices,
            random: stream(load.seed, index, Use::Slices),
            accounts: load.accounts.clone(),
        }),
        requests: load.requests.map(|requests| {
            let threads = load.threads as u64;
            requests / threads + u64::from((index as u64) < requests % threads)
        }),
        per_connection: load.requests_per_connection,
        logged_sizes: load.log.as_ref().map(|log| log.sizes.clone()),
        keeps_times: load.keeps_times,
        timeouts: load.timeouts,
    }
}

fn picks(load: &Load, index: usize, places: &[Place]) -> Vec<Picks> {
    let own = |(choice, place): (&Choice, &Place)| {
        // A thread without connections to the target sends it nothing.
        let place = place.unwrap_or((0, 1));
        Picks::new(choice.clone(), load.seed, index, place)
    };
    load.choices.iter().zip(places).map(own).collect()
}

fn turns(load: &Load, index: usize, places: &[Place]) -> Turns {
    let share = |limit: Option<f64>| limit.map(|limit| limit / load.threads as f64);
    match load.pace {
        Pace::Closed { limit: None } => Turns::AtOnce,
        Pace::Closed { limit } => Turns::Limited {
            limit: share(limit),
            most: u64::MAX,
        },
        Pace::Serial { limit } => Turns::Limited {
            limit: share(limit),
            most: 1,
        },
        Pace::Open {
            rate,
            arrivals,
            wait,
        } => {
            let targets = load.targets.iter().enumerate().map(|(target, share)| {
                let rate = rate * share.rate?;
                let (place, threads) = places[target]?;
                if let Some(log) = &load.log {
                    return Some(Arrivals::of_log(log.clone(), place, threads));
                }
                // What comes in a slice is then no difference between targets that take turns.
                let series = if load.slices.is_some() { 0 } else { target };
                let random = stream(load.seed, index, Use::Arrivals(series));
                if let (Some(rates), Some(share)) = (&load.rates, share.rate) {
                    let rates = rates.clone();
                    let series = (place, threads);
                    return Some(Arrivals::varying(arrivals, (rates, share), random, series));
                }
                Some(Arrivals::new(arrivals, rate, random, place, threads))
            });
            Turns::Intended(targets.collect(), wait)
        }
    }
}
