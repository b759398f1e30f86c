//! A peer that speaks the wire by hand: well, badly, or not at all.

use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use farcall_base::{ChannelId, Error};
use farcall_wire::message::{decode, encode};
use farcall_wire::{
    ByteOrder, Failure, Flags, FrameHeader, FrameKind, Goodbye, HEADER_BYTES, Hello, HelloLimits,
    PREFACE, Role, padding,
};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, send, sendmsg,
};

use crate::Server;
use crate::relay::socket_of;

/// A frame as it came.
pub type Frame = (FrameHeader, Vec<u8>);

/// A raw connection to a server.
pub struct Raw {
    socket: OwnedFd,
    token: Option<Vec<u8>>,
    preface_read: bool,
}

fn hello_of(role: Role, token: Option<Vec<u8>>) -> Hello {
    Hello {
        role,
        byte_order: ByteOrder::NATIVE,
        product: "raw".into(),
        features: Vec::new(),
        limits: HelloLimits::default(),
        host: String::new(),
        principal: None,
        token,
        attributes: Vec::new(),
    }
}

impl Raw {
    /// Connects, and says nothing yet.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn connect(server: &Server) -> Raw {
        let timeout = Some(Duration::from_secs(10));
        if let Some(address) = server.address().strip_prefix("tls://") {
            return Raw::with_certificate(address, server);
        }
        let socket: OwnedFd = match server.address().strip_prefix("unix:") {
            Some(path) => {
                let stream = UnixStream::connect(path).expect("the server listens");
                stream.set_read_timeout(timeout).expect("sockets take timeouts");
                stream.into()
            }
            None => {
                let address = server.address().trim_start_matches("farcall://");
                let stream = TcpStream::connect(address).expect("the server listens");
                stream.set_read_timeout(timeout).expect("sockets take timeouts");
                stream.into()
            }
        };
        let token = server.token().map(|file| {
            let digits = std::fs::read_to_string(file).expect("the server made a token");
            let pair =
                |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits");
            (0..32).map(pair).collect()
        });
        Raw { socket, token, preface_read: false }
    }

    fn with_certificate(address: &str, server: &Server) -> Raw {
        let timeout = Duration::from_secs(10);
        let (host, port) = address.rsplit_once(':').expect("an address has a port");
        let port = port.parse().expect("ports are numbers");
        let stream = farcall_transport_tls::connect(host, port, server.token(), timeout);
        let socket = socket_of(stream.unwrap_or_else(|error| panic!("{error}")));
        socket.set_read_timeout(Some(timeout)).expect("sockets take timeouts");
        Raw { socket: socket.into(), token: None, preface_read: false }
    }

    /// The other end of a connection that a test has taken.
    ///
    /// # Panics
    /// When the socket takes no timeouts.
    pub fn accepted(socket: UnixStream) -> Raw {
        let timeout = Some(Duration::from_secs(10));
        socket.set_read_timeout(timeout).expect("sockets take timeouts");
        Raw { socket: socket.into(), token: None, preface_read: false }
    }

    /// Connects and greets, as a client of good manners does.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn greeted(server: &Server) -> Raw {
        let mut raw = Raw::connect(server);
        raw.send(&PREFACE);
        let hello = raw.hello();
        raw.message(FrameKind::Hello, 0, &hello);
        let (header, _) = raw.frame().expect("the server greets");
        assert_eq!(header.kind, FrameKind::Hello as u8);
        raw
    }

    /// What a client of good manners says.
    pub fn hello(&self) -> Hello {
        hello_of(Role::Client, self.token.clone())
    }

    /// Sends bytes; a server that closed already is no mistake of the test.
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes);
    }

    /// The same; whether all of them went: false for a server that closed already, or takes nothing
    /// for as long as the socket waits.
    pub fn try_send(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(_) => return false,
            }
        }
        true
    }

    /// Sends bytes with a descriptor; false when the server closed already.
    pub fn send_with(&mut self, bytes: &[u8], descriptor: BorrowedFd<'_>) -> bool {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let parts = [std::io::IoSlice::new(bytes)];
        sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// A frame with any header, padded.
    pub fn framed(header: FrameHeader, body: &[u8]) -> Vec<u8> {
        let mut bytes = header.encode().to_vec();
        bytes.extend_from_slice(body);
        bytes.resize(bytes.len() + padding(body.len() as u32), 0);
        bytes
    }

    /// What an end says first: the preface, and a Hello without features.
    pub fn greeting(role: Role) -> Vec<u8> {
        Self::greeting_with(role, &[])
    }

    /// The same with features.
    pub fn greeting_with(role: Role, features: &[&str]) -> Vec<u8> {
        let features = features.iter().map(|one| (*one).to_owned()).collect();
        let hello = Hello { features, ..hello_of(role, None) };
        [PREFACE.to_vec(), Self::encoded(FrameKind::Hello, 0, &hello)].concat()
    }

    /// A control frame's bytes; sequence 0.
    pub fn encoded<T: minicbor::Encode<()>>(kind: FrameKind, channel: u32, message: &T) -> Vec<u8> {
        let body = encode(message);
        Self::framed(FrameHeader::new(kind, ChannelId(channel), body.len() as u32), &body)
    }

    /// Sends a control frame, the first on its channel.
    pub fn message<T: minicbor::Encode<()>>(&mut self, kind: FrameKind, channel: u32, message: &T) {
        let bytes = Self::encoded(kind, channel, message);
        self.send(&bytes);
    }

    /// Sends a data frame.
    pub fn data(&mut self, channel: u32, slot: u16, sequence: u32, end: bool, bytes: &[u8]) {
        let header = FrameHeader::new(FrameKind::Data, ChannelId(channel), bytes.len() as u32);
        let flags = if end { Flags::END } else { Flags::default() };
        self.send(&Self::framed(FrameHeader { slot, sequence, flags, ..header }, bytes));
    }

    fn read(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match recv(&self.socket, &mut bytes[filled..], RecvFlags::empty()) {
                Ok((0, _)) | Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => {
                    return None;
                }
                Ok((more, _)) => filled += more,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("the server neither answered nor closed: {error}"),
            }
        }
        Some(bytes)
    }

    /// The next frame; `None` at the end of the connection.
    ///
    /// # Panics
    /// When nothing comes for ten seconds.
    pub fn frame(&mut self) -> Option<Frame> {
        if !self.preface_read {
            assert_eq!(self.read(PREFACE.len())?, PREFACE, "the server speaks Farcall");
            self.preface_read = true;
        }
        let header: [u8; HEADER_BYTES] =
            self.read(HEADER_BYTES)?.try_into().expect("as many as asked for");
        let header = FrameHeader::decode(&header);
        let body = self.read(header.length as usize)?;
        self.read(padding(header.length))?;
        Some((header, body))
    }

    /// Reads on until the server says goodbye or closes.
    ///
    /// # Panics
    /// When it does neither for ten seconds.
    pub fn goodbye(&mut self) -> Option<Error> {
        while let Some((header, body)) = self.frame() {
            if header.kind == FrameKind::Goodbye as u8 {
                let goodbye: Goodbye = decode("Goodbye", &body).expect("the server's own message");
                return goodbye.failure.map(Error::from);
            }
        }
        None
    }

    /// The next frame's body, which must be of this kind.
    ///
    /// # Panics
    /// When it is another.
    pub fn expect(&mut self, kind: FrameKind) -> Vec<u8> {
        loop {
            let (header, body) =
                self.frame().unwrap_or_else(|| panic!("the server closed before {kind:?}"));
            // Credit may come at any time.
            if header.kind == FrameKind::Window as u8 && kind != FrameKind::Window {
                continue;
            }
            assert_eq!(
                FrameKind::from_code(header.kind),
                Some(kind),
                "{:?}",
                String::from_utf8_lossy(&body)
            );
            return body;
        }
    }

    /// The socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The error that a failed call's Result carries.
///
/// # Panics
/// When it did not fail.
pub fn failure_of(result: &[u8]) -> Error {
    let result: farcall_wire::CallResult =
        decode("Result", result).expect("the server's own message");
    let failure: Failure = result.failure.expect("the call failed");
    Error::from(failure)
}
