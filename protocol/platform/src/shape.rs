//! How many members each site has, in a few letters: `4x15`, `3+10+22` (spec/platform.md,
//! section 3).

use crate::mistakes::{Wrong, shown};
use crate::platform::{MEMBERS_MAX, SITES_MAX};

/// Letters of the names that sites have by themselves.
const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";

/// The members of each site.
pub(crate) fn read(text: &str) -> Result<Vec<u32>, Wrong> {
    let mut sites = Vec::new();
    for part in text.split('+') {
        let (count, members) = part.split_once('x').unwrap_or(("1", part));
        let numbers = number(count).zip(number(members));
        let (count, members) = numbers.ok_or_else(|| no_shape(text))?;
        if count == 0 || members == 0 {
            return Err(no_members(&format!("\"{}\"", shown(part))));
        }
        if sites.len() as u64 + count > SITES_MAX as u64 {
            return Err(too_many_sites());
        }
        check_members(members)?;
        for _ in 0..count {
            sites.push(u32::try_from(members).map_err(|_| no_shape(text))?);
        }
    }
    check_members(sites.iter().copied().map(u64::from).sum())?;
    Ok(sites)
}

/// A number of so few digits that sums of it stay small.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn no_shape(text: &str) -> Wrong {
    Wrong::new(
        format!("\"{}\" does not say how many members each site has", shown(text)),
        "write \"4x15\" for four sites of 15 members, or \"3+10+22\" for three sites",
    )
}

/// What a site of none is told; `what` names it.
pub(crate) fn no_members(what: &str) -> Wrong {
    Wrong::new(format!("{what} has no members"), "every site has at least one")
}

pub(crate) fn too_many_sites() -> Wrong {
    Wrong::new("there are too many sites", format!("a platform has at most {SITES_MAX}"))
}

/// Refuses more members than a platform may have.
pub(crate) fn check_members(members: u64) -> Result<(), Wrong> {
    if members <= u64::from(MEMBERS_MAX) {
        return Ok(());
    }
    let fix = format!("a platform has at most {MEMBERS_MAX} in all sites together");
    Err(Wrong::new(format!("{members} members are too many"), fix))
}

/// The name of a site that has none of its own: a, b, …, z, aa, ab, …
pub(crate) fn name(index: usize) -> String {
    let letter = char::from(LETTERS[index % LETTERS.len()]);
    match index / LETTERS.len() {
        0 => letter.to_string(),
        before => format!("{}{letter}", name(before - 1)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_sums_of_sites() {
        assert_eq!(read("4x15").unwrap(), [15; 4]);
        assert_eq!(read("3+10+22").unwrap(), [3, 10, 22]);
        assert_eq!(read(" 2x8 + 1 ").unwrap(), [8, 8, 1]);
        assert_eq!(read("1000x100").unwrap().len(), 1000);
        for wrong in ["", "x", "4x", "x4", "4x15x2", "-1", "4 15", "1e3", "1000x101", "1001x1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "0x4", "4x0", "3+0", "100001", "9999999999", "999999999x999999999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sites_are_named_by_letters() {
        assert_eq!([0, 25, 26, 27, 701, 702].map(name), ["a", "z", "aa", "ab", "zz", "aaa"]);
    }
}
