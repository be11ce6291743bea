//! Waiting for several things at once.

use std::time::{Duration, Instant};

use rustix::time::clock_gettime;
use wasmtime::Caller;

use super::own::clock;
use super::view::{BADF, Errno, FAULT, INVAL, PLACES, SOCKET, View, errno, wait};
use crate::lock::lock;
use crate::modes::wasm::channel::{Host, Wait};

/// An event that a guest polls for.
enum Event {
    Moment(Instant),
    Input,
    Output,
    Nothing(Errno),
}

/// A guest's subscription to an event.
struct Subscription {
    name: u64,
    kind: u8,
    event: Event,
}

/// Wait until one of the events has happened; report all that have.
pub async fn poll_oneoff(
    mut guest: Caller<'_, Host>,
    list: i32,
    events: i32,
    count: i32,
    done: i32,
) -> Errno {
    let subscriptions = match View::of(&mut guest).and_then(|mut view| {
        (0..count as u32)
            .map(|index| subscription(&mut view, list, index))
            .collect()
    }) {
        Ok::<Vec<Subscription>, _>(subscriptions) if (1..=PLACES as i32).contains(&count) => {
            subscriptions
        }
        Ok(_) => return INVAL,
        Err(errno) => return errno,
    };
    loop {
        let happened: Vec<&Subscription> = {
            let channel = lock(&guest.data().channel);
            let has = |each: &&Subscription| match each.event {
                Event::Moment(due) => due <= Instant::now(),
                Event::Input => !channel.unread().is_empty(),
                Event::Output | Event::Nothing(_) => true,
            };
            subscriptions.iter().filter(has).collect()
        };
        if !happened.is_empty() {
            return errno(View::of(&mut guest).and_then(|mut view| {
                for (index, each) in happened.iter().enumerate() {
                    let at = (events as u32)
                        .checked_add(index as u32 * 32)
                        .ok_or(FAULT)?;
                    view.put(at, &event(each))?;
                }
                view.put(done as u32, &(happened.len() as u32).to_le_bytes())
            }));
        }
        let moments = subscriptions.iter().filter_map(|each| match each.event {
            Event::Moment(due) => Some(due),
            _ => None,
        });
        let what = Wait {
            input: subscriptions
                .iter()
                .any(|each| matches!(each.event, Event::Input)),
            until: moments.min(),
            ..Wait::default()
        };
        wait(&guest, what).await;
    }
}

fn subscription(view: &mut View<'_>, list: i32, index: u32) -> Result<Subscription, Errno> {
    if index >= PLACES {
        return Err(INVAL);
    }
    let at = (list as u32).checked_add(index * 48).ok_or(FAULT)?;
    view.bytes(at, 48)?;
    let kind = view.number::<1>(at + 8)? as u8;
    let which = view.number::<4>(at + 16)? as i32;
    let event = match kind {
        0 => {
            let (time, absolute) = (
                view.number::<8>(at + 24)?,
                view.number::<2>(at + 40)? & 1 == 1,
            );
            moment(which, Duration::from_nanos(time), absolute)
                .map_or_else(Event::Nothing, Event::Moment)
        }
        1 if which == SOCKET => Event::Input,
        2 if which == SOCKET => Event::Output,
        1 | 2 => Event::Nothing(BADF),
        _ => return Err(INVAL),
    };
    Ok(Subscription {
        name: view.number::<8>(at)?,
        kind,
        event,
    })
}

fn moment(which: i32, time: Duration, absolute: bool) -> Result<Instant, Errno> {
    let now = clock_gettime(clock(which)?);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let left = if absolute {
        time.saturating_sub(now)
    } else {
        time
    };
    // Nobody waits as long as the clock cannot count.
    let far = Duration::from_secs(1 << 32);
    Ok(Instant::now() + left.min(far))
}

fn event(subscription: &Subscription) -> [u8; 32] {
    let mut made = [0; 32];
    made[..8].copy_from_slice(&subscription.name.to_le_bytes());
    if let Event::Nothing(errno) = subscription.event {
        made[8..10].copy_from_slice(&(errno as u16).to_le_bytes());
    }
    made[10] = subscription.kind;
    made
}
