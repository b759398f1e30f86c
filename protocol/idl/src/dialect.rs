//! Whose interface files are read: the tools of Ninf-G and of the first Ninf read the files that
//! worked with them (spec/idl.md, section 9.1).

/// The rules that a file is read by where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Farcall's own: what is likely a mistake is refused.
    #[default]
    Farcall,
    /// Ninf-G's, of `ng_gen`.
    NinfG,
    /// The first Ninf's, of `ninf_gen`.
    Ninf,
}

impl Dialect {
    /// Whether files were written for a reference that took more.
    pub fn is_old(self) -> bool {
        self != Dialect::Farcall
    }
}
