//! An array in memory as the packed bytes of the wire: receives into its place and sends from it,
//! run by run.
//!
//! Long runs are received and sent where they lie. Runs shorter than `SHORT_RUN` would cost a
//! system-call part each, so they pass through a small buffer: the one documented copy of the data
//! path.

use std::sync::Arc;

use farcall_base::{Error, Result};

use crate::compression::Saved;
use crate::memory::{Block, HeapRegion, Region, Space};
use crate::strided::{Axis, Cursor, Strided};

/// Runs below this many bytes are gathered or scattered through a buffer.
pub const SHORT_RUN: u64 = 2048;
/// Size of that buffer.
const BUFFER_BYTES: u64 = 256 << 10;

/// An array's memory and how far a transfer has come in it.
pub struct Packing {
    region: Arc<dyn Region>,
    base: usize,
    cursor: Cursor,
    buffer: Option<HeapRegion>,
    buffered: bool,
    element_bytes: u64,
    bytes: u64,
    /// What compression has saved so far.
    pub saved: Saved,
}

impl Packing {
    /// The array at byte `base` of `region`.
    ///
    /// # Errors
    /// `Internal` when it does not lie within the region.
    pub fn new(region: Arc<dyn Region>, base: usize, array: &Strided) -> Result<Packing> {
        if let Some((low, high)) = array.extent() {
            let low = low + base as i64;
            let high = high + base as i64;
            if low < 0 || high >= region.bytes() as i64 {
                return Err(Error::internal(
                    "name argument memory",
                    "an array outside of its region",
                )
                .with("first byte", low)
                .with("last byte", high)
                .with("region", region.bytes()));
            }
        }
        Ok(Packing {
            region,
            base,
            bytes: array.bytes(),
            cursor: Cursor::new(array),
            buffer: None,
            buffered: false,
            element_bytes: array.element_bytes,
            saved: Saved::default(),
        })
    }

    /// Packed bytes still to come or to go.
    pub fn left(&self) -> u64 {
        self.cursor.left()
    }

    /// Packed bytes of the whole.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of one element.
    pub fn element_bytes(&self) -> u64 {
        self.element_bytes
    }

    fn position(&self) -> usize {
        usize::try_from(self.base as i64 + self.cursor.offset()).expect("new() checked the extent")
    }

    /// Where the next bytes go, at most `max`.
    ///
    /// # Errors
    /// `Internal` past the end, `System` when there is no memory for the buffer.
    pub fn space(&mut self, max: usize) -> Result<Space> {
        let run = self.cursor.run_left();
        self.buffered = run < SHORT_RUN && self.cursor.left() > run;
        if !self.buffered {
            return Space::of(
                &*self.region,
                self.position(),
                usize::try_from(run).unwrap_or(usize::MAX).min(max),
            );
        }
        let bytes = self.cursor.left().min(BUFFER_BYTES) as usize;
        if self.buffer.as_ref().is_none_or(|buffer| buffer.bytes() < bytes) {
            self.buffer = Some(HeapRegion::new(bytes)?);
        }
        Space::of(self.buffer.as_ref().expect("made above"), 0, bytes.min(max))
    }

    /// `count` bytes of the last [`Packing::space`] are there.
    ///
    /// # Errors
    /// `Internal` past the end.
    pub fn arrived(&mut self, count: usize) -> Result<()> {
        if !self.buffered {
            self.cursor.advance(count as u64);
            return Ok(());
        }
        let buffer = self.buffer.take().expect("space() made it");
        let mut done = 0;
        while done < count {
            let piece = (self.cursor.run_left() as usize).min(count - done);
            let mut from = Space::of(&buffer, done, piece)?;
            Space::of(&*self.region, self.position(), piece)?.bytes().copy_from_slice(from.bytes());
            self.cursor.advance(piece as u64);
            done += piece;
        }
        self.buffer = Some(buffer);
        Ok(())
    }

    /// The next `length` bytes to send.
    ///
    /// # Errors
    /// `Internal` past the end.
    pub fn blocks(&mut self, length: usize) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        let mut left = length;
        while left > 0 {
            let run = (self.cursor.run_left() as usize).min(left);
            if run == 0 {
                return Err(Error::internal(
                    "send an argument",
                    "more bytes were requested than there are",
                ));
            }
            if (run as u64) < SHORT_RUN && run < left {
                blocks.push(self.gather(left)?);
                break;
            }
            blocks.push(Block::of(&self.region, self.position(), run)?);
            self.cursor.advance(run as u64);
            left -= run;
        }
        Ok(blocks)
    }

    fn gather(&mut self, length: usize) -> Result<Block> {
        let buffer = HeapRegion::new(length)?;
        let mut done = 0;
        while done < length {
            let piece = (self.cursor.run_left() as usize).min(length - done);
            if piece == 0 {
                return Err(Error::internal(
                    "send an argument",
                    "more bytes were requested than there are",
                ));
            }
            let from = Block::of(&self.region, self.position(), piece)?;
            Space::of(&buffer, done, piece)?.bytes().copy_from_slice(from.bytes());
            self.cursor.advance(piece as u64);
            done += piece;
        }
        let region: Arc<dyn Region> = Arc::new(buffer);
        Block::of(&region, 0, length)
    }
}

/// Copies array bytes; [`plain_copy`] unless a transport has a faster one for large pieces.
pub type CopyBytes = fn(destination: &mut [u8], source: &[u8]);

/// The ordinary copy.
pub fn plain_copy(destination: &mut [u8], source: &[u8]) {
    destination.copy_from_slice(source);
}

/// One side of [`copy_array`]: an array in a region.
pub struct ArrayPlace<'a> {
    /// Memory.
    pub region: &'a Arc<dyn Region>,
    /// Byte of the region that offsets count from.
    pub base: usize,
    /// Where the elements lie.
    pub array: &'a Strided,
}

/// Copies every element of `source` to the same index of `destination`: both have the same axes'
/// counts, in any strides. Whole runs are copied at once where both sides have them; otherwise
/// squares of elements, so that a transposition reads and writes whole cache lines.
///
/// # Errors
/// `Internal` when counts differ or an array lies outside of its region.
pub fn copy_array(
    destination: &ArrayPlace<'_>,
    source: &ArrayPlace<'_>,
    copy: CopyBytes,
) -> Result<()> {
    let same = destination.array.element_bytes == source.array.element_bytes
        && destination.array.axes.iter().map(|a| a.count).eq(source
            .array
            .axes
            .iter()
            .map(|a| a.count));
    if !same {
        return Err(Error::internal("copy an array", "the shapes differ"));
    }
    let mut to = Packing::new(destination.region.clone(), destination.base, destination.array)?;
    let mut from = Packing::new(source.region.clone(), source.base, source.array)?;
    if to.cursor.run_left().min(from.cursor.run_left()) < 256 && destination.array.axes.len() >= 2 {
        return copy_squares(destination, source);
    }
    while to.left() > 0 {
        let piece = to.cursor.run_left().min(from.cursor.run_left()) as usize;
        let block = Block::of(&from.region, from.position(), piece)?;
        copy(Space::of(&*to.region, to.position(), piece)?.bytes(), block.bytes());
        to.cursor.advance(piece as u64);
        from.cursor.advance(piece as u64);
    }
    Ok(())
}

/// Side of the squares: 32 elements of 8 bytes are four cache lines.
const SQUARE: u64 = 32;

/// Copies plane by plane of the two axes that are fastest on either side, in squares.
fn copy_squares(destination: &ArrayPlace<'_>, source: &ArrayPlace<'_>) -> Result<()> {
    let fastest = |array: &Strided| {
        let candidates = array.axes.iter().enumerate().filter(|(_, axis)| axis.count > 1);
        candidates.min_by_key(|(_, axis)| axis.stride.unsigned_abs()).map_or(0, |(index, _)| index)
    };
    let first = fastest(destination.array);
    let second = match fastest(source.array) {
        same if same == first => usize::from(first == 0),
        other => other,
    };
    let mut index = vec![0_u64; destination.array.axes.len()];
    loop {
        copy_plane(destination, source, &index, (first, second))?;
        if !next_index(&mut index, &destination.array.axes, (first, second)) {
            return Ok(());
        }
    }
}

/// Steps to the next plane: counts up all axes but the two of the plane. False after the last.
fn next_index(index: &mut [u64], axes: &[Axis], plane: (usize, usize)) -> bool {
    for (axis, at) in
        index.iter_mut().enumerate().filter(|(axis, _)| *axis != plane.0 && *axis != plane.1)
    {
        *at += 1;
        if *at < axes[axis].count {
            return true;
        }
        *at = 0;
    }
    false
}

fn copy_plane(
    to: &ArrayPlace<'_>,
    from: &ArrayPlace<'_>,
    index: &[u64],
    plane: (usize, usize),
) -> Result<()> {
    let begin = |place: &ArrayPlace<'_>| {
        let steps = place.array.axes.iter().zip(index).map(|(axis, at)| axis.stride * *at as i64);
        place.base as i64 + place.array.offset + steps.sum::<i64>()
    };
    let to_begin = begin(to);
    let from_begin = begin(from);
    let (a, b) = plane;
    let a_count = to.array.axes[a].count;
    let b_count = to.array.axes[b].count;
    for b_block in (0..b_count).step_by(SQUARE as usize) {
        for a_block in (0..a_count).step_by(SQUARE as usize) {
            for at_b in b_block..(b_block + SQUARE).min(b_count) {
                for at_a in a_block..(a_block + SQUARE).min(a_count) {
                    let offset = |place: &ArrayPlace<'_>, begin: i64| {
                        begin
                            + place.array.axes[a].stride * at_a as i64
                            + place.array.axes[b].stride * at_b as i64
                    };
                    copy_element(to, offset(to, to_begin), from, offset(from, from_begin))?;
                }
            }
        }
    }
    Ok(())
}

#[inline]
fn copy_element(
    to: &ArrayPlace<'_>,
    to_offset: i64,
    from: &ArrayPlace<'_>,
    from_offset: i64,
) -> Result<()> {
    let bytes = to.array.element_bytes as usize;
    let source = Block::of_unkept(&**from.region, from_offset as usize, bytes)?;
    let mut target = Space::of(&**to.region, to_offset as usize, bytes)?;
    match bytes {
        // Fixed sizes become single moves.
        8 => target.bytes()[..8].copy_from_slice(&source.bytes()[..8]),
        4 => target.bytes()[..4].copy_from_slice(&source.bytes()[..4]),
        16 => target.bytes()[..16].copy_from_slice(&source.bytes()[..16]),
        _ => target.bytes().copy_from_slice(source.bytes()),
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn region(bytes: usize) -> Arc<dyn Region> {
        let region = HeapRegion::new(bytes).unwrap();
        for (index, byte) in Space::of(&region, 0, bytes).unwrap().bytes().iter_mut().enumerate() {
            *byte = (index % 251) as u8;
        }
        Arc::new(region)
    }

    fn element(region: &Arc<dyn Region>, offset: i64, bytes: usize) -> Vec<u8> {
        Block::of(region, offset as usize, bytes).unwrap().bytes().to_vec()
    }

    #[test]
    fn transposition_moves_each_element_once() {
        let rows = 45_u64;
        let columns = 70_u64;
        let row_major = |stride: i64| Strided {
            offset: 0,
            element_bytes: 8,
            axes: smallvec::smallvec![
                Axis { count: rows, stride: columns as i64 * stride },
                Axis { count: columns, stride }
            ],
        };
        let column_major = Strided {
            offset: 0,
            element_bytes: 8,
            axes: smallvec::smallvec![
                Axis { count: rows, stride: 8 },
                Axis { count: columns, stride: rows as i64 * 8 }
            ],
        };
        let from = region(45 * 70 * 8);
        let to = region(45 * 70 * 8);
        let source = row_major(8);
        let place = |region, array| ArrayPlace { region, base: 0, array };
        copy_array(&place(&to, &column_major), &place(&from, &source), plain_copy).unwrap();
        for i in 0..rows as i64 {
            for j in 0..columns as i64 {
                assert_eq!(
                    element(&to, i * 8 + j * 45 * 8, 8),
                    element(&from, (i * 70 + j) * 8, 8)
                );
            }
        }
    }

    #[test]
    fn short_runs_pass_the_buffer_whole() {
        let array = Strided {
            offset: 8,
            element_bytes: 8,
            axes: smallvec::smallvec![
                Axis { count: 3, stride: 16 },
                Axis { count: 1000, stride: 64 }
            ],
        };
        let from = region(64 * 1000 + 64);
        let mut sending = Packing::new(from.clone(), 0, &array).unwrap();
        let sent: Vec<u8> = sending
            .blocks(24_000)
            .unwrap()
            .iter()
            .flat_map(|block| block.bytes().to_vec())
            .collect();
        let to: Arc<dyn Region> = Arc::new(HeapRegion::new(64 * 1000 + 64).unwrap());
        let mut receiving = Packing::new(to.clone(), 0, &array).unwrap();
        let mut done = 0;
        while done < sent.len() {
            let mut space = receiving.space(1000.min(sent.len() - done)).unwrap();
            let count = space.length();
            space.bytes().copy_from_slice(&sent[done..done + count]);
            receiving.arrived(count).unwrap();
            done += count;
        }
        assert_eq!(receiving.left(), 0);
        for row in 0..1000 {
            for element_index in 0..3 {
                let offset = 8 + element_index * 16 + row * 64;
                assert_eq!(element(&to, offset, 8), element(&from, offset, 8));
            }
        }
        assert!(sending.blocks(1).is_err());
    }
}
