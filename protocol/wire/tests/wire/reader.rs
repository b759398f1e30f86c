//! However the network cuts a stream, the same frames come out (spec/wire.md, section 3).

use farcall_base::Result;
use farcall_wire::*;

use crate::body::{Body, frame};
use crate::random::Draw;

/// What came out of a stream: control frames and the pieces of data frames put together.
type Frames = Vec<(FrameHeader, Vec<u8>)>;

/// An owner of the reader as a link is one: a buffer for control, data taken past it.
struct Owner {
    reader: FrameReader,
    buffer: Vec<u8>,
    data: Vec<u8>,
    frames: Frames,
    buffered_max: usize,
}

impl Owner {
    fn new() -> Owner {
        let reader = FrameReader::new(message::CONTROL_BYTES_MAX, 4 << 20);
        Owner { reader, buffer: Vec::new(), data: Vec::new(), frames: Vec::new(), buffered_max: 0 }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend(bytes);
        self.buffered_max = self.buffered_max.max(self.buffer.len());
        while self.step()? {}
        Ok(())
    }

    /// False when more bytes must come.
    fn step(&mut self) -> Result<bool> {
        match self.reader.step(&self.buffer)? {
            Step::Need { consumed, wanted } => {
                self.buffer.drain(..consumed);
                assert!(
                    wanted > self.buffer.len(),
                    "asks for {wanted} bytes and has {}",
                    self.buffer.len()
                );
                return Ok(false);
            }
            Step::Control { header, start, consumed } => {
                self.frames.push((header, self.buffer[start..][..header.length as usize].to_vec()));
                self.buffer.drain(..consumed);
            }
            Step::Data { header, left, consumed } => {
                self.buffer.drain(..consumed);
                let count = self.buffer.len().min(left as usize);
                self.data.extend(self.buffer.drain(..count));
                self.reader.data_received(count as u32);
                if count == left as usize {
                    self.frames.push((header, std::mem::take(&mut self.data)));
                }
                return Ok(count > 0);
            }
        }
        Ok(true)
    }
}

/// A stream that begins with a Hello, unknown frames (which the reader skips) among the others.
fn stream(draw: &mut Draw, count: usize) -> (Vec<u8>, Frames) {
    let mut bytes = PREFACE.to_vec();
    let mut expected = Frames::new();
    let mut greeted = false;
    while expected.len() < count {
        let body = draw.body();
        if !greeted && body.kind() != FrameKind::Hello {
            continue;
        }
        greeted = true;
        let header = FrameHeader {
            sequence: draw.number32(),
            slot: 7,
            ..FrameHeader::new(body.kind(), 5.into_id(), 0)
        };
        let body = body.encode();
        bytes.extend(frame(header, &body));
        expected.push((FrameHeader { length: body.len() as u32, ..header }, body));
        if draw.below(5) == 0 {
            let unknown = FrameHeader { kind: 100, ..header };
            bytes.extend(frame(unknown, &draw.bytes(40)));
        }
    }
    (bytes, expected)
}

trait IntoId {
    fn into_id(self) -> farcall_base::ChannelId;
}

impl IntoId for u32 {
    fn into_id(self) -> farcall_base::ChannelId {
        farcall_base::ChannelId(self)
    }
}

#[test]
fn any_split_gives_the_same_frames() {
    for seed in 0..200 {
        let mut draw = Draw::new(seed);
        let (bytes, expected) = stream(&mut draw, 20);
        let mut owner = Owner::new();
        let mut rest = &bytes[..];
        let piece_max = [1, 3, 20, 200, 5000][draw.below(5) as usize];
        while !rest.is_empty() {
            let piece = 1 + draw.below(piece_max).min(rest.len() as u64 - 1) as usize;
            owner.receive(&rest[..piece]).unwrap();
            rest = &rest[piece..];
        }
        assert_eq!(owner.frames, expected, "seed {seed}");
    }
}

/// A skipped frame is not gathered first: it may be larger than the buffer.
#[test]
fn unknown_frames_are_skipped_without_buffering() {
    let hello = Draw::new(1).body_of(FrameKind::Hello).frame(0);
    let unknown = frame(
        FrameHeader { kind: 200, ..FrameHeader::new(FrameKind::Ping, 0.into_id(), 0) },
        &[9; 100_001],
    );
    let ping = Body::Empty(FrameKind::Ping).frame(0);
    let bytes = [&PREFACE[..], &hello, &unknown, &ping].concat();
    let mut owner = Owner::new();
    for piece in bytes.chunks(100) {
        owner.receive(piece).unwrap();
    }
    assert_eq!(owner.frames.len(), 2);
    assert!(
        owner.buffered_max < 100 + hello.len() + HEADER_BYTES,
        "{} bytes were buffered",
        owner.buffered_max
    );
}

impl Draw {
    /// A message of this kind.
    pub fn body_of(&mut self, kind: FrameKind) -> Body {
        loop {
            let body = self.body();
            if body.kind() == kind {
                return body;
            }
        }
    }
}
