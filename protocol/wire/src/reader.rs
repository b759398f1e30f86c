//! Splits a byte stream into frames without doing the reading: the caller says what arrived, this
//! says what it is.

use farcall_base::{Bytes, Error, ErrorKind, Result};

use crate::frame::{FrameHeader, FrameKind, HEADER_BYTES, PREFACE};
use crate::message::HELLO_BYTES_MAX;

/// What stands at the front of the buffer. `consumed` bytes of it are used up when the step is
/// taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Not enough: behind the consumed bytes, at least `wanted` bytes must be buffered.
    Need {
        /// Bytes used up.
        consumed: usize,
        /// Bytes that must be there.
        wanted: usize,
    },
    /// A whole control frame, or a data frame of no bytes; its body is `buffer[start..start +
    /// header.length]`.
    Control {
        /// Its header.
        header: FrameHeader,
        /// Where the body begins in the buffer.
        start: usize,
        /// Bytes used up, padding included.
        consumed: usize,
    },
    /// Behind the consumed bytes come `left` bytes of a data frame's body.
    Data {
        /// Its header.
        header: FrameHeader,
        /// Body bytes still to come.
        left: u32,
        /// Bytes of the buffer used up before them.
        consumed: usize,
    },
}

/// Position in the stream of frames.
#[derive(Debug)]
pub struct FrameReader {
    preface_seen: bool,
    /// The peer's Hello passed: until then a stranger may make us buffer no more than a Hello's
    /// worth.
    greeted: bool,
    control_bytes_max: u32,
    data_bytes_max: u32,
    data: Option<(FrameHeader, u32)>,
    skip: usize,
}

impl FrameReader {
    /// A reader at the start of a stream that accepts control and data bodies up to these sizes.
    pub fn new(control_bytes_max: u32, data_bytes_max: u32) -> Self {
        FrameReader {
            preface_seen: false,
            greeted: false,
            control_bytes_max,
            data_bytes_max,
            data: None,
            skip: 0,
        }
    }

    /// Judges the bytes that stand at the front of the caller's buffer.
    ///
    /// # Errors
    /// `Protocol` for a stranger or an oversized frame, `Version` for another version or an unknown
    /// critical frame.
    pub fn step(&mut self, buffer: &[u8]) -> Result<Step> {
        let mut at = 0;
        if !self.preface_seen {
            check_preface(&buffer[..buffer.len().min(PREFACE.len())])?;
            if buffer.len() < PREFACE.len() {
                return Ok(Step::Need { consumed: 0, wanted: PREFACE.len() });
            }
            self.preface_seen = true;
            at = PREFACE.len();
        }
        if let Some((header, left)) = self.data {
            return Ok(Step::Data { header, left, consumed: at });
        }
        self.next_frame(buffer, at)
    }

    fn next_frame(&mut self, buffer: &[u8], mut at: usize) -> Result<Step> {
        loop {
            let skipped = self.skip.min(buffer.len() - at);
            self.skip -= skipped;
            at += skipped;
            let Some(header) = buffer[at..].first_chunk::<HEADER_BYTES>() else {
                return Ok(Step::Need { consumed: at, wanted: HEADER_BYTES });
            };
            let header = FrameHeader::decode(header);
            self.check_length(&header)?;
            match header.known_kind()? {
                None => self.skip = HEADER_BYTES + header.padded_length(),
                Some(FrameKind::Data) => return Ok(self.begin_data(header, at + HEADER_BYTES)),
                Some(_) if buffer.len() - at < HEADER_BYTES + header.padded_length() => {
                    return Ok(Step::Need {
                        consumed: at,
                        wanted: HEADER_BYTES + header.padded_length(),
                    });
                }
                Some(kind) => {
                    self.greeted |= kind == FrameKind::Hello;
                    let start = at + HEADER_BYTES;
                    return Ok(Step::Control {
                        header,
                        start,
                        consumed: start + header.padded_length(),
                    });
                }
            }
        }
    }

    fn begin_data(&mut self, header: FrameHeader, body: usize) -> Step {
        if header.length == 0 {
            return Step::Control { header, start: body, consumed: body };
        }
        self.data = Some((header, header.length));
        Step::Data { header, left: header.length, consumed: body }
    }

    /// `count` more bytes of the current data frame's body were taken.
    pub fn data_received(&mut self, count: u32) {
        if let Some((header, left)) = &mut self.data {
            *left -= count.min(*left);
            if *left == 0 {
                self.skip = header.padded_length() - header.length as usize;
                self.data = None;
            }
        }
    }

    /// Whether nothing of a frame is outstanding: no data, padding or part of a frame that is being
    /// skipped.
    pub fn between_frames(&self) -> bool {
        self.data.is_none() && self.skip == 0
    }

    /// Bytes from the end of the current data frame's body that certainly are no array bytes:
    /// padding and a header.
    pub fn read_ahead_after_data(header: &FrameHeader) -> usize {
        header.padded_length() - header.length as usize + HEADER_BYTES
    }

    fn check_length(&self, header: &FrameHeader) -> Result<()> {
        let (what, limit) = match FrameKind::from_code(header.kind) {
            Some(FrameKind::Data) => ("data", self.data_bytes_max),
            _ if !self.greeted => ("first", self.control_bytes_max.min(HELLO_BYTES_MAX)),
            _ => ("control", self.control_bytes_max),
        };
        if header.length <= limit {
            return Ok(());
        }
        let message = format!("the peer sent a {what} frame of {}", Bytes(header.length.into()));
        Err(Error::new(ErrorKind::Protocol, "read a frame", message)
            .with("limit", Bytes(limit.into()))
            .fix("the peer is faulty, hostile or not Farcall; the connection is closed"))
    }
}

fn check_preface(seen: &[u8]) -> Result<()> {
    let name = PREFACE.len() - 1;
    if seen[..seen.len().min(name)] != PREFACE[..seen.len().min(name)] {
        let text = String::from_utf8_lossy(seen).escape_debug().to_string();
        return Err(Error::new(
            ErrorKind::Protocol,
            "connect",
            format!("the other end does not speak Farcall: it sent \"{text}\""),
        )
        .fix(match seen {
            // The head of a TLS record: an alert, or a handshake (RFC 8446, section 5.1).
            [0x15 | 0x16, 3, ..] => "it uses TLS: use tls://HOST:PORT",
            _ => "check the address and the port",
        }));
    }
    match seen.get(name) {
        Some(version) if *version != PREFACE[name] => Err(Error::new(
            ErrorKind::Version,
            "connect",
            format!(
                "the other end uses version {version} of the protocol, this end uses version {}",
                PREFACE[name]
            ),
        )
        .fix("use the same version of Farcall at both ends")),
        _ => Ok(()),
    }
}
