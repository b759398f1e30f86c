//! What a header says of the layout of types beyond C itself: attributes, `_Alignas`, and
//! `#pragma pack` (GCC's manual, sections 6.33 and 6.62).

use crate::token::{Kind, Token};
use crate::types::{Type, combined};

/// Attributes that make another type of a number or a struct.
const OTHERS: [&str; 6] = [
    "mode",
    "vector_size",
    "ext_vector_type",
    "scalar_storage_order",
    "ms_struct",
    "address_space",
];
/// What `aligned` without a number stands for.
const ALIGNED_MOST: u32 = 16;

/// What annotations and pragmas ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Fields are aligned to so many bytes at most.
    packed: Option<u32>,
    /// It is aligned to so many bytes at least; 0 for a number that only a compiler knows.
    aligned: Option<u32>,
    /// An attribute that changes the type itself.
    other: Option<String>,
}

impl Layout {
    /// That of a pragma.
    pub fn packed(packed: Option<u32>) -> Layout {
        Layout { packed, ..Layout::default() }
    }

    /// That of an annotation: its word, and what stands behind it.
    pub fn of(word: &str, inside: &[Token]) -> Layout {
        let mut layout = Layout::default();
        if matches!(word, "_Alignas" | "alignas") {
            layout.aligned = Some(alignment(inside));
            return layout;
        }
        for (at, token) in inside.iter().enumerate() {
            let Some(word) = token.word().map(|word| word.trim_matches('_')) else { continue };
            let behind = inside.get(at + 1..).unwrap_or(&[]);
            match word {
                "packed" => layout.packed = Some(1),
                "aligned" | "align" if behind.first().is_some_and(|next| next.is('(')) => {
                    let end = behind.iter().position(|one| one.is(')')).unwrap_or(behind.len());
                    layout.aligned = Some(alignment(&behind[1..end]));
                }
                "aligned" => layout.aligned = Some(ALIGNED_MOST),
                word if OTHERS.contains(&word) => layout.other = Some(word.to_owned()),
                _ => {}
            }
        }
        layout
    }

    /// Both together.
    pub fn add(&mut self, more: Layout) {
        self.packed = self.packed.into_iter().chain(more.packed).min();
        let is_unknown = self.aligned == Some(0) || more.aligned == Some(0);
        let most = self.aligned.into_iter().chain(more.aligned).max();
        self.aligned = if is_unknown { Some(0) } else { most };
        self.other = more.other.or(self.other.take());
    }

    /// What differs from the layout that C gives to something of this alignment.
    pub fn refusal(&self, natural: u32) -> Option<String> {
        if let Some(other) = &self.other {
            return Some(format!("has the attribute {other}"));
        }
        if let Some(bytes) = self.packed.filter(|bytes| *bytes < natural) {
            return Some(format!("is packed to {bytes} byte{}", if bytes == 1 { "" } else { "s" }));
        }
        match self.aligned {
            Some(0) => {
                Some("is aligned to a number of bytes that only a compiler knows".to_owned())
            }
            Some(bytes) if bytes > natural => Some(format!("is aligned to {bytes} bytes")),
            _ => None,
        }
    }
}

/// The number in `aligned(32)` or `_Alignas(double)`; 0 for what only a compiler knows.
fn alignment(inside: &[Token]) -> u32 {
    if let [Token { kind: Kind::Number(digits), .. }] = inside {
        return digits.trim_end_matches(['u', 'U', 'l', 'L']).parse().unwrap_or(0);
    }
    let words: Option<Vec<String>> =
        inside.iter().map(|token| token.word().map(str::to_owned)).collect();
    words.and_then(|words| natural(&combined(&words))).unwrap_or(0)
}

/// Bytes that a type is aligned to, an array like its elements; `None` for a struct.
pub fn natural(of: &Type) -> Option<u32> {
    match of {
        Type::Char | Type::Bool => Some(1),
        Type::Pointer(_) => Some(8),
        Type::Array(inner, _) => natural(&inner.kind),
        Type::Number(word) => Some(natural_of(word)),
        _ => None,
    }
}

/// That of a word of the interface language.
pub fn natural_of(word: &str) -> u32 {
    match word {
        "char" | "int8" | "uint8" => 1,
        "short" | "uint16" => 2,
        "int" | "unsigned" | "int32" | "uint32" | "float" | "scomplex" => 4,
        _ => 8,
    }
}

/// What `#pragma pack` has set, and what it will set again.
#[derive(Debug, Default)]
pub struct Packing {
    now: Option<u32>,
    before: Vec<(String, Option<u32>)>,
}

impl Packing {
    /// What holds here; `None` for the compiler's own layout.
    pub fn now(&self) -> Option<u32> {
        self.now
    }

    /// Takes the rest of a directive behind `#pragma`.
    pub fn take(&mut self, directive: &str) {
        let Some(list) = directive.trim_start().strip_prefix("pack") else { return };
        let Some((list, _)) =
            list.trim_start().strip_prefix('(').and_then(|list| list.split_once(')'))
        else {
            return;
        };
        let words: Vec<&str> =
            list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let bytes = words.iter().find_map(|word| word.parse::<u32>().ok());
        let name = words.iter().skip(1).find(|word| word.parse::<u32>().is_err());
        match words.first() {
            Some(&"push") => {
                self.before.push((name.copied().unwrap_or_default().to_owned(), self.now));
            }
            Some(&"pop") => self.pop(name.copied()),
            None => self.now = None,
            Some(_) => {}
        }
        if let Some(bytes) = bytes {
            self.now = Some(bytes).filter(|bytes| *bytes > 0);
        }
    }

    /// Goes back to what held before the last `push`, or before that of a name.
    fn pop(&mut self, name: Option<&str>) {
        let at = match name {
            None => self.before.len().checked_sub(1),
            Some(name) => self.before.iter().rposition(|(own, _)| own == name),
        };
        if let Some(at) = at {
            self.now = self.before[at].1;
            self.before.truncate(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Tokens;

    fn refusal(word: &str, text: &str, natural: u32) -> String {
        Layout::of(word, &Tokens::of("a.h", text).list).refusal(natural).unwrap_or_default()
    }

    #[test]
    fn annotations_change_layouts() {
        assert_eq!(refusal("__attribute__", "((packed))", 8), "is packed to 1 byte");
        assert_eq!(refusal("__attribute__", "((__packed__, unused))", 2), "is packed to 1 byte");
        assert_eq!(refusal("__attribute__", "((packed))", 1), "");
        assert_eq!(refusal("__attribute__", "((aligned(32)))", 8), "is aligned to 32 bytes");
        assert_eq!(refusal("__attribute__", "((aligned(8)))", 8), "");
        assert_eq!(refusal("__attribute__", "((__aligned__))", 8), "is aligned to 16 bytes");
        assert_eq!(refusal("__attribute__", "((assume_aligned(64)))", 8), "");
        assert_eq!(refusal("__declspec", "(align(16))", 4), "is aligned to 16 bytes");
        assert_eq!(refusal("_Alignas", "16", 8), "is aligned to 16 bytes");
        assert_eq!(refusal("alignas", "double", 4), "is aligned to 8 bytes");
        assert!(refusal("_Alignas", "sizeof(x)", 8).contains("only a compiler knows"));
        assert_eq!(refusal("__attribute__", "((mode(DI)))", 4), "has the attribute mode");
        assert_eq!(refusal("[[", "gnu::packed", 4), "is packed to 1 byte");
    }

    #[test]
    fn pragmas_push_and_pop() {
        let mut packing = Packing::default();
        let mut after = |directive: &str| {
            packing.take(directive);
            packing.now()
        };
        assert_eq!(after(" pack(push, 1)"), Some(1));
        assert_eq!(after("pack(push, own, 4)"), Some(4));
        assert_eq!(after("pack(2)"), Some(2));
        assert_eq!(after("once"), Some(2));
        assert_eq!(after("pack(pop, own)"), Some(1));
        assert_eq!(after(" pack ( pop )"), None);
        assert_eq!(after("pack(pop)"), None);
        assert_eq!(after("pack(4)"), Some(4));
        assert_eq!(after("pack()"), None);
    }
}
