//! The word a person probably meant: edit distance over a few candidates.

/// Longer words are not compared: a typing mistake sits in a name, not in a page of text.
const LENGTH_MAX: usize = 64;

/// The candidate nearest to `word`, if it is near enough to be what was meant.
///
/// Case does not count as a difference. About one mistake in three letters is forgiven; swapped
/// neighbours count once.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> =
        word.chars().take(LENGTH_MAX + 1).flat_map(char::to_lowercase).collect();
    if wanted.is_empty() || wanted.len() > LENGTH_MAX {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> =
            candidate.chars().take(LENGTH_MAX + 1).flat_map(char::to_lowercase).collect();
        let forgiven = wanted.len().max(letters.len()).div_ceil(3).min(3);
        // One-letter names are all at distance one from each other: only the case may differ.
        let forgiven = if wanted.len().max(letters.len()) < 2 { 0 } else { forgiven };
        if letters.len().abs_diff(wanted.len()) > forgiven {
            continue;
        }
        let distance = edit_distance(&wanted, &letters);
        if distance <= forgiven && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_else() {
        assert_eq!(nearest("Requried", ["Required", "Backend"]), Some("Required"));
        assert_eq!(nearest("doubel", ["float", "double"]), Some("double"));
        assert_eq!(nearest("in", ["INOUT", "IN"]), Some("IN"));
        assert_eq!(nearest("nn", ["m", "n"]), Some("n"));
        assert_eq!(nearest("k", ["m", "n"]), None);
        assert_eq!(nearest("zebra", ["dgesv", "dgemm"]), None);
        assert_eq!(nearest(&"x".repeat(10_000), ["x"]), None);
    }
}
