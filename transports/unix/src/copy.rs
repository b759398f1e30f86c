//! Copies between a caller's array and shared memory, at the speed of the memory rather than of one
//! page.
//!
//! Below [`STREAM_MIN`] this is plain `memcpy`. Above it the destination will not be read from the
//! cache, so it is written past it (non-temporal stores): a plain store would first fetch each line
//! that it overwrites. One stream of such stores keeps one DRAM page busy and is slower than
//! `memcpy`; four pages written in turn are twice as fast. (glibc has the same trick, but starts it
//! at a size derived from the whole machine's cache, too late on a slice.)
//!
//! A destination whose pages nobody has touched yet, as memory fresh from `malloc`, is given them
//! by one system call for many: a fault for each costs more than the copy does.

use farcall_base::Result;
use farcall_link::memory::{Region, Space};

/// From this size on, copies bypass the cache.
pub const STREAM_MIN: usize = 4 << 20;
/// From this size on, it pays to ask whether the destination has pages.
const FRESH_MIN: usize = 64 << 10;
/// So many bytes are given pages at once: they are still in the cache when they are written.
const FRESH_STEP: usize = 1 << 20;
/// Where pages are larger, the system refuses what is asked in these, and everything is as it would
/// be without.
const PAGE: usize = 4096;

/// Copies an array into a region.
///
/// # Errors
/// `Internal` when it does not lie within the region.
pub fn copy_in(region: &dyn Region, offset: usize, source: &[u8]) -> Result<()> {
    let mut space = Space::of(region, offset, source.len())?;
    // SAFETY: both ranges are valid for their length; a region never overlaps memory that Rust
    // lends out as a slice.
    unsafe { copy_bytes(space.bytes().as_mut_ptr(), source.as_ptr(), source.len()) };
    Ok(())
}

/// Copies out of a region into an array.
///
/// # Errors
/// `Internal` when it does not lie within the region.
pub fn copy_out(destination: &mut [u8], region: &dyn Region, offset: usize) -> Result<()> {
    let mut space = Space::of(region, offset, destination.len())?;
    // SAFETY: as in `copy_in`, the other way round.
    unsafe { copy_bytes(destination.as_mut_ptr(), space.bytes().as_ptr(), destination.len()) };
    Ok(())
}

/// Gives pages to the start of memory that is about to be received into, if it has none.
pub fn prepare(space: &mut Space) {
    let base = space.bytes().as_mut_ptr();
    let length = space.length();
    // The first page may be its neighbour's.
    if length >= FRESH_MIN && !fresh::has_page(base.wrapping_add(PAGE)) {
        // SAFETY: whoever made the space lets it be written.
        unsafe { fresh::make_pages(base, length.min(FRESH_STEP)) };
    }
}

/// Copies `length` bytes.
///
/// # Safety
/// Both ranges must be valid for `length` bytes and must not overlap.
pub unsafe fn copy_bytes(destination: *mut u8, source: *const u8, length: usize) {
    if length >= FRESH_MIN && !fresh::has_page(destination.wrapping_add(length / 2)) {
        // SAFETY: the caller's promise.
        return unsafe { fresh::copy(destination, source, length) };
    }
    // SAFETY: the caller's promise.
    unsafe { copy_known(destination, source, length) }
}

/// The same where the destination has pages.
unsafe fn copy_known(destination: *mut u8, source: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if length >= STREAM_MIN && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the caller's promise, and the processor has the instructions.
        return unsafe { streaming::copy(destination, source, length) };
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(source, destination, length) }
}

/// A strided view: `count` runs of `bytes` bytes, the first byte of each `stride` bytes behind that
/// of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs.
    pub count: usize,
    /// Contiguous bytes of each.
    pub bytes: usize,
    /// Bytes from one to the next; may be negative.
    pub stride: isize,
}

/// Packs a strided view into contiguous bytes.
///
/// # Safety
/// `destination` must be valid for `count * bytes` bytes and each run of `source` for `bytes`; they
/// must not overlap.
pub unsafe fn gather(destination: *mut u8, source: *const u8, runs: Runs) {
    let packed = isize::try_from(runs.bytes).expect("a run fits into the address space");
    // SAFETY: the caller's promise.
    unsafe { copy_runs(destination, packed, source, runs.stride, runs) }
}

/// Spreads contiguous bytes over a strided view.
///
/// # Safety
/// `source` must be valid for `count * bytes` bytes and each run of `destination` for `bytes`; they
/// must not overlap.
pub unsafe fn scatter(destination: *mut u8, source: *const u8, runs: Runs) {
    let packed = isize::try_from(runs.bytes).expect("a run fits into the address space");
    // SAFETY: the caller's promise.
    unsafe { copy_runs(destination, runs.stride, source, packed, runs) }
}

/// Runs that lie one behind the other on both sides are one run.
unsafe fn copy_runs(
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    runs: Runs,
) {
    // SAFETY: the callers' callers' promise, for every arm.
    unsafe {
        match runs.bytes {
            0 => {}
            bytes if to_stride == from_stride => copy_bytes(to, from, bytes * runs.count),
            4 => copy_elements::<4>(to, to_stride, from, from_stride, runs.count),
            8 => copy_elements::<8>(to, to_stride, from, from_stride, runs.count),
            16 => copy_elements::<16>(to, to_stride, from, from_stride, runs.count),
            bytes => {
                for run in 0..runs.count {
                    let run = run as isize;
                    copy_bytes(to.offset(run * to_stride), from.offset(run * from_stride), bytes);
                }
            }
        }
    }
}

/// Single elements, of a size that the compiler knows: one load and one store each instead of a
/// call of `memcpy`.
unsafe fn copy_elements<const BYTES: usize>(
    mut to: *mut u8,
    to_stride: isize,
    mut from: *const u8,
    from_stride: isize,
    count: usize,
) {
    for _ in 0..count {
        // SAFETY: the callers' promise; the pointers are only followed while there are runs left.
        unsafe { std::ptr::copy_nonoverlapping(from, to, BYTES) };
        (to, from) = (to.wrapping_offset(to_stride), from.wrapping_offset(from_stride));
    }
}

mod fresh {
    //! Destinations without pages.

    use rustix::mm::{Advice, madvise};

    use super::{FRESH_STEP, PAGE};

    /// Whether the page of an address is there; true where the system does not say.
    pub fn has_page(address: *mut u8) -> bool {
        let page = address.map_addr(|address| address - address % PAGE);
        let mut there = 1;
        // SAFETY: it reads page tables alone, and writes one byte for one page.
        unsafe { libc::mincore(page.cast(), 1, &mut there) != 0 || there & 1 == 1 }
    }

    /// Copies part by part: each is given its pages first.
    ///
    /// # Safety
    /// As for [`super::copy_bytes`].
    pub unsafe fn copy(destination: *mut u8, source: *const u8, length: usize) {
        let mut done = 0;
        while done < length {
            let count = FRESH_STEP.min(length - done);
            // SAFETY: the caller's promise: all of it lies within both.
            unsafe {
                make_pages(destination.add(done), count);
                std::ptr::copy_nonoverlapping(source.add(done), destination.add(done), count);
            }
            done += count;
        }
    }

    /// What the pages hold stays; where it cannot be done, the copy's faults do it.
    ///
    /// # Safety
    /// The bytes may be written.
    pub unsafe fn make_pages(base: *mut u8, bytes: usize) {
        let before = base.addr() % PAGE;
        // SAFETY: these are the pages of bytes that may be written, and whatever they hold stays as
        // it is.
        let _ = unsafe {
            madvise(base.wrapping_sub(before).cast(), before + bytes, Advice::LinuxPopulateWrite)
        };
    }
}

#[cfg(target_arch = "x86_64")]
mod streaming {
    //! The AVX2 copy.

    use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    use std::ptr::copy_nonoverlapping;

    use super::PAGE;

    const LINE: usize = 64;
    const PAGES: usize = 4;
    const BLOCK: usize = PAGES * PAGE;

    /// Copies head and tail plainly, and whole blocks of four destination pages past the cache.
    #[target_feature(enable = "avx2")]
    pub unsafe fn copy(destination: *mut u8, source: *const u8, length: usize) {
        let head = destination.align_offset(PAGE).min(length);
        let blocks = (length - head) / BLOCK;
        let tail = head + blocks * BLOCK;
        // SAFETY: head, blocks and tail lie one behind the other within the caller's ranges; every
        // block begins at a page boundary of the destination, as the stores demand.
        unsafe {
            copy_nonoverlapping(source, destination, head);
            for block in 0..blocks {
                let at = head + block * BLOCK;
                copy_block(destination.add(at), source.add(at));
            }
            copy_nonoverlapping(source.add(tail), destination.add(tail), length - tail);
        }
        // Streaming stores are ordered by nothing else: without this, another process told that the
        // array is ready could still read old bytes.
        _mm_sfence();
    }

    #[target_feature(enable = "avx2")]
    unsafe fn copy_block(destination: *mut u8, source: *const u8) {
        for line in (0..PAGE).step_by(LINE) {
            for page in 0..PAGES {
                let at = page * PAGE + line;
                // SAFETY: `at + LINE` stays within the block, and `at` keeps the alignment of 32.
                unsafe {
                    let from = source.add(at).cast::<__m256i>();
                    let to = destination.add(at).cast::<__m256i>();
                    let low = _mm256_loadu_si256(from);
                    let high = _mm256_loadu_si256(from.add(1));
                    _mm256_stream_si256(to, low);
                    _mm256_stream_si256(to.add(1), high);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
