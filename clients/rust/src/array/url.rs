//! URLs that stand in the place of arrays: the server is to fetch the elements from there.

use std::ffi::CStr;

use super::Place;

/// Longest beginning of a URL that is looked for: `scheme://`.
const SCHEME_MAX: usize = 20;

impl Place {
    /// The URL that lies there, if one may: any scheme, so that one that nobody can fetch from is an
    /// error and not numbers. The array has so many bytes, and at least one element, at its
    /// beginning.
    pub fn url(&self, bytes: u64) -> Option<String> {
        if !self.may_be_url {
            return None;
        }
        let begins = |scheme: &str| {
            // SAFETY: what `View::or_url` was promised: at least an element lies there, and text
            // goes on as long as it is alike.
            scheme.bytes().enumerate().all(|(at, byte)| unsafe { self.base.add(at).read() } == byte)
        };
        let is_known = || ["http://", "https://", "file:/"].into_iter().any(begins);
        if !self.begins_as_url(bytes) && !is_known() {
            return None;
        }
        // SAFETY: as above: no array begins so, and text ends with a NUL.
        Some(unsafe { CStr::from_ptr(self.base.cast()) }.to_string_lossy().into_owned())
    }

    /// Whether `scheme://` lies there, in the array's first bytes.
    fn begins_as_url(&self, bytes: u64) -> bool {
        let limit = usize::try_from(bytes).unwrap_or(usize::MAX).min(SCHEME_MAX);
        // SAFETY: what `View::or_url` was promised: the array's elements lie there, or text that
        // is looked at no further than its end.
        let at = |index: usize| unsafe { self.base.add(index).read() };
        let is_part =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
        let length = (0..limit).take_while(|index| is_part(at(*index))).count();
        let rest = b"://";
        length > 1
            && length + rest.len() <= limit
            && at(0).is_ascii_lowercase()
            && rest.iter().enumerate().all(|(index, byte)| at(length + index) == *byte)
    }
}
