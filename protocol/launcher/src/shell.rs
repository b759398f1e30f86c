//! Text of others within a shell's command.

/// One word of a shell's command, whatever is in it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_it_is_one_word() {
        assert_eq!(quoted("it's $(here)"), "'it'\\''s $(here)'");
        assert_eq!(quoted(""), "''");
    }
}
