//! What the battery needs of a transport: pairs of streams, and time.

use std::io::{self, IoSlice, IoSliceMut};

use farcall_link::stream::ByteStream;

/// Turns without progress after which something counts as hanging.
const IDLE_TURNS_MAX: u32 = 20_000;

/// Two ends.
pub type StreamPair = (Box<dyn ByteStream>, Box<dyn ByteStream>);

/// A transport under test.
pub struct Rig {
    /// Makes two connected streams.
    pub pair: Box<dyn FnMut() -> StreamPair>,
    /// Lets a little time pass: a short sleep, or the next event of virtual time.
    pub pass_time: Box<dyn FnMut()>,
}

impl Rig {
    /// A fresh pair.
    pub fn pair(&mut self) -> StreamPair {
        (self.pair)()
    }

    /// Takes turns until `turn` says that all is done; it returns the number of bytes (or other
    /// things) it moved.
    ///
    /// # Panics
    /// When nothing moves for long: a hang.
    pub fn until(&mut self, what: &str, mut turn: impl FnMut() -> Progress) {
        let mut idle = 0;
        while idle < IDLE_TURNS_MAX {
            match turn() {
                Progress::Done => return,
                Progress::Moved => idle = 0,
                Progress::Nothing => {
                    idle += 1;
                    (self.pass_time)();
                }
            }
        }
        panic!("{what}: nothing happens any more");
    }

    /// Sends all of `bytes`.
    pub fn send_all(&mut self, stream: &mut dyn ByteStream, bytes: &[u8]) {
        let mut sent = 0;
        self.until("send", || match stream.send(&[IoSlice::new(&bytes[sent..])], &[]) {
            Ok(count) => {
                sent += count;
                if sent == bytes.len() { Progress::Done } else { Progress::Moved }
            }
            Err(error) => Progress::unless_broken(&error),
        });
    }

    /// Receives exactly `count` bytes.
    pub fn receive_exactly(&mut self, stream: &mut dyn ByteStream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let mut got = 0;
        self.until("receive", || match receive(stream, &mut bytes[got..]) {
            Ok(0) => panic!("the stream ended {} bytes early", count - got),
            Ok(more) => {
                got += more;
                if got == count { Progress::Done } else { Progress::Moved }
            }
            Err(error) => Progress::unless_broken(&error),
        });
        bytes
    }
}

/// What a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All is done.
    Done,
    /// Something moved.
    Moved,
    /// Time must pass first.
    Nothing,
}

impl Progress {
    /// `Nothing` for an error that only means "later".
    ///
    /// # Panics
    /// For any other error.
    pub fn unless_broken(error: &io::Error) -> Progress {
        assert!(is_later(error), "the stream broke: {error}");
        Progress::Nothing
    }
}

/// Whether an error only means "try again later".
pub fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Receives into one buffer; no descriptors are expected.
///
/// # Errors
/// What the stream says.
pub fn receive(stream: &mut dyn ByteStream, bytes: &mut [u8]) -> io::Result<usize> {
    let mut descriptors = Vec::new();
    let count = stream.receive(&mut [IoSliceMut::new(bytes)], &mut descriptors)?;
    assert!(descriptors.is_empty(), "descriptors that nobody sent");
    Ok(count)
}

/// Bytes that look random and are the same every time.
pub fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    use farcall_base::{Random, SeededRandom};
    let mut random = SeededRandom::new(seed);
    (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(bytes).collect()
}
