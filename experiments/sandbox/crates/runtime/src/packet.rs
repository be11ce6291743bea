//! Packets between two processes of the sandbox, one of which may not be trusted: a kind, a few numbers,
//! a short text, and descriptors beside them. Any bytes are decoded or refused.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

/// Numbers of every packet.
pub const NUMBERS: usize = 8;
/// Bytes before the text.
const HEAD: usize = 8 * (1 + NUMBERS);
/// Bytes of the longest packet.
const LENGTH_MAX: usize = 4096;
/// Descriptors beside a packet.
const DESCRIPTORS_MAX: usize = 2;

/// A packet without its descriptors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The kind of message.
    pub kind: u64,
    /// Its numbers, 0 where it has fewer.
    pub numbers: [u64; NUMBERS],
    /// Its text, cut where it is too long for a packet.
    pub text: String,
}

impl Packet {
    /// Make a packet of a kind with these numbers.
    pub fn new<const N: usize>(kind: u64, numbers: [u64; N]) -> Self {
        const { assert!(N <= NUMBERS) }
        let mut all = [0; NUMBERS];
        all[..N].copy_from_slice(&numbers);
        Packet {
            kind,
            numbers: all,
            text: String::new(),
        }
    }

    /// Add a text.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Packet {
            text: text.into(),
            ..self
        }
    }

    fn encode(&self) -> Vec<u8> {
        let words = [self.kind].into_iter().chain(self.numbers);
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.extend(self.text.bytes().take(LENGTH_MAX - HEAD));
        bytes
    }

    /// Read a packet, or return `None` if the bytes are none.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, text) = bytes.split_at_checked(HEAD)?;
        let (words, _) = head.as_chunks();
        let mut numbers = [0; NUMBERS];
        for (number, word) in numbers.iter_mut().zip(&words[1..]) {
            *number = u64::from_le_bytes(*word);
        }
        Some(Packet {
            kind: u64::from_le_bytes(words[0]),
            numbers,
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }
}

/// Make a pair of sockets that carry packets.
///
/// # Errors
///
/// The kernel's, when there are no more descriptors.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    socketpair(family, kind, SocketFlags::CLOEXEC, None)
}

/// Send `packet` with `descriptors` beside it. It may `wait` for the other end to make room.
///
/// # Errors
///
/// The kernel's: nobody listens, or there is no room and it does not wait.
pub fn send(
    socket: BorrowedFd<'_>,
    packet: &Packet,
    descriptors: &[BorrowedFd<'_>],
    wait: bool,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::DONTWAIT, !wait);
    let bytes = packet.encode();
    loop {
        match sendmsg(socket, &[IoSlice::new(&bytes)], &mut beside, flags) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop),
        }
    }
}

/// Receive a packet and the descriptors beside it, or `None` if there is none and it does not `wait`.
/// Descriptors are missing if this process can have no more.
///
/// # Errors
///
/// `PIPE` when the other end is closed, `BADMSG` for what is no packet, is too long or has too many
/// descriptors, and the kernel's.
pub fn recv(socket: BorrowedFd<'_>, wait: bool) -> Result<Option<(Packet, Vec<OwnedFd>)>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; LENGTH_MAX];
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    flags.set(RecvFlags::DONTWAIT, !wait);
    let received = loop {
        let mut into = [IoSliceMut::new(&mut bytes)];
        match recvmsg(socket, &mut into, &mut beside, flags) {
            Ok(received) => break received,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    };
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Err(Errno::PIPE);
    }
    let has = |flag| received.flags.contains(flag);
    let count = descriptors.len();
    // Of too many the kernel gives as many as there is room for, or one more in its padding; of others it
    // leaves out those that this process has no numbers for.
    let too_many = count > DESCRIPTORS_MAX || count == DESCRIPTORS_MAX && has(ReturnFlags::CTRUNC);
    if has(ReturnFlags::TRUNC) || too_many {
        return Err(Errno::BADMSG);
    }
    if has(ReturnFlags::CTRUNC) {
        descriptors.clear();
    }
    let packet = Packet::decode(&bytes[..received.bytes]).ok_or(Errno::BADMSG)?;
    Ok(Some((packet, descriptors)))
}

/// Receive a packet that has no descriptors, by a system call that every filter lets through, or `None` if
/// there is none.
///
/// # Errors
///
/// As of [`recv`].
pub fn recv_alone(socket: BorrowedFd<'_>) -> Result<Option<Packet>, Errno> {
    // One byte more than any packet has.
    let mut bytes = [0; LENGTH_MAX + 1];
    match rustix::net::recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
        Ok((0, _)) => Err(Errno::PIPE),
        Ok((length, _)) if length > LENGTH_MAX => Err(Errno::BADMSG),
        Ok((length, _)) => Packet::decode(&bytes[..length])
            .map(Some)
            .ok_or(Errno::BADMSG),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use rustix::process::{Resource, getrlimit};
    use std::os::fd::AsFd;

    #[test]
    fn packets_arrive_with_what_is_beside_them() {
        let (here, there) = pair().unwrap();
        let packet = Packet::new(7, [1, u64::MAX]).with_text("why");
        let both = [here.as_fd(), there.as_fd()];
        send(here.as_fd(), &packet, &both, false).unwrap();
        let (found, beside) = recv(there.as_fd(), true).unwrap().unwrap();
        assert_eq!((found, beside.len()), (packet.clone(), 2));
        drop(beside);
        send(here.as_fd(), &packet, &[], false).unwrap();
        assert_eq!(recv_alone(there.as_fd()), Ok(Some(packet)));
        assert!(recv(there.as_fd(), false).unwrap().is_none());
        assert_eq!(recv_alone(there.as_fd()), Ok(None));
        drop(here);
        assert_eq!(recv(there.as_fd(), true).unwrap_err(), Errno::PIPE);
        assert_eq!(recv_alone(there.as_fd()), Err(Errno::PIPE));
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let (here, there) = pair().unwrap();
        let long = vec![1; LENGTH_MAX + 1];
        for bytes in [&b"nonsense"[..], &long] {
            rustix::io::write(&here, bytes).unwrap();
            assert_eq!(recv(there.as_fd(), false).unwrap_err(), Errno::BADMSG);
            rustix::io::write(&here, bytes).unwrap();
            assert_eq!(recv_alone(there.as_fd()), Err(Errno::BADMSG));
        }
        let text = Packet::new(1, []).with_text("x".repeat(2 * LENGTH_MAX));
        send(here.as_fd(), &text, &[], false).unwrap();
        let (found, _) = recv(there.as_fd(), false).unwrap().unwrap();
        assert_eq!(found.text.len(), LENGTH_MAX - HEAD);
    }

    #[test]
    fn descriptors_that_this_process_cannot_have_are_missing() {
        let most = getrlimit(Resource::Nofile).current;
        if most.is_none_or(|most| most > 1 << 20) {
            return;
        }
        let lacking = || {
            let own = libc::CLOSE_RANGE_UNSHARE as i32;
            // SAFETY: gives this thread a table of descriptors of its own, with none of others' in it.
            assert_eq!(unsafe { libc::close_range(3, u32::MAX, own) }, 0);
            let (here, there) = pair().unwrap();
            let packet = Packet::new(7, []);
            let both = [here.as_fd(), there.as_fd()];
            let mut taken = Vec::new();
            while let Ok(one) = here.try_clone() {
                taken.push(one);
            }
            for (sent, room, found) in [(1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 2, 2)] {
                send(here.as_fd(), &packet, &both[..sent], false).unwrap();
                taken.truncate(taken.len() - room);
                let (same, beside) = recv(there.as_fd(), true).unwrap().unwrap();
                assert_eq!((same, beside.len()), (packet.clone(), found));
                drop(beside);
                taken.extend(std::iter::from_fn(|| here.try_clone().ok()));
            }
        };
        std::thread::spawn(lacking).join().unwrap();
    }

    #[test]
    fn too_many_descriptors_are_refused() {
        let (here, there) = pair().unwrap();
        let three = [here.as_fd(), there.as_fd(), here.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        beside.push(SendAncillaryMessage::ScmRights(&three));
        let bytes = Packet::new(1, []).encode();
        let flags = SendFlags::empty();
        sendmsg(&here, &[IoSlice::new(&bytes)], &mut beside, flags).unwrap();
        assert_eq!(recv(there.as_fd(), false).unwrap_err(), Errno::BADMSG);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(24), ..ProptestConfig::with_cases(256) })]

        #[test]
        fn what_is_read_is_written_alike(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(packet) = Packet::decode(&bytes) {
                prop_assert_eq!(Packet::decode(&packet.encode()), Some(packet));
            }
        }
    }
}
