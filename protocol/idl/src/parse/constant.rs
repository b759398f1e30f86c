//! Decodes integer, real, character and string constants (spec/idl.md, section 2.2).

/// Why a constant is wrong, as the end of the sentence "this constant …".
pub(crate) type Wrong = &'static str;

/// Decimal, hexadecimal (`0x`) and octal (leading `0`) integers with an optional suffix of `L` and
/// `U`.
pub(crate) fn integer(text: &str) -> Result<i64, Wrong> {
    let digits = text.trim_end_matches(['l', 'L', 'u', 'U']);
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => (hexadecimal, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(if radix == 8 {
            "is not an octal number, but begins with 0"
        } else {
            "is not a number"
        });
    }
    i64::from_str_radix(digits, radix).map_err(|_| "does not fit 64 bits with sign")
}

/// A decimal constant with a point or an exponent; Fortran's `d` exponent and C's suffix are taken
/// too.
pub(crate) fn real(text: &str) -> Result<f64, Wrong> {
    let plain = text.trim_end_matches(['f', 'F', 'l', 'L']).replace(['d', 'D'], "e");
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err("is too large"),
        Err(_) => Err("is not a number"),
    }
}

/// The code of a character constant with its quotes.
pub(crate) fn character(text: &str) -> Result<i64, Wrong> {
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or("");
    let decoded = unescape(inner);
    let mut characters = decoded.chars();
    match (characters.next(), characters.next()) {
        (Some(c), None) if (c as u32) < 256 => Ok(i64::from(c as u32)),
        (Some(_), None) => Err("holds a character that is not a single byte"),
        (None, _) => Err("is empty; write one character, such as 'N'"),
        (Some(_), Some(_)) => {
            Err("holds more than one character; a string is written in double quotes")
        }
    }
}

/// The text of a string constant with its quotes; one whose closing quote is missing has been
/// reported.
pub(crate) fn string(text: &str) -> String {
    let inner = text.strip_prefix('"').unwrap_or(text);
    unescape(inner.strip_suffix('"').unwrap_or(inner))
}

/// Escapes of C: `\n`, `\t`, `\"`, `\101`, …; a backslash before a line end joins the lines.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            Some('\r') => {
                characters.next_if_eq(&'\n');
            }
            Some('\n') | None => {}
            Some(digit @ '0'..='7') => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(more) = characters.next_if(|c| c.is_digit(8)) else { break };
                    code = code * 8 + more.to_digit(8).unwrap_or(0);
                }
                out.push(char::from((code & 0xff) as u8));
            }
            Some(other) => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_decode_as_in_c() {
        assert_eq!(integer("0x1fL"), Ok(31));
        assert_eq!(integer("017"), Ok(15));
        assert_eq!(integer("0"), Ok(0));
        assert_eq!(integer("9223372036854775807"), Ok(i64::MAX));
        assert_eq!(real("1.5e3"), Ok(1500.0));
        assert_eq!(real("1.5d-1"), Ok(0.15));
        assert_eq!(character("'N'"), Ok(78));
        assert_eq!(character("'\\n'"), Ok(10));
        assert_eq!(character("'\\0'"), Ok(0));
        assert_eq!(string("\"a\\\"b\\x\""), "a\"bx");
    }

    #[test]
    fn wrong_constants_say_why() {
        // Not octal; beyond 64 bits; letters in it; nothing behind 0x; beyond a double; none or two
        // characters.
        for text in ["089", "9223372036854775808", "12ab", "0x"] {
            assert!(integer(text).is_err(), "{text}");
        }
        assert!(real("1e999").is_err());
        assert!(real("1.2.3").is_err());
        for text in ["''", "'AB'", "'€'"] {
            assert!(character(text).is_err(), "{text}");
        }
    }
}
