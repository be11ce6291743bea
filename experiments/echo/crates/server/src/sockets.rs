//! Sockets and their options: set, and read back where a kernel may have another mind.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt,
};

use crate::options::Options;

const BACKLOG: i32 = 4096;

/// A listener that shares its port with those of the other threads. Connections inherit its options.
pub fn listener(options: &Options) -> Result<OwnedFd> {
    let socket = stream(options.listen)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    set(&socket, options)?;
    bind(&socket, &options.listen)
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A socket that is being connected to the backend; it is writable once it is.
pub fn connecting(backend: SocketAddr, options: &Options) -> Result<OwnedFd> {
    let socket = stream(backend)?;
    set(&socket, options)?;
    verify(&socket, options)?;
    match connect(&socket, &backend) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error).with_context(|| format!("cannot connect to {backend}")),
    }
}

/// Check that a connection has the options that its listener was given.
pub fn verify(socket: impl AsFd, options: &Options) -> Result<()> {
    let found = sockopt::tcp_congestion(&socket)?;
    let wanted = &options.congestion;
    ensure!(
        found == *wanted,
        "a connection has congestion control {found}, expected {wanted}"
    );
    ensure!(
        sockopt::tcp_nodelay(&socket)?,
        "a connection came without TCP_NODELAY"
    );
    Ok(())
}

/// Make the next close send a reset and forget what is queued.
pub fn abort_on_close(socket: impl AsFd) {
    // The connection is given up: that a dead one cannot even be told so is no news.
    let _ = sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// Return true if operations on it wait.
pub fn set_blocking(socket: impl AsFd, blocking: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, !blocking)?)
}

/// Return the kernel's counters of a connection (`struct tcp_info`, tcp(7)).
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<libc::tcp_info> {
    // SAFETY: zero is a valid tcp_info; the kernel writes at most `length` bytes of it.
    unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let mut length = size_of_val(&info) as libc::socklen_t;
        let to = (&raw mut info).cast();
        let fd = socket.as_raw_fd();
        if libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, to, &mut length) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(info)
    }
}

fn stream(address: SocketAddr) -> Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

fn set(socket: &OwnedFd, options: &Options) -> Result<()> {
    let name = &options.congestion;
    sockopt::set_tcp_congestion(socket, name).with_context(|| {
        format!(
            "this kernel has no congestion control {name:?}; it has those in \
             /proc/sys/net/ipv4/tcp_available_congestion_control"
        )
    })?;
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_tcp_user_timeout(socket, options.stall_ms)?;
    Ok(())
}
