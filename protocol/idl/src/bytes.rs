//! Text of old files that is not UTF-8 (Japanese in EUC, Latin 1): each such byte stands as a
//! character of its own, so that C code gets back what it was written with.

/// The character of byte 0, in the last plane of private use: nobody's text has these.
const FIRST: u32 = 0x10_FF00;

/// The text of a file, whatever its encoding is.
pub fn keep_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let kept =
            chunk.invalid().iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte)));
        text.extend(kept);
    }
    text
}

/// The byte that a character stands for.
fn byte_of(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()
}

/// What the text was before [`keep_bytes`].
pub fn restore_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The text for people: what was no UTF-8 shows as the replacement character.
pub(crate) fn readable(text: String) -> String {
    let is_kept = |character: char| byte_of(character).is_some();
    if text.contains(is_kept) {
        return text.replace(is_kept, "\u{fffd}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_come_back() {
        // EUC, Latin 1, a sequence that breaks off, and text.
        for bytes in [&b"\xc6\xfc\xcb\xdc"[..], b"caf\xe9\n", b"a\xe3\x81", "日本".as_bytes()] {
            assert_eq!(restore_bytes(&keep_bytes(bytes)), bytes);
        }
        assert_eq!(keep_bytes("日本".as_bytes()), "日本");
        assert_eq!(readable(keep_bytes(b"caf\xe9")), "caf\u{fffd}");
    }
}
