//! What a spawner and a zygote, or a launcher of MPI's, say to one another: packets of a Unix
//! socket, and the descriptors that go with them.
//!
//! A zygote is a process that has loaded a module's code and runs none of it. It forks an
//! executable for each start, and stays the parent: it reaps when it is told to, so that the number
//! of a process stays taken until its group was signalled.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::Publication;
use farcall_wire::message::{decode, encode};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The environment variable that tells a program to be a zygote, and which inherited descriptor
/// leads to its spawner.
pub const ZYGOTE_VARIABLE: &str = "FARCALL_ZYGOTE";

/// Descriptors of a start: connection, standard output, standard error.
pub const START_DESCRIPTORS: usize = 3;

/// A larger module is none: its text passed through one control message when it was published.
const LOAD_BYTES_MAX: u64 = 256 << 20;

const PACKET_BYTES: usize = 16;

/// One packet. Numbers are those of the machine: both ends are on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// To the zygote, first: load the module in the memory that comes with it.
    Load,
    /// The module is loaded.
    Loaded,
    /// It cannot be loaded, or its libraries run threads of their own, which a fork would lose. The
    /// zygote ends.
    Unfit,
    /// To the zygote: fork an executable; its three descriptors come with it.
    Start,
    /// It runs. A descriptor that names the process comes with it, which says more than a number
    /// could. Starts are answered in their order.
    Started,
    /// The system refused, with this error number.
    NotStarted {
        /// As in errno(3).
        errno: i32,
    },
    /// To the zygote: the process has ended and its group was signalled; reap it.
    Reap {
        /// Its number.
        pid: i32,
    },
    /// It is reaped.
    Ended {
        /// Its number, free again.
        pid: i32,
        /// As of wait(2).
        status: i32,
    },
    /// From what becomes an MPI's launcher, and once: the descriptor that comes with it tells which
    /// of its processes dial ([`DIAL`](super::DIAL)).
    Dials,
}

impl Packet {
    fn to_bytes(self) -> [u8; PACKET_BYTES] {
        let (kind, first, second) = match self {
            Packet::Load => (1, 0, 0),
            Packet::Loaded => (2, 0, 0),
            Packet::Unfit => (3, 0, 0),
            Packet::Start => (4, 0, 0),
            Packet::Started => (5, 0, 0),
            Packet::NotStarted { errno } => (6, errno, 0),
            Packet::Reap { pid } => (7, pid, 0),
            Packet::Ended { pid, status } => (8, pid, status),
            Packet::Dials => (9, 0, 0),
        };
        let mut bytes = [0; PACKET_BYTES];
        for (place, number) in bytes.chunks_exact_mut(4).zip([kind, first, second]) {
            place.copy_from_slice(&i32::to_ne_bytes(number));
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Packet> {
        let bytes: &[u8; PACKET_BYTES] = bytes.try_into().ok()?;
        let number =
            |index: usize| bytes[4 * index..].first_chunk().map(|four| i32::from_ne_bytes(*four));
        let kind = number(0)?;
        let first = number(1)?;
        let second = number(2)?;
        Some(match kind {
            1 => Packet::Load,
            2 => Packet::Loaded,
            3 => Packet::Unfit,
            4 => Packet::Start,
            5 => Packet::Started,
            6 => Packet::NotStarted { errno: first },
            7 => Packet::Reap { pid: first },
            8 => Packet::Ended { pid: first, status: second },
            9 => Packet::Dials,
            _ => return None,
        })
    }
}

/// What comes of an attempt to receive.
pub enum Received {
    /// A packet with its descriptors.
    Packet(Packet, Vec<OwnedFd>),
    /// Nothing is there now.
    Nothing,
    /// The other end is gone.
    End,
}

/// Whether to wait for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until one comes.
    Long,
    /// Not at all.
    No,
}

/// One end of the socket between spawner and zygote.
pub struct ZygoteLink(OwnedFd);

impl ZygoteLink {
    /// Both ends, close-on-exec.
    ///
    /// # Errors
    /// `System`.
    pub fn pair() -> Result<(ZygoteLink, OwnedFd)> {
        let pair =
            net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) =
            pair.map_err(|errno| Error::system("make a socket pair", errno.into()))?;
        Ok((ZygoteLink(ours), theirs))
    }

    /// The inherited end.
    pub fn new(socket: OwnedFd) -> ZygoteLink {
        ZygoteLink(socket)
    }

    /// Sends one packet whole.
    ///
    /// # Errors
    /// `System`: the other end has ended, or descriptors cannot be passed.
    pub fn send(&self, packet: Packet, descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(START_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !descriptors.is_empty() {
            assert!(
                control.push(SendAncillaryMessage::ScmRights(descriptors)),
                "no packet has more than a start"
            );
        }
        let bytes = packet.to_bytes();
        let sent = again(|| {
            net::sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)
        });
        sent.map(drop).map_err(|errno| Error::system("talk to a zygote", errno.into()))
    }

    /// Takes one packet.
    ///
    /// # Errors
    /// `Protocol` for what is no packet.
    pub fn receive(&self, wait: Wait) -> Result<Received> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(START_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let waiting = if wait == Wait::No { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        let mut bytes = [0; PACKET_BYTES + 1];
        let flags = waiting | RecvFlags::CMSG_CLOEXEC;
        let outcome = again(|| {
            net::recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
        });
        let count = match outcome {
            Ok(message) if message.bytes == 0 => return Ok(Received::End),
            Ok(message) => message.bytes,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::CONNRESET | Errno::PIPE) => return Ok(Received::End),
            Err(errno) => return Err(Error::system("listen to a zygote", errno.into())),
        };
        let arrived = control.drain().filter_map(|item| match item {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let descriptors = arrived.flatten().collect();
        let packet = Packet::from_bytes(&bytes[..count]);
        let packet = packet.ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "listen to a zygote", "no such packet")
        })?;
        Ok(Received::Packet(packet, descriptors))
    }
}

impl AsFd for ZygoteLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A module for a zygote to load, as memory that goes with [`Packet::Load`].
///
/// # Errors
/// `System`.
pub fn write_load(publication: &Publication) -> Result<OwnedFd> {
    let failed = |error: std::io::Error| Error::system("pass a module", error);
    let memory = memfd_create("farcall-module", MemfdFlags::CLOEXEC)
        .map_err(|errno| failed(errno.into()))?;
    let mut file = File::from(memory);
    file.write_all(&encode(publication)).map_err(failed)?;
    Ok(file.into())
}

/// The other end of [`write_load`].
///
/// # Errors
/// `System`; `Protocol` for what is no module.
pub fn read_load(memory: OwnedFd) -> Result<Publication> {
    let failed = |error: std::io::Error| Error::system("take a module", error);
    let mut file = File::from(memory);
    std::io::Seek::rewind(&mut file).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LOAD_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    decode("module", &bytes)
}

fn again<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ALL: [Packet; 9] = [
        Packet::Load,
        Packet::Loaded,
        Packet::Unfit,
        Packet::Start,
        Packet::Started,
        Packet::NotStarted { errno: 12 },
        Packet::Reap { pid: i32::MAX },
        Packet::Ended { pid: 1, status: -1 },
        Packet::Dials,
    ];

    #[test]
    fn packets_arrive_as_they_were_sent() {
        let (ours, theirs) = ZygoteLink::pair().unwrap();
        let theirs = ZygoteLink::new(theirs);
        assert!(matches!(theirs.receive(Wait::No).unwrap(), Received::Nothing));
        ALL.iter().for_each(|packet| ours.send(*packet, &[]).unwrap());
        for sent in ALL {
            let Received::Packet(packet, descriptors) = theirs.receive(Wait::Long).unwrap() else {
                panic!("{sent:?}")
            };
            assert!(packet == sent && descriptors.is_empty());
        }
        drop(ours);
        assert!(matches!(theirs.receive(Wait::Long).unwrap(), Received::End));
    }

    #[test]
    fn a_module_passes_as_memory() {
        let publication = Publication {
            module: vec![7; 1 << 20],
            libraries: vec!["libm.so.6".to_string()],
            object: None,
        };
        let (ours, theirs) = ZygoteLink::pair().unwrap();
        let memory = write_load(&publication).unwrap();
        ours.send(Packet::Load, &[memory.as_fd()]).unwrap();
        let outcome = ZygoteLink::new(theirs).receive(Wait::Long).unwrap();
        let Received::Packet(Packet::Load, mut descriptors) = outcome else {
            panic!("it is a load")
        };
        assert_eq!(read_load(descriptors.remove(0)).unwrap(), publication);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        // Hostile: a routine that got hold of the socket. Too short, too long, a kind that there is
        // not.
        for bytes in [&[1_u8, 0, 0][..], &[1; PACKET_BYTES + 9], &[0xee; PACKET_BYTES]] {
            let (ours, theirs) = ZygoteLink::pair().unwrap();
            rustix::io::write(&theirs, bytes).unwrap();
            assert!(ours.receive(Wait::Long).is_err(), "{bytes:?}");
        }
    }
}
