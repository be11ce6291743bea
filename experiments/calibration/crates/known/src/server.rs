//! The server: one thread that waits with epoll.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::epoll;
use rustix::io::Errno;
use slab::Slab;

use crate::burden::Burden;
use crate::connection::{Connection, Next};

const LISTENER: u64 = u64::MAX;
/// Without file descriptors left, the server looks again after this.
const PAUSE: Duration = Duration::from_millis(10);

/// Serve for ever.
///
/// # Errors
///
/// If the address cannot be bound, or epoll fails.
pub fn serve(address: SocketAddr, mut burden: Burden) -> Result<()> {
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    listener.set_nonblocking(true)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let listening = epoll::EventData::new_u64(LISTENER);
    epoll::add(&poll, &listener, listening, epoll::EventFlags::IN)?;
    let mut connections: Slab<Connection> = Slab::new();
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("epoll_wait"),
        }
        for event in &events {
            let (data, happened) = (event.data, event.flags);
            if data.u64() == LISTENER {
                accept(&listener, &poll, &mut connections)?;
                continue;
            }
            let key = data.u64() as usize;
            let Some(connection) = connections.get_mut(key) else {
                continue;
            };
            let wanted = match connection.serve(&mut burden) {
                Next::Close => {
                    connections.remove(key);
                    continue;
                }
                Next::Read => epoll::EventFlags::IN,
                Next::Write => epoll::EventFlags::OUT,
            };
            if wanted != happened {
                epoll::modify(&poll, &connection.stream, data, wanted)?;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poll: &impl std::os::fd::AsFd,
    connections: &mut Slab<Connection>,
) -> Result<()> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let entry = connections.vacant_entry();
            let data = epoll::EventData::new_u64(entry.key() as u64);
            epoll::add(poll, &stream, data, epoll::EventFlags::IN)?;
            entry.insert(Connection::new(stream));
        }
        // The next look at the listener tries again.
        Err(_) => std::thread::sleep(PAUSE),
    }
    Ok(())
}
