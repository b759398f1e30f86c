//! The names a person may have meant: used wherever a name is unknown (routines, manifest keys,
//! plugins).

/// Names longer than this are not compared: nobody mistypes them, and the work grows with the
/// square.
const LENGTH_MAX: usize = 128;

/// The up to `count` candidates nearest to `wanted`, best first, equal ones in alphabetical order.
///
/// Only near ones count: at most one edit in three letters, letter case aside, or a candidate that
/// contains `wanted`.
pub fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    if wanted.is_empty() || wanted.len() > LENGTH_MAX {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let near = |candidate: &'a str| Some((distance_if_near(&wanted, candidate)?, candidate));
    let mut found: Vec<(usize, &str)> = candidates.into_iter().filter_map(near).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(count).map(|(_, name)| name).collect()
}

fn distance_if_near(wanted: &str, candidate: &str) -> Option<usize> {
    if candidate.len() > LENGTH_MAX {
        return None;
    }
    let candidate = candidate.to_lowercase();
    let distance = edit_distance(wanted, &candidate);
    let contained = wanted.len() >= 3 && candidate.contains(wanted);
    let allowed = (wanted.chars().count().max(candidate.chars().count()) / 3).max(1);
    (distance <= allowed || contained).then_some(distance)
}

/// Levenshtein's distance, and one edit also for two letters exchanged (the commonest slip of all).
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut letter_before = None;
    for (i, letter) in left.chars().enumerate() {
        let mut next = vec![i + 1; right.len() + 1];
        for (j, other) in right.iter().enumerate() {
            let replaced = row[j] + usize::from(letter != *other);
            next[j + 1] = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && letter_before == Some(*other) && letter == right[j - 1] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
        letter_before = Some(letter);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_one_edit() {
        for slip in ["dgesw", "dges", "dgessv", "degsv"] {
            assert_eq!(edit_distance(slip, "dgesv"), 1, "{slip}");
        }
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn best_first_and_only_near_ones() {
        let names = ["dgemm", "dgesv", "zgesv", "ep", "lapack/dgesv"];
        assert_eq!(nearest("dgesw", names, 3), ["dgesv"], "dgemm is two letters of five away");
        assert_eq!(nearest("DGESV", names, 2), ["dgesv", "zgesv"]);
        assert_eq!(nearest("gesv", names, 3), ["dgesv", "zgesv", "lapack/dgesv"]);
        assert!(nearest("completely", names, 3).is_empty());
    }

    #[test]
    fn a_giant_name_costs_nothing() {
        assert!(nearest(&"x".repeat(1 << 20), ["x"], 3).is_empty());
    }
}
