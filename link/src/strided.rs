//! Walks an array that lies in memory with any strides, in transfer order, as contiguous runs.

use farcall_idl::layout::ArrayLayout;
use smallvec::{SmallVec, smallvec};

/// Axes of an array; those of vectors and matrices without a piece of heap.
pub type Axes = SmallVec<[Axis; 2]>;

/// One dimension: how many elements, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Elements.
    pub count: u64,
    /// Bytes between neighbours; may be negative.
    pub stride: i64,
}

/// Where an array's elements lie, fastest axis in transfer order first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes from the base to the first element.
    pub offset: i64,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// Axes, fastest first.
    pub axes: Axes,
}

impl Strided {
    /// `bytes` bytes in one piece.
    pub fn contiguous(bytes: u64) -> Strided {
        Strided { offset: 0, element_bytes: 1, axes: smallvec![Axis { count: bytes, stride: 1 }] }
    }

    /// The elements that travel of an array as the routine sees it.
    pub fn of_layout(layout: &ArrayLayout) -> Strided {
        let mut offset = 0;
        let mut axes = Axes::with_capacity(layout.dimensions.len());
        for (index, stride) in layout.storage_strides() {
            let dimension = &layout.dimensions[index];
            // Sizes were checked against the call's limit, far below the range of i64.
            let stride = stride as i64;
            offset += dimension.start as i64 * stride;
            axes.push(Axis { count: dimension.count, stride: stride * dimension.stride as i64 });
        }
        Strided { offset, element_bytes: layout.element_bytes, axes }
    }

    /// Bytes that travel.
    pub fn bytes(&self) -> u64 {
        self.axes.iter().fold(self.element_bytes, |bytes, axis| bytes.saturating_mul(axis.count))
    }

    /// Whether all of it is one piece.
    pub fn is_contiguous(&self) -> bool {
        let bytes = self.bytes();
        bytes == 0 || Cursor::new(self).run_left() == bytes
    }

    /// First and last byte it touches, as offsets from the base: `None` when it has no elements.
    pub fn extent(&self) -> Option<(i64, i64)> {
        if self.bytes() == 0 {
            return None;
        }
        let mut low = self.offset;
        let mut high = self.offset + self.element_bytes as i64 - 1;
        for axis in &self.axes {
            let count = i64::try_from(axis.count).unwrap_or(i64::MAX);
            let span = axis.stride.saturating_mul(count.saturating_sub(1));
            // What lies beyond every memory stays beyond it: whoever asks compares with what there
            // is.
            if span < 0 { low = low.saturating_add(span) } else { high = high.saturating_add(span) }
        }
        Some((low, high))
    }
}

/// An axis that a cursor steps along.
#[derive(Clone, Copy, Debug)]
struct Outer {
    axis: Axis,
    at: u64,
}

/// A place in a strided array that moves on in transfer order.
#[derive(Clone, Debug)]
pub struct Cursor {
    run_bytes: u64,
    in_run: u64,
    run_begin: i64,
    outer: Vec<Outer>,
    left: u64,
}

impl Cursor {
    /// At the first byte.
    pub fn new(array: &Strided) -> Cursor {
        let mut run_bytes = array.element_bytes;
        let mut outer = Vec::new();
        for axis in &array.axes {
            if outer.is_empty() && (axis.stride == run_bytes as i64 || axis.count == 1) {
                run_bytes *= axis.count;
            } else if axis.count != 1 {
                outer.push(Outer { axis: *axis, at: 0 });
            }
        }
        Cursor { run_bytes, in_run: 0, run_begin: array.offset, outer, left: array.bytes() }
    }

    /// Bytes of the array still ahead.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Bytes of the current run still ahead; 0 at the end.
    pub fn run_left(&self) -> u64 {
        (self.run_bytes - self.in_run).min(self.left)
    }

    /// Offset of the next byte from the array's base.
    pub fn offset(&self) -> i64 {
        self.run_begin + self.in_run as i64
    }

    /// Moves on by `bytes`, at most to the end of the current run.
    pub fn advance(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.run_left(), "a cursor moves within its run");
        self.in_run += bytes;
        self.left -= bytes;
        if self.in_run == self.run_bytes && self.left > 0 {
            self.in_run = 0;
            self.next_run();
        }
    }

    fn next_run(&mut self) {
        for outer in &mut self.outer {
            outer.at += 1;
            if outer.at < outer.axis.count {
                self.run_begin += outer.axis.stride;
                return;
            }
            self.run_begin -= outer.axis.stride * (outer.axis.count as i64 - 1);
            outer.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(array: &Strided) -> Vec<(i64, u64)> {
        let mut cursor = Cursor::new(array);
        let mut runs = Vec::new();
        while cursor.left() > 0 {
            runs.push((cursor.offset(), cursor.run_left()));
            cursor.advance(cursor.run_left());
        }
        runs
    }

    #[test]
    fn a_leading_dimension_gives_a_run_per_column() {
        let array = Strided {
            offset: 0,
            element_bytes: 8,
            axes: smallvec![Axis { count: 3, stride: 8 }, Axis { count: 2, stride: 40 }],
        };
        assert_eq!(offsets(&array), [(0, 24), (40, 24)]);
        assert!(!array.is_contiguous());
        assert_eq!(array.extent(), Some((0, 63)));
    }

    #[test]
    fn negative_strides_walk_backwards() {
        let array = Strided {
            offset: 16,
            element_bytes: 8,
            axes: smallvec![Axis { count: 3, stride: -8 }],
        };
        assert_eq!(offsets(&array), [(16, 8), (8, 8), (0, 8)]);
        assert_eq!(array.extent(), Some((0, 23)));
    }

    #[test]
    fn neighbouring_axes_join() {
        let array = Strided {
            offset: 0,
            element_bytes: 4,
            axes: smallvec![Axis { count: 5, stride: 4 }, Axis { count: 7, stride: 20 }],
        };
        assert_eq!(offsets(&array), [(0, 140)]);
    }

    #[test]
    fn an_array_beyond_all_memory_ends_there() {
        let array = |stride| Strided {
            offset: 0,
            element_bytes: 8,
            axes: smallvec![Axis { count: 3, stride }; 2],
        };
        assert_eq!(array(i64::MIN).extent(), Some((i64::MIN, 7)));
        assert_eq!(array(i64::MAX).extent(), Some((0, i64::MAX)));
        let endless = Strided {
            offset: 0,
            element_bytes: 1,
            axes: smallvec![Axis { count: u64::MAX, stride: 1 }],
        };
        assert_eq!(endless.extent(), Some((0, i64::MAX - 1)));
    }

    #[test]
    fn nothing_has_no_runs() {
        assert_eq!(offsets(&Strided::contiguous(0)), []);
    }
}
