//! A guest's descriptors: its channel, and streams that lead nowhere.

use wasmtime::Caller;

use super::view::{BADF, Errno, SOCKET, STREAMS, SUCCESS, View, errno, wait};
use crate::lock::lock;
use crate::modes::wasm::channel::{Channel, Host, UNREAD_MAX, Wait};

pub fn fd_close(guest: Caller<'_, Host>, fd: i32) -> Errno {
    if fd == SOCKET {
        lock(&guest.data().channel).closed = true;
    }
    if fd == SOCKET || STREAMS.contains(&fd) {
        SUCCESS
    } else {
        BADF
    }
}

pub fn fd_fdstat_get(mut guest: Caller<'_, Host>, fd: i32, at: i32) -> Errno {
    const CHARACTERS: u8 = 2;
    const STREAM: u8 = 6;
    let kind = match fd {
        SOCKET => STREAM,
        fd if STREAMS.contains(&fd) => CHARACTERS,
        _ => return BADF,
    };
    // Its rights: to read and to write.
    let (mut made, rights) = ([0; 24], (1u64 << 1 | 1 << 6).to_le_bytes());
    made[0] = kind;
    made[8..16].copy_from_slice(&rights);
    errno(View::of(&mut guest).and_then(|mut view| view.put(at as u32, &made)))
}

pub async fn fd_read(
    mut guest: Caller<'_, Host>,
    fd: i32,
    list: i32,
    count: i32,
    done: i32,
) -> Errno {
    if fd == SOCKET {
        while lock(&guest.data().channel).unread().is_empty() {
            let input = Wait {
                input: true,
                ..Wait::default()
            };
            wait(&guest, input).await;
        }
    }
    each_buffer(
        &mut guest,
        [list, count, done],
        |channel, buffer| match fd {
            SOCKET => Ok(take(channel, buffer)),
            fd if STREAMS.contains(&fd) => Ok(0),
            _ => Err(BADF),
        },
    )
}

/// Does something with each of the buffers that a list names, and puts the sum of what comes of it
/// at `done`.
fn each_buffer(
    guest: &mut Caller<'_, Host>,
    [list, count, done]: [i32; 3],
    what: impl Fn(&mut Channel, &mut [u8]) -> Result<u32, Errno>,
) -> Errno {
    errno(View::of(guest).and_then(|mut view| {
        let mut total = 0u32;
        for (at, length) in view.buffers(list, count)? {
            let channel = view.host.channel.clone();
            let more = what(&mut lock(&channel), view.bytes(at, length)?)?;
            total = total.saturating_add(more);
        }
        view.put(done as u32, &total.to_le_bytes())
    }))
}

fn take(channel: &mut Channel, buffer: &mut [u8]) -> u32 {
    let unread = channel.unread();
    let count = unread.len().min(buffer.len());
    buffer[..count].copy_from_slice(&unread[..count]);
    channel.read += count;
    count as u32
}

pub async fn fd_write(
    mut guest: Caller<'_, Host>,
    fd: i32,
    list: i32,
    count: i32,
    done: i32,
) -> Errno {
    if fd == SOCKET {
        while lock(&guest.data().channel).output.len() >= UNREAD_MAX {
            let drained = Wait {
                output: true,
                ..Wait::default()
            };
            wait(&guest, drained).await;
        }
    }
    each_buffer(
        &mut guest,
        [list, count, done],
        |channel, buffer| match fd {
            SOCKET if channel.closed => Err(BADF),
            SOCKET => {
                let room = UNREAD_MAX.saturating_sub(channel.output.len());
                let taken = &buffer[..buffer.len().min(room)];
                channel.output.extend_from_slice(taken);
                Ok(taken.len() as u32)
            }
            fd if STREAMS.contains(&fd) => Ok(buffer.len() as u32),
            _ => Err(BADF),
        },
    )
}
