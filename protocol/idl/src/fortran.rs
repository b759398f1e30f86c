//! Names and string conventions of Fortran compilers (spec/idl.md, section 3.6.3).

use crate::interface::StringConvention;

/// The format of gfortran, flang and most others: lower case and one underscore.
pub(crate) const DEFAULT_FORMAT: &str = "%s_";

/// Spellings of `FortranStringConvention`: Ninf-G's (`last`, `justAfter`), ours, and compilers by
/// name.
const CONVENTIONS: [(&str, StringConvention); 14] = [
    ("end", StringConvention::End),
    ("last", StringConvention::End),
    ("g77", StringConvention::End),
    ("gnu", StringConvention::End),
    ("gfortran", StringConvention::End),
    ("f2c", StringConvention::End),
    ("flang", StringConvention::End),
    ("ifort", StringConvention::End),
    ("ifx", StringConvention::End),
    ("nag", StringConvention::End),
    ("after", StringConvention::After),
    ("justAfter", StringConvention::After),
    ("mixed", StringConvention::After),
    ("none", StringConvention::None),
];

/// The words that [`convention`] knows.
pub(crate) fn conventions() -> impl Iterator<Item = &'static str> {
    CONVENTIONS.into_iter().map(|(word, _)| word)
}

/// The convention that a word names, in either case.
pub(crate) fn convention(word: &str) -> Option<StringConvention> {
    CONVENTIONS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .map(|(_, convention)| *convention)
}

/// Why a format is of no use, if so. It needs the name: `%s` as written, or `%l` in upper case.
pub(crate) fn wrong_format(format: &str) -> Option<String> {
    let mut names = 0;
    let mut characters = format.chars();
    while let Some(c) = characters.next() {
        if c == '%' {
            match characters.next() {
                Some('s' | 'l') => names += 1,
                Some(other) => return Some(format!("'%{other}' means nothing")),
                None => return Some("it ends with '%'".to_string()),
            }
        } else if !(c.is_ascii_alphanumeric() || "_$.@".contains(c)) {
            return Some(format!(
                "'{}' cannot be part of a linker name",
                crate::diagnostic::shown(&c.to_string())
            ));
        }
    }
    (names != 1).then(|| "it must contain the name exactly once".to_string())
}

/// The linker name of a Fortran procedure.
pub(crate) fn symbol(format: &str, name: &str) -> String {
    format.replace("%s", name).replace("%l", &name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_make_linker_names() {
        assert_eq!(symbol("%s_", "dgesv"), "dgesv_");
        // In the reference compiler, `l` stands for upper case.
        assert_eq!(symbol("%l", "dgesv"), "DGESV");
        assert_eq!(symbol("__m_MOD_%s", "f"), "__m_MOD_f");
        for format in ["", "dgesv_", "%s%s", "%d_", "%s%", "%s -x"] {
            assert!(wrong_format(format).is_some(), "{format}");
        }
        assert!(wrong_format("%s_").is_none());
    }

    #[test]
    fn conventions_are_found_in_either_case() {
        assert_eq!(convention("justAfter"), Some(StringConvention::After));
        assert_eq!(convention("LAST"), Some(StringConvention::End));
        assert_eq!(convention("dec"), None);
    }
}
