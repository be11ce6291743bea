//! A thread of the launcher's for each loaded binary, from its start to its end.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::binary::Binary;
use crate::crew::{Crew, Keepers};
use crate::host::Host;
use crate::line::Line;
use crate::packet::{pair, recv};
use crate::wanted::Wanted;
use crate::wire::{Answer, answer};

/// Start the workers that a broker wants, and end them when it hangs up `socket`.
pub fn run(host: &Host, wanted: &Wanted, binary: OwnedFd, socket: &OwnedFd) {
    let crew = match start(host, wanted, binary, socket) {
        Ok(crew) => crew,
        Err(why) => {
            let _ = answer(socket.as_fd(), &Answer::Refused(0, why), &[], true);
            return;
        }
    };
    let board = crew.board.clone();
    if answer(socket.as_fd(), &Answer::Done, &[board.memory()], true).is_ok() {
        // Nothing is sent here: this returns at the end.
        let _ = recv(socket.as_fd(), true);
    }
    crew.end();
}

fn start(host: &Host, wanted: &Wanted, binary: OwnedFd, socket: &OwnedFd) -> Result<Crew, String> {
    let binary = Arc::new(Binary::sealed(binary)?);
    host.start(wanted, binary, &|_| {
        let made = pair().and_then(|(here, there)| {
            answer(socket.as_fd(), &Answer::Keeper, &[there.as_fd()], true)?;
            crate::descriptors::moved_up(here)
        });
        made.map(Line::There)
            .map_err(|error| format!("a keeper's line: {error}"))
    })
}
