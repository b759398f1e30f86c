//! What options of compilers change of the language: kinds that are not declared, the form of
//! sources, and which variables keep their values.

use crate::source::{FIXED_WIDTH, Form};

/// Kinds of types that are declared without one, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Of INTEGER and of LOGICAL, which take the same storage (Fortran 2018, section 19.5.3.2).
    pub integer: i64,
    /// Of REAL, and of half a COMPLEX.
    pub real: i64,
    /// Of DOUBLE PRECISION.
    pub double: i64,
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds { integer: 4, real: 4, double: 8 }
    }
}

/// What a compiler takes sources for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Kinds that are not declared.
    pub kinds: Kinds,
    /// The form of all sources, whatever their names end in.
    pub form: Option<Form>,
    /// How many columns count in fixed form, where an option says so.
    pub width: Option<usize>,
    /// Whether local variables keep their values from one call to the next.
    pub saves_all: bool,
}

/// Beginnings of options that change declared kinds, or how functions return: gfortran, Intel's,
/// NVIDIA's, NAG's, IBM's, Sun's, Cray's and Fujitsu's compilers.
const REFUSED: [&str; 15] = [
    "-fdefault-",
    "-freal-",
    "-finteger-4-",
    "-ff2c",
    "-real-size",
    "-integer-size",
    "-double-size",
    "-autodouble",
    "-qautodbl",
    "-qrealsize",
    "-qintsize",
    "-xtypemap",
    "-CcdR",
    "-CcdD",
    "-CcI",
];
/// Options of that kind, and values of Cray's `-s`.
const REFUSED_WORDS: [&str; 14] = [
    "-r16",
    "-i2",
    "-double",
    "-Ad",
    "-AD",
    "-N113",
    "-sreal32",
    "-sreal64",
    "-sinteger32",
    "-sinteger64",
    "-sdefault32",
    "-sdefault64",
    "-sreal128",
    "-sdefault128",
];

impl Dialect {
    /// That of a compiler and its options.
    ///
    /// # Errors
    /// The option that changes kinds in a way which the sources do not show.
    pub fn of(command: &[String]) -> Result<Dialect, String> {
        let mut dialect = Dialect::default();
        let is_nag = command.first().is_some_and(|program| program.contains("nagfor"));
        // gfortran: DOUBLE PRECISION grows with REAL, unless another option keeps it.
        let keeps_double = command.iter().any(|word| word == "-fdefault-double-8");
        let mut words = command.iter().skip(1);
        while let Some(word) = words.next() {
            let word = match word.as_str() {
                // Options whose value may be the next word.
                "-real-size" | "-integer-size" | "-double-size" | "-s" => {
                    let value = words.clone().next().map_or("", String::as_str);
                    let sign = if word == "-s" { "" } else { "=" };
                    format!("{word}{sign}{value}")
                }
                other => other.to_owned(),
            };
            // NAG's also doubles DOUBLE PRECISION.
            let is_refused = is_nag && word == "-r8";
            if is_refused || !dialect.take(&word, keeps_double) && is_refusable(&word) {
                return Err(word);
            }
        }
        Ok(dialect)
    }

    /// Follows an option; false for any other.
    fn take(&mut self, word: &str, keeps_double: bool) -> bool {
        let kinds = &mut self.kinds;
        match word {
            "-fdefault-double-8" => {}
            "-fdefault-real-8" | "-fdefault-real-10" | "-fdefault-real-16" => {
                let bytes = word.rsplit('-').next().and_then(|bytes| bytes.parse().ok());
                kinds.real = bytes.unwrap_or(kinds.real);
                kinds.double = if keeps_double { 8 } else { 16 };
            }
            "-r8" | "-Mr8" | "-real-size=64" => kinds.real = 8,
            "-real-size=32" => kinds.real = 4,
            "-double-size=64" => kinds.double = 8,
            "-fdefault-integer-8" | "-fdefault-integer=8" | "-i8" | "-Mi8" | "-integer-size=64" => {
                kinds.integer = 8
            }
            "-i4" | "-integer-size=32" => kinds.integer = 4,
            "-fno-automatic" | "-noautomatic" | "-save" | "-Msave" | "-qsave" => {
                self.saves_all = true;
            }
            _ => return self.take_form(word),
        }
        true
    }

    /// Follows an option about the form of sources.
    fn take_form(&mut self, word: &str) -> bool {
        const WIDTHS: [&str; 3] =
            ["-ffixed-line-length-", "-ffixed-line-length=", "-extend-source="];
        match word {
            "-ffree-form" | "-free" | "-Mfree" | "-Mfreeform" | "-qfree" | "-FR" => {
                self.form = Some(Form::Free);
            }
            "-ffixed-form" | "-fixed" | "-Mfixed" | "-qfixed" | "-FI" => {
                self.form = Some(Form::Fixed(FIXED_WIDTH));
            }
            "-132" | "-Mextend" | "-extend-source" | "-extend_source" | "-fextend-source" => {
                self.width = Some(132);
            }
            "-80" => self.width = Some(80),
            _ => {
                let Some(width) = WIDTHS.iter().find_map(|begin| word.strip_prefix(begin)) else {
                    return false;
                };
                // None, or 0: lines may have any length.
                let width = width.parse().unwrap_or(0);
                self.width = Some(if width == 0 { usize::MAX } else { width });
            }
        }
        true
    }

    /// The form of a source.
    pub fn form_of(&self, name: &str) -> Form {
        let form = self.form.unwrap_or_else(|| Form::of(name));
        match (form, self.width) {
            (Form::Fixed(_), Some(width)) => Form::Fixed(width),
            (form, _) => form,
        }
    }

    /// What to say of kinds that are not the language's own, for a comment.
    pub(crate) fn remark(&self) -> Option<String> {
        let Kinds { integer, real, double } = self.kinds;
        (self.kinds != Kinds::default()).then(|| {
            format!(
                "The compiler's options give INTEGER {integer} bytes, REAL {real} and DOUBLE \
                 PRECISION {double}: compile the library with the same ones."
            )
        })
    }
}

fn is_refusable(word: &str) -> bool {
    REFUSED.iter().any(|begin| word.starts_with(begin)) || REFUSED_WORDS.contains(&word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(command: &str) -> Result<Dialect, String> {
        Dialect::of(&command.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn kinds(command: &str) -> (i64, i64, i64) {
        let Kinds { integer, real, double } = of(command).unwrap().kinds;
        (integer, real, double)
    }

    #[test]
    fn options_change_kinds() {
        assert_eq!(kinds("gfortran -O2 -fopenmp"), (4, 4, 8));
        assert_eq!(kinds("gfortran -fdefault-integer-8"), (8, 4, 8));
        assert_eq!(kinds("gfortran -fdefault-real-8"), (4, 8, 16));
        assert_eq!(kinds("gfortran -fdefault-double-8 -fdefault-real-8"), (4, 8, 8));
        assert_eq!(kinds("gfortran -fdefault-real-16"), (4, 16, 16));
        assert_eq!(kinds("ifx -i8 -r8"), (8, 8, 8));
        assert_eq!(kinds("ifx -integer-size 64 -real-size=64"), (8, 8, 8));
        assert_eq!(kinds("nvfortran -Mi8"), (8, 4, 8));
    }

    #[test]
    fn options_that_change_declared_kinds_are_named() {
        for (command, option) in [
            ("gfortran -freal-4-real-8", "-freal-4-real-8"),
            ("gfortran -O2 -finteger-4-integer-8", "-finteger-4-integer-8"),
            ("gfortran -ff2c", "-ff2c"),
            ("ifx -real-size 128", "-real-size=128"),
            ("ifx -i2", "-i2"),
            ("nagfor -r8", "-r8"),
            ("xlf -qautodbl=dbl4", "-qautodbl=dbl4"),
            ("ftn -s real64", "-sreal64"),
        ] {
            assert_eq!(of(command), Err(option.to_owned()), "{command}");
        }
        // It strips symbols.
        assert!(of("gfortran -s -O2").is_ok());
    }

    #[test]
    fn options_change_forms_and_what_is_kept() {
        assert_eq!(of("gfortran -ffree-form").unwrap().form_of("a.f"), Form::Free);
        assert_eq!(of("gfortran -ffixed-form").unwrap().form_of("a.f90"), Form::Fixed(72));
        let wide = of("gfortran -ffixed-line-length-132").unwrap();
        assert_eq!(wide.form_of("a.f"), Form::Fixed(132));
        assert_eq!(wide.form_of("a.f90"), Form::Free);
        let any = of("gfortran -ffixed-line-length-none").unwrap();
        assert_eq!(any.form_of("a.f"), Form::Fixed(usize::MAX));
        assert!(of("gfortran -fno-automatic").unwrap().saves_all);
    }
}
