//! Copies are exact for every alignment, tail and stride.
#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};
use farcall_link::memory::HeapRegion;

use super::*;

fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = SeededRandom::new(seed);
    (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(bytes).collect()
}

/// Copies with `copy` into the middle of a poisoned buffer and looks at every byte, those around it
/// included.
fn check(source: &[u8], offset: usize, copy: impl Fn(*mut u8, *const u8, usize)) {
    let mut target = vec![0xa5; offset + source.len() + 128];
    copy(target[offset..].as_mut_ptr(), source.as_ptr(), source.len());
    assert!(target[..offset].iter().all(|byte| *byte == 0xa5), "bytes before the target changed");
    assert!(
        target[offset..offset + source.len()] == *source,
        "offset {offset}, {} bytes",
        source.len()
    );
    assert!(
        target[offset + source.len()..].iter().all(|byte| *byte == 0xa5),
        "bytes behind the target changed"
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_streaming_copy_is_exact_on_all_alignments_and_tails() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    let source = pattern(3 * 16_384 + 4096 + 256, 1);
    for shift in 0..64 {
        for length in [
            0,
            1,
            63,
            4095,
            16_383,
            16_384,
            16_385 + shift,
            2 * 16_384 + 4096 - shift,
            3 * 16_384 + 4096,
        ] {
            // SAFETY: the processor has AVX2, and `check` passes ranges of `length` bytes.
            check(&source[shift..shift + length], 4096 - shift, |to, from, n| unsafe {
                streaming::copy(to, from, n)
            });
            // SAFETY: as above.
            check(&source[shift..shift + length], 7 * shift, |to, from, n| unsafe {
                streaming::copy(to, from, n)
            });
        }
    }
}

#[test]
fn copies_of_every_size_are_exact() {
    let source = pattern(STREAM_MIN + 70_000, 2);
    for length in [0, 1, 4096, STREAM_MIN - 1, STREAM_MIN, STREAM_MIN + 69_999] {
        // SAFETY: `check` passes ranges of `length` bytes.
        check(&source[1..=length], 33, |to, from, n| unsafe { copy_bytes(to, from, n) });
    }
}

#[test]
fn copies_to_pages_that_nobody_has_touched_are_exact() {
    let source = pattern(3 * FRESH_STEP + 4711, 4);
    for (offset, length) in
        [(0, FRESH_MIN), (1, 2 * FRESH_MIN), (4095, FRESH_STEP + 1), (33, 3 * FRESH_STEP + 4711)]
    {
        let region = crate::memory::mapping::Mapping::private(
            (offset + length).next_multiple_of(PAGE) + PAGE,
        )
        .unwrap();
        // SAFETY: the whole mapping, which nobody else uses.
        let mut space = unsafe { Space::borrowed(region.base(), region.bytes()) };
        // SAFETY: the region has room for offset and length.
        let to = unsafe { region.base().add(offset) };
        assert!(!fresh::has_page(to.wrapping_add(length / 2)), "the region has pages already");
        // SAFETY: as above.
        unsafe { copy_bytes(to, source.as_ptr(), length) };
        assert!(fresh::has_page(to.wrapping_add(length / 2)));
        let (before, rest) = space.bytes().split_at(offset);
        let (copied, behind) = rest.split_at(length);
        assert!(copied == &source[..length], "offset {offset}, {length} bytes");
        assert!(
            before.iter().chain(behind).all(|byte| *byte == 0),
            "bytes around the target changed"
        );
    }
}

#[test]
fn what_goes_in_comes_out_and_bounds_hold() {
    let region = HeapRegion::new(1000).unwrap();
    let source = pattern(600, 3);
    copy_in(&region, 400, &source).unwrap();
    let mut back = vec![0; 600];
    copy_out(&mut back, &region, 400).unwrap();
    assert_eq!(back, source);
    assert!(copy_in(&region, 401, &source).is_err());
    assert!(copy_out(&mut back, &region, usize::MAX).is_err());
}

#[test]
fn strided_copies_pick_and_place_the_right_bytes() {
    let source = pattern(4096, 4);
    for bytes in [1, 3, 4, 8, 16, 24] {
        for stride in [bytes as isize, bytes as isize + 5, 64, -64] {
            let runs = Runs { count: 40, bytes, stride };
            let first: usize = if stride < 0 { 4000 } else { 10 };
            let run = |index: usize| first.wrapping_add_signed(stride * index as isize);
            let expected: Vec<u8> =
                (0..runs.count).flat_map(|i| source[run(i)..run(i) + bytes].to_vec()).collect();
            let mut packed = vec![0; runs.count * bytes];
            // SAFETY: 40 runs of at most 64 bytes lie within the 4096 on either side of `first`.
            unsafe { gather(packed.as_mut_ptr(), source.as_ptr().add(first), runs) };
            assert_eq!(packed, expected, "{runs:?}");
            let mut spread = vec![0; 4096];
            // SAFETY: as above.
            unsafe { scatter(spread.as_mut_ptr().add(first), packed.as_ptr(), runs) };
            assert!(
                (0..runs.count)
                    .all(|i| spread[run(i)..run(i) + bytes] == source[run(i)..run(i) + bytes])
            );
            let touched = spread.iter().filter(|byte| **byte != 0).count();
            assert!(touched <= packed.len(), "nothing between the runs was written");
        }
    }
}
