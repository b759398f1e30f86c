//! Any frame's body as one type, so that tests can speak of frames in general. The fuzz targets of
//! `tests/fuzz` include this file.

use farcall_base::{ChannelId, ErrorKind, Result};
use farcall_wire::message::{decode, encode};
use farcall_wire::*;

/// The body of a frame of each kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Hello(Hello),
    Goodbye(Goodbye),
    Request(Request),
    Reply(Reply),
    Open(Open),
    Data(Vec<u8>),
    Window(Window),
    Result(CallResult),
    Notice(Notice),
    Share(Share),
    Unshare(u32),
    Resume(Resume),
    /// Ping, Pong, Cancel.
    Empty(FrameKind),
}

impl Body {
    pub fn kind(&self) -> FrameKind {
        match self {
            Body::Hello(_) => FrameKind::Hello,
            Body::Goodbye(_) => FrameKind::Goodbye,
            Body::Request(_) => FrameKind::Request,
            Body::Reply(_) => FrameKind::Reply,
            Body::Open(_) => FrameKind::Open,
            Body::Data(_) => FrameKind::Data,
            Body::Window(_) => FrameKind::Window,
            Body::Result(_) => FrameKind::Result,
            Body::Notice(_) => FrameKind::Notice,
            Body::Share(_) => FrameKind::Share,
            Body::Unshare(_) => FrameKind::Unshare,
            Body::Resume(_) => FrameKind::Resume,
            Body::Empty(kind) => *kind,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        match self {
            Body::Hello(message) => encode(message),
            Body::Goodbye(message) => encode(message),
            Body::Request(message) => encode(message),
            Body::Reply(message) => encode(message),
            Body::Open(message) => encode(message),
            Body::Data(bytes) => bytes.clone(),
            Body::Window(message) => encode(message),
            Body::Result(message) => encode(message),
            Body::Notice(message) => encode(message),
            Body::Share(message) => encode(message),
            Body::Unshare(segment) => encode(segment),
            Body::Resume(message) => encode(message),
            Body::Empty(_) => Vec::new(),
        }
    }

    pub fn decode(kind: FrameKind, bytes: &[u8]) -> Result<Body> {
        Ok(match kind {
            FrameKind::Hello => Body::Hello(decode("Hello", bytes)?),
            FrameKind::Goodbye => Body::Goodbye(decode("Goodbye", bytes)?),
            FrameKind::Request => Body::Request(decode("Request", bytes)?),
            FrameKind::Reply => Body::Reply(decode("Reply", bytes)?),
            FrameKind::Open => Body::Open(decode("Open", bytes)?),
            FrameKind::Data => Body::Data(bytes.to_vec()),
            FrameKind::Window => Body::Window(decode("Window", bytes)?),
            FrameKind::Result => Body::Result(decode("Result", bytes)?),
            FrameKind::Notice => Body::Notice(decode("Notice", bytes)?),
            FrameKind::Share => Body::Share(decode("Share", bytes)?),
            FrameKind::Unshare => Body::Unshare(decode("Unshare", bytes)?),
            FrameKind::Resume => Body::Resume(decode("Resume", bytes)?),
            FrameKind::Ping | FrameKind::Pong | FrameKind::Cancel => Body::Empty(kind),
        })
    }

    /// The frame on a channel: header, body, padding.
    pub fn frame(&self, channel: u32) -> Vec<u8> {
        frame(FrameHeader::new(self.kind(), ChannelId(channel), 0), &self.encode())
    }
}

/// Header (with the body's length), body, padding.
pub fn frame(header: FrameHeader, body: &[u8]) -> Vec<u8> {
    let header = FrameHeader { length: u32::try_from(body.len()).unwrap(), ..header };
    let mut bytes = header.encode().to_vec();
    bytes.extend(body);
    bytes.resize(bytes.len() + padding(header.length), 0);
    bytes
}

/// Reads a whole stream: every frame, until the bytes end.
///
/// # Errors
/// What the reader or a decoder says of the first bad frame; `Need` at the end of the bytes is no
/// error.
pub fn read_all(stream: &[u8]) -> Result<Vec<(FrameHeader, Body)>> {
    let mut reader =
        FrameReader::new(message::CONTROL_BYTES_MAX, HelloLimits::default().data_bytes_max);
    let mut frames = Vec::new();
    let mut at = 0;
    loop {
        match reader.step(&stream[at..])? {
            Step::Need { .. } => return Ok(frames),
            Step::Control { header, start, consumed } => {
                let body = &stream[at + start..][..header.length as usize];
                let kind = header.known_kind()?.expect("the reader skips unknown kinds");
                frames.push((header, Body::decode(kind, body)?));
                at += consumed;
            }
            Step::Data { header, left, consumed } => {
                at += consumed;
                let Some(body) = stream.get(at..at + left as usize) else { return Ok(frames) };
                frames.push((header, Body::Data(body.to_vec())));
                reader.data_received(left);
                at += left as usize;
            }
        }
    }
}

/// Whatever a decoder accepts it must be able to write and read again; whether it accepts this.
///
/// # Panics
/// When it does not; `place` says where the bytes are from.
pub fn judge(kind: FrameKind, bytes: &[u8], place: &dyn Fn() -> String) -> bool {
    match Body::decode(kind, bytes) {
        Ok(body) => {
            // Not compared as values: a NaN among them differs from itself.
            let again = body.encode();
            assert_eq!(Body::decode(kind, &again).unwrap().encode(), again, "{}", place());
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Protocol, "{}", place());
            false
        }
    }
}
