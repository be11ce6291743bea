//! The user at the other end of a socket.

use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

/// Refuse users other than this one, root and `another`: they could read what is sent, or have this
/// user's rights used for them.
///
/// # Errors
///
/// The user that was found, in words.
pub fn check(socket: impl AsFd, another: Option<u32>) -> Result<(), String> {
    let peer = socket_peercred(socket).map_err(|error| format!("who is there: {error}"))?;
    let (found, own) = (peer.uid, geteuid());
    if found == own || found.is_root() || another == Some(found.as_raw()) {
        return Ok(());
    }
    Err(format!(
        "found user {} at the other end, expected root or user {}",
        found.as_raw(),
        own.as_raw(),
    ))
}
