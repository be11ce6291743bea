//! A call's request and response in files of memory rather than on the worker's socket. Both are made
//! for one call, have no name, and are gone with it. Whatever the worker could do to them that would
//! matter to the host is refused by their seals, and the response is copied out before it is looked at.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, pread, pwrite};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::failure::Failure;
use crate::limits::Limits;

/// The ready byte of a worker that takes its request and gives its response this way.
pub const READY: u8 = b'S';

/// Return what a binary finds in its environment: that it may have shared memory, if that was asked for.
pub fn offer(limits: &Limits) -> &'static [&'static str] {
    if limits.shared {
        &["TARE_SHARED=1"]
    } else {
        &[]
    }
}

/// The memory in which a worker leaves its response.
#[derive(Debug)]
pub struct Shared {
    response: OwnedFd,
    room: usize,
}

impl Shared {
    /// Pass `request` and room for a response of `room` bytes to the worker at `socket`: one byte,
    /// with both files beside it, the request first.
    ///
    /// # Errors
    ///
    /// When there is no memory for the request, or no descriptors.
    pub fn pass(socket: BorrowedFd<'_>, request: &[u8], room: usize) -> Result<Self, Failure> {
        let lacking = |error| Failure::NotReady(format!("the host has no shared memory: {error}"));
        let request = written(request).map_err(lacking)?;
        let response = roomy(room).map_err(lacking)?;
        let both = [request.as_fd(), response.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        beside.push(SendAncillaryMessage::ScmRights(&both));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match sendmsg(socket, &[IoSlice::new(b"M")], &mut beside, flags) {
            // That a worker listens no longer, its silence will explain.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(Shared { response, room }),
            Err(error) => Err(lacking(error)),
        }
    }

    /// A copy of the response's first `length` bytes. It is not mapped: what the worker changes meanwhile
    /// is in the copy or not, and nothing else.
    ///
    /// # Errors
    ///
    /// When there is no room for so many.
    pub fn response(&self, length: u64) -> Result<Vec<u8>, Failure> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.room {
            let room = self.room;
            let what = format!("{length} bytes announced in memory, at most {room} allowed");
            return Err(Failure::Protocol(what));
        }
        let mut copy = Vec::with_capacity(length);
        while copy.len() < length {
            let offset = copy.len() as u64;
            match pread(&self.response, spare_capacity(&mut copy), offset) {
                Ok(0) => return Err(Failure::Protocol("a response beyond its memory".into())),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::Protocol(format!("its memory: {error}"))),
            }
        }
        copy.truncate(length);
        Ok(copy)
    }
}

/// A file with `bytes` that nobody can change any more.
fn written(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let file = memory("tare-request")?;
    let mut offset = 0;
    while offset < bytes.len() {
        match pwrite(&file, &bytes[offset..], offset as u64) {
            Ok(count) => offset += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    let unchanged = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, unchanged)?;
    Ok(file)
}

/// A file of `room` bytes, no more and no less for ever; they take memory where they are written, that
/// of who writes them.
fn roomy(room: usize) -> Result<OwnedFd, Errno> {
    let file = memory("tare-response")?;
    ftruncate(&file, room as u64)?;
    let as_long = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, as_long)?;
    Ok(file)
}

/// Make memory whose contents cannot be executed.
fn memory(name: &str) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL;
    memfd_create(name, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, fchmod, fstat};
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    use rustix::net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags,
        SocketType, recvmsg, socketpair,
    };
    use std::io::IoSliceMut;

    /// Pass memory as to a worker. Return its descriptors: the request's, and the response's.
    fn passed(request: &[u8], room: usize) -> (Shared, OwnedFd, OwnedFd) {
        let (host, guest) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let shared = Shared::pass(host.as_fd(), request, room).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0; 2];
        let said = recvmsg(
            &guest,
            &mut [IoSliceMut::new(&mut byte)],
            &mut beside,
            RecvFlags::CMSG_CLOEXEC,
        );
        assert_eq!(said.unwrap().bytes, 1);
        let mut files = Vec::new();
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        let [request, response] = files.try_into().unwrap();
        (shared, request, response)
    }

    fn may_map(file: &OwnedFd) -> bool {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, which nothing points into, and which is gone at once.
        unsafe {
            let made = mmap(std::ptr::null_mut(), 4096, both, MapFlags::SHARED, file, 0);
            made.map(|at| munmap(at, 4096)).is_ok()
        }
    }

    #[test]
    fn what_is_passed_comes_back() {
        let (shared, request, response) = passed(b"question", 6);
        let mut found = [0; 16];
        assert_eq!(pread(&request, &mut found, 0), Ok(8));
        assert_eq!(&found[..8], b"question");
        assert_eq!(pwrite(&response, b"answer", 0), Ok(6));
        assert_eq!(shared.response(6).unwrap(), b"answer");
        assert_eq!(shared.response(3).unwrap(), b"ans");
        assert_eq!(shared.response(0).unwrap(), b"");
    }

    #[test]
    fn a_request_can_be_read_and_nothing_else() {
        let (_shared, request, _) = passed(b"question", 6);
        assert_eq!(pwrite(&request, b"Q", 0), Err(Errno::PERM));
        assert_eq!(ftruncate(&request, 0), Err(Errno::PERM));
        assert_eq!(ftruncate(&request, 4096), Err(Errno::PERM));
        assert!(!may_map(&request));
        assert_eq!(fchmod(&request, Mode::RWXU), Err(Errno::PERM));
        assert_eq!(fstat(&request).unwrap().st_mode & 0o111, 0);
    }

    #[test]
    fn a_response_can_be_written_within_its_room() {
        let (shared, _, response) = passed(b"", 4);
        assert!(may_map(&response));
        assert_eq!(ftruncate(&response, 0), Err(Errno::PERM));
        assert_eq!(ftruncate(&response, 5), Err(Errno::PERM));
        assert_eq!(pwrite(&response, b"12345", 0), Err(Errno::PERM));
        assert_eq!(
            fcntl_add_seals(&response, SealFlags::WRITE),
            Err(Errno::PERM)
        );
        assert_eq!(fchmod(&response, Mode::RWXU), Err(Errno::PERM));
        assert!(matches!(shared.response(5), Err(Failure::Protocol(_))));
        assert!(matches!(
            shared.response(u64::MAX),
            Err(Failure::Protocol(_))
        ));
        // What was never written is there, and empty.
        assert_eq!(shared.response(4).unwrap(), [0; 4]);
    }

    #[test]
    fn nothing_and_nowhere_are_a_request_and_a_room() {
        let (shared, request, response) = passed(b"", 0);
        assert_eq!(pread(&request, &mut [0; 1][..], 0), Ok(0));
        assert_eq!(pwrite(&response, b"x", 0), Err(Errno::PERM));
        assert_eq!(shared.response(0).unwrap(), b"");
        assert!(shared.response(1).is_err());
    }
}
