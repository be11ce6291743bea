//! The user at the other end of a socket.

use std::os::fd::AsFd;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::process::geteuid;

use crate::audit::Client;

/// Return the process and the user at the other end; no process if it is in another PID namespace.
pub fn client(socket: impl AsFd) -> Client {
    let Ok(peer) = getsockopt(&socket, PeerCredentials) else {
        return Client::default();
    };
    Client {
        pid: u64::try_from(peer.pid()).ok().filter(|pid| *pid > 0),
        uid: Some(peer.uid()),
    }
}

/// Refuse users other than this one, root and `another`: they could read what is sent, or have this
/// user's rights used for them.
///
/// # Errors
///
/// The user that was found, in words.
pub fn check(socket: impl AsFd, another: Option<u32>) -> Result<(), String> {
    // rustix takes no peer of another PID namespace, whose number is 0 here.
    let peer = getsockopt(&socket, PeerCredentials)
        .map_err(|error| format!("cannot find the user at the other end: {error}"))?;
    let (found, own) = (peer.uid(), geteuid().as_raw());
    if found == own || found == 0 || another == Some(found) {
        return Ok(());
    }
    Err(format!(
        "found user {found} at the other end, expected root or user {own}"
    ))
}
