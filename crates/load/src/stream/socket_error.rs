//! What errors of sockets mean to people.

use rustix::io::Errno;

/// What an error of a socket means to people.
pub fn reason(error: Errno) -> &'static str {
    match error {
        Errno::CONNREFUSED => "connection refused",
        Errno::CONNRESET => "connection reset by the server",
        Errno::PIPE => "the server has closed the connection",
        Errno::TIMEDOUT => "the kernel gave the connection up",
        Errno::HOSTUNREACH | Errno::NETUNREACH => "no route to the server",
        Errno::ADDRNOTAVAIL => "no free local port: name more sources",
        Errno::MFILE | Errno::NFILE => "too many open files",
        Errno::NOENT => "there is no such socket",
        Errno::AGAIN => "the server's backlog is full",
        Errno::ACCESS | Errno::PERM => "permission denied",
        Errno::NOBUFS | Errno::NOMEM => "the kernel has no memory for it",
        _ => "the socket failed",
    }
}
