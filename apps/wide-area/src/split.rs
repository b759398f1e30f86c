//! How rows or molecules are split over members: in order, as evenly as whole numbers allow.

use std::ops::Range;

/// What part `index` of `parts` has of `total`: the first parts have one more where it is uneven.
///
/// All parts together are `0..total`; a part from `parts` on has nothing.
pub fn part(total: usize, parts: usize, index: usize) -> Range<usize> {
    if index >= parts {
        return total..total;
    }
    let least = total / parts;
    let longer = total % parts;
    let first = index * least + index.min(longer);
    first..first + least + usize::from(index < longer)
}

/// Which of `parts` has item `item` of `total`; `None` where there is no such item.
pub fn owner(total: usize, parts: usize, item: usize) -> Option<usize> {
    if item >= total || parts == 0 {
        return None;
    }
    let least = total / parts;
    let longer = total % parts;
    let in_longer = longer * (least + 1);
    if item < in_longer {
        Some(item / (least + 1))
    } else {
        Some(longer + (item - in_longer) / least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        for total in 0..40 {
            for parts in 1..12 {
                let mut next = 0;
                for index in 0..parts {
                    let part = part(total, parts, index);
                    assert_eq!(part.start, next);
                    assert!(part.clone().all(|item| owner(total, parts, item) == Some(index)));
                    next = part.end;
                }
                assert_eq!(next, total);
                assert_eq!(owner(total, parts, total), None);
            }
        }
    }
}
