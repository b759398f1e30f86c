//! The contiguous pieces of an array that travel.

use crate::layout::{ArrayLayout, storage_order};

/// Iterates over (offset, length) in bytes; see [`ArrayLayout::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    /// Dimensions whose elements are not all in one piece, fastest first.
    outer: Vec<Outer>,
    /// Where the next piece begins; `None` at the end.
    next: Option<u64>,
    /// Bytes of a piece before neighbours are joined.
    length: u64,
}

/// A dimension that the iteration steps through.
#[derive(Clone, Copy, Debug)]
struct Outer {
    count: u64,
    step: u64,
    at: u64,
}

impl Runs {
    pub(crate) fn new(array: &ArrayLayout) -> Runs {
        let mut runs = Runs { outer: Vec::new(), next: Some(0), length: array.element_bytes };
        if array.transfer_bytes == 0 {
            runs.next = None;
            return runs;
        }
        let mut step = array.element_bytes;
        let mut offset = 0;
        let mut joined = true;
        for index in storage_order(array.order, array.dimensions.len()) {
            let dimension = array.dimensions[index];
            offset += dimension.start * step;
            if joined && (dimension.stride == 1 || dimension.count == 1) {
                // The first dimension that is not whole still extends the piece, and ends it.
                runs.length *= dimension.count;
                joined = dimension.count == dimension.size;
            } else {
                joined = false;
                if dimension.count > 1 {
                    runs.outer.push(Outer {
                        count: dimension.count,
                        step: dimension.stride * step,
                        at: 0,
                    });
                }
            }
            step *= dimension.size;
        }
        runs.next = Some(offset);
        runs
    }

    /// Moves to the next piece, fastest dimension first.
    fn advance(&mut self, from: u64) -> Option<u64> {
        let mut offset = from;
        for outer in &mut self.outer {
            outer.at += 1;
            if outer.at < outer.count {
                return Some(offset + outer.step);
            }
            offset -= (outer.count - 1) * outer.step;
            outer.at = 0;
        }
        None
    }
}

impl Iterator for Runs {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let offset = self.next?;
        let mut end = offset + self.length;
        self.next = self.advance(offset);
        // Strided rows can touch at their ends: with stride 2 in rows of 3, elements 2 and 3 are
        // neighbours.
        while self.next == Some(end) {
            self.next = self.advance(end);
            end += self.length;
        }
        Some((offset, end - offset))
    }
}
