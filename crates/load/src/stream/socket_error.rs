//! The text for errors of sockets.

use rustix::io::Errno;

/// The text for an error of a socket.
pub fn reason(error: Errno) -> &'static str {
    match error {
        Errno::CONNREFUSED => "connection refused",
        Errno::CONNRESET => "connection reset by the server",
        Errno::PIPE => "the server has closed the connection",
        Errno::TIMEDOUT => "the kernel gave up the connection",
        Errno::HOSTUNREACH | Errno::NETUNREACH => "no route to the server",
        Errno::ADDRNOTAVAIL => "no free local port: name more sources",
        Errno::MFILE | Errno::NFILE => "too many open files",
        Errno::NOENT => "no such socket",
        Errno::AGAIN => "the server's backlog is full",
        Errno::ACCESS | Errno::PERM => "permission denied",
        Errno::NOBUFS | Errno::NOMEM => "the kernel is out of memory",
        _ => "the socket failed",
    }
}
