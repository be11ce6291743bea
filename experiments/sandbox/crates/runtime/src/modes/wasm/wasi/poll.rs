//! Waiting for several things at once.

use std::time::{Duration, Instant};

use rustix::time::clock_gettime;
use wasmtime::Caller;

use super::own::clock;
use super::view::{BADF, Errno, FAULT, INVAL, LINE, PLACES, View, errno, wait};
use crate::lock::lock;
use crate::modes::wasm::line::{Host, Wait};

/// What a guest asks to be told of.
enum Event {
    Moment(Instant),
    Input,
    Output,
    Nothing(Errno),
}

struct Asked {
    name: u64,
    kind: u8,
    event: Event,
}

/// Waits until one of the events has happened; tells of all that have.
pub async fn poll_oneoff(
    mut guest: Caller<'_, Host>,
    asked: i32,
    told: i32,
    count: i32,
    done: i32,
) -> Errno {
    let events = match View::of(&mut guest).and_then(|mut view| {
        (0..count as u32)
            .map(|index| ask(&mut view, asked, index))
            .collect()
    }) {
        Ok::<Vec<Asked>, _>(events) if (1..=PLACES as i32).contains(&count) => events,
        Ok(_) => return INVAL,
        Err(errno) => return errno,
    };
    loop {
        let happened: Vec<&Asked> = {
            let line = lock(&guest.data().line);
            let has = |each: &&Asked| match each.event {
                Event::Moment(due) => due <= Instant::now(),
                Event::Input => !line.unread().is_empty(),
                Event::Output | Event::Nothing(_) => true,
            };
            events.iter().filter(has).collect()
        };
        if !happened.is_empty() {
            return errno(View::of(&mut guest).and_then(|mut view| {
                for (index, each) in happened.iter().enumerate() {
                    let at = (told as u32).checked_add(index as u32 * 32).ok_or(FAULT)?;
                    view.put(at, &answer(each))?;
                }
                view.put(done as u32, &(happened.len() as u32).to_le_bytes())
            }));
        }
        let moments = events.iter().filter_map(|each| match each.event {
            Event::Moment(due) => Some(due),
            _ => None,
        });
        let what = Wait {
            input: events.iter().any(|each| matches!(each.event, Event::Input)),
            until: moments.min(),
            ..Wait::default()
        };
        wait(&guest, what).await;
    }
}

fn ask(view: &mut View<'_>, asked: i32, index: u32) -> Result<Asked, Errno> {
    if index >= PLACES {
        return Err(INVAL);
    }
    let at = (asked as u32).checked_add(index * 48).ok_or(FAULT)?;
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
        1 if which == LINE => Event::Input,
        2 if which == LINE => Event::Output,
        1 | 2 => Event::Nothing(BADF),
        _ => return Err(INVAL),
    };
    Ok(Asked {
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

fn answer(asked: &Asked) -> [u8; 32] {
    let mut made = [0; 32];
    made[..8].copy_from_slice(&asked.name.to_le_bytes());
    if let Event::Nothing(errno) = asked.event {
        made[8..10].copy_from_slice(&(errno as u16).to_le_bytes());
    }
    made[10] = asked.kind;
    made
}
