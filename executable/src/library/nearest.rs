//! Advice for a symbol that no library has: the decoration is wrong, or the name is misspelt.

/// Names longer than this are not compared: nobody typed them.
const NAME_BYTES_MAX: usize = 64;
/// Edits up to which a name counts as misspelt.
const EDITS_MAX: usize = 2;

/// What to do about `symbol`, which is not among `exported`.
pub(crate) fn advice(symbol: &str, exported: &[String], no_library: bool) -> String {
    if no_library {
        return "name the library that has it: `Library \"libfoo.so\";`".into();
    }
    let has = |name: &str| exported.iter().any(|candidate| candidate == name);
    let bare = symbol.trim_end_matches('_');
    if has(&format!("{symbol}_")) {
        return format!("the library has \"{symbol}_\": it is Fortran, write `Calls \"Fortran\" {bare}(…)`");
    }
    if bare != symbol && has(bare) {
        return format!("the library has \"{bare}\": write `Calls \"C\"`, or for Fortran `FortranFormat \"%s\";`");
    }
    if has(&bare.to_ascii_uppercase()) {
        let upper = bare.to_ascii_uppercase();
        return format!("the library has \"{upper}\": write `FortranFormat \"%l\";`");
    }
    // A C++ compiler writes the length and the name, then the types of the arguments.
    let mangled = format!("_Z{}{symbol}", symbol.len());
    if let Some(name) = exported.iter().find(|candidate| candidate.starts_with(&mangled)) {
        return format!("the library has \"{name}\": declare the function `extern \"C\"` in its C++ source");
    }
    match nearest(symbol, exported) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => "check the spelling with `nm -D`, or name the library that has it in `Library`".into(),
    }
}

/// The exported name with the fewest edits, if they are few for its length.
fn nearest<'a>(symbol: &str, exported: &'a [String]) -> Option<&'a str> {
    let allowed = EDITS_MAX.min(symbol.len() / 3);
    let candidates = exported.iter().filter(|name| name.len() <= NAME_BYTES_MAX);
    let close = candidates.filter(|name| name.len().abs_diff(symbol.len()) <= allowed);
    let scored = close.map(|name| (edits(symbol.as_bytes(), name.as_bytes()), name.as_str()));
    scored.filter(|(edits, _)| *edits <= allowed).min().map(|(_, name)| name)
}

/// Levenshtein's distance, one row at a time.
fn edits(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advise(symbol: &str, exported: &[&str]) -> String {
        advice(symbol, &exported.iter().map(|name| name.to_string()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn tells_the_decoration_from_the_spelling() {
        assert!(advise("dgesv", &["dgesv_"]).contains("Calls \"Fortran\" dgesv"));
        assert!(advise("solve_", &["solve"]).contains("Calls \"C\""));
        assert!(advise("solve_", &["SOLVE"]).contains("%l"));
        assert!(advise("solve", &["_Z5solveid"]).contains("extern \"C\""));
        assert_eq!(advise("dgesw_", &["dgesvx_", "dgesv_"]), "did you mean \"dgesv_\"?");
        assert!(advise("dgesv_", &["completely", "different"]).contains("nm -D"));
        assert!(advice("f", &[], true).contains("Library"));
    }

    #[test]
    fn counts_edits() {
        assert_eq!(edits(b"dgesv", b"dgesv"), 0);
        assert_eq!(edits(b"dgesv", b"sgesv"), 1);
        assert_eq!(edits(b"", b"abc"), 3);
        assert_eq!(edits(b"kitten", b"sitting"), 3);
    }
}
