//! Headers that need no preprocessor: include guards, what is for C++ alone, constants, and headers
//! of the language whose types are known here.

/// Headers of C whose types are known without them.
const KNOWN: [&str; 10] = [
    "stddef.h",
    "stdint.h",
    "stdbool.h",
    "inttypes.h",
    "complex.h",
    "stdio.h",
    "stdlib.h",
    "math.h",
    "string.h",
    "sys/types.h",
];

/// The text with blanks for its directives, so that places stay; `None` where only a preprocessor
/// knows what it says.
pub fn plain(text: &str) -> Option<String> {
    let mut state = State::default();
    let mut blanked = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_directive = line.trim_start().starts_with('#');
        if is_directive {
            state.directive(line.trim())?;
        }
        if is_directive || state.is_skipped() {
            blanked.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            blanked.push_str(line);
        }
    }
    (state.open.is_empty() && !state.names_macro(&blanked)).then_some(blanked)
}

/// Conditions that are open: whether what they hold counts.
#[derive(Default)]
struct State {
    open: Vec<bool>,
    guard: Option<String>,
    /// Macros with a meaning.
    macros: Vec<String>,
}

impl State {
    fn is_skipped(&self) -> bool {
        self.open.contains(&false)
    }

    /// `None` for a directive that only a preprocessor understands.
    fn directive(&mut self, line: &str) -> Option<()> {
        if line.ends_with('\\') || line.contains("/*") && !line.contains("*/") {
            return None;
        }
        let line = line.split("/*").next().and_then(|line| line.split("//").next())?;
        let mut words = line.trim_start_matches('#').split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, ..) => {}
            (Some("ifdef"), Some("__cplusplus"), None) => self.open.push(false),
            (Some("ifndef"), Some("__cplusplus"), None) => self.open.push(true),
            (Some("ifndef"), Some(guard), None) if self.guard.is_none() => {
                self.guard = Some(guard.to_owned());
                self.open.push(true);
            }
            (Some("endif"), None, None) => drop(self.open.pop()?),
            _ if self.is_skipped() => {}
            (Some("define"), Some(guard), None) if self.guard.as_deref() == Some(guard) => {}
            (Some("define"), Some(name), Some(_)) if !name.contains('(') => {
                self.macros.push(name.to_owned());
            }
            (Some("pragma"), Some("once"), None) => {}
            (Some("include"), Some(file), None) if is_known(file) => {}
            _ => return None,
        }
        Some(())
    }

    /// Whether a macro stands for something in the declarations.
    fn names_macro(&self, text: &str) -> bool {
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        !self.macros.is_empty()
            && text
                .split(|one: char| !is_word(one))
                .any(|word| self.macros.iter().any(|name| name == word))
    }
}

fn is_known(file: &str) -> bool {
    let name = file.strip_prefix('<').and_then(|file| file.strip_suffix('>'));
    name.is_some_and(|name| KNOWN.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_and_what_is_for_cpp_are_blanked() {
        let text = "#ifndef A_H\n#define A_H\n#include <stddef.h>\n#ifdef __cplusplus\nextern \"C\" \
                    {\n#endif\nint f(size_t n);\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
        assert_eq!(plain(text).as_deref(), Some("\n\n\n\n\n\nint f(size_t n);\n\n\n\n\n"));
        assert_eq!(plain("#define VERSION 3\nint f(void);\n").as_deref(), Some("\nint f(void);\n"));
    }

    #[test]
    fn what_needs_a_preprocessor_is_told() {
        for text in [
            "#define N 3\nvoid f(double x[N]);\n",
            "#include \"own.h\"\n",
            "#if WIDE\n#endif\n",
            "#ifdef DOUBLE\n#endif\n",
            "#define API __attribute__((visibility(\"default\")))\nAPI int f(void);\n",
            "#ifndef A\n",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
