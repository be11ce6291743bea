//! Memory that is shared with the host: the request, which cannot be changed, and room for the response.

use std::fs::File;
use std::io::{self, IoSliceMut, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::null_mut;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// A request, mapped until the process ends.
pub struct Mapped(&'static [u8]);

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

/// Take the files that come beside one byte: the request, mapped, and the one for the response.
///
/// # Errors
///
/// When the host is gone, or passes something else.
pub fn take(socket: &File) -> io::Result<(Mapped, File)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    loop {
        let data = &mut [IoSliceMut::new(&mut byte)];
        match recvmsg(socket, data, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut files = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights.map(File::from));
        }
    }
    let [request, response]: [File; 2] = files
        .try_into()
        .map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok((map(request)?, response))
}

fn map(mut file: File) -> io::Result<Mapped> {
    let length = file.seek(SeekFrom::End(0))?;
    let length = usize::try_from(length).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(Mapped(&[]));
    }
    // SAFETY: a new mapping, of a file that the host has sealed: it is as long, and never changes.
    let bytes = unsafe {
        let at = mmap(
            null_mut(),
            length,
            ProtFlags::READ,
            MapFlags::PRIVATE,
            &file,
            0,
        )?;
        std::slice::from_raw_parts(at.cast(), length)
    };
    Ok(Mapped(bytes))
}
