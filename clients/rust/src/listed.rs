//! A list of addresses that a client uses as one server (docs/decisions/0046-lists.md). The client
//! starts a private server, which says where calls run; it connects to the servers of the list
//! itself, and tells the private one how they are.

mod arriving;
mod attending;
mod root;
mod terminal;
mod versions;
mod way;

use std::fmt;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};

use crate::address::Address;
pub use arriving::{Coming, Roll};
pub use root::begin;
pub use way::Way;

/// The word for this host.
pub const HERE: &str = "here";
/// Servers of one list.
const SERVERS_MAX: usize = 64;
/// Bytes of one address: a server's name has no more.
const ADDRESS_BYTES_MAX: usize = 256;
/// What an address is written with.
const FIX: &str = "write unix:PATH, ssh://HOST, tls://HOST:PORT, farcall://HOST:PORT or here, with \
                   blanks between";

/// Servers, each once, in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerList {
    /// Whether this host is one of them.
    pub(crate) has_here: bool,
    /// The others.
    pub(crate) servers: Arc<[Listed]>,
    text: Arc<str>,
}

/// A server of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The address as it was written, which is what the server is called.
    pub(crate) name: Arc<str>,
    pub(crate) address: Address,
}

/// The words of a text that is a list; none for what is the address of one server. A socket's path
/// may have blanks.
pub fn words(text: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_address = |word: &&str| {
        *word == HERE
            || word.contains("://")
            || word.starts_with("unix:")
            || word.starts_with("tcp:")
    };
    let is_path = text.starts_with("unix:") && !words.iter().skip(1).any(is_address);
    let is_list = words.len() > 1 && !is_path;
    (is_list || words == [HERE]).then_some(words)
}

impl ServerList {
    /// The servers of these addresses.
    ///
    /// # Errors
    /// `InvalidArgument` for a word that is no address, `LimitExceeded` for too many.
    pub fn of(words: &[&str]) -> Result<ServerList> {
        if words.is_empty() {
            return Err(wrong("the list has no address".to_owned()));
        }
        let mut servers: Vec<Listed> = Vec::new();
        let mut has_here = false;
        for word in words {
            if *word == HERE {
                has_here = true;
                continue;
            }
            if servers.iter().any(|known| *known.name == **word) {
                continue;
            }
            if servers.len() == SERVERS_MAX {
                let message = format!("the list has {} addresses", words.len());
                return Err(Error::new(ErrorKind::LimitExceeded, "connect", message)
                    .with("limit", SERVERS_MAX)
                    .fix("list a metaserver, which knows the others: farcall serve --join"));
            }
            servers.push(Listed { name: Arc::from(*word), address: address(word)? });
        }
        let mut names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        names.extend(has_here.then_some(HERE));
        let text = names.join(" ").into();
        Ok(ServerList { has_here, servers: servers.into(), text })
    }

    /// Whether a server of it is shown a certificate, and not a token.
    pub fn has_certificates(&self) -> bool {
        self.servers.iter().any(|server| matches!(server.address, Address::Tls { .. }))
    }

    /// What it is called: the addresses as they were written.
    pub(crate) fn name(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ServerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One word of a list.
fn address(word: &str) -> Result<Address> {
    let shown: String = word.chars().take(80).flat_map(char::escape_debug).collect();
    let is_plain = word.len() <= ADDRESS_BYTES_MAX
        && !word.contains(|c: char| c.is_whitespace() || farcall_base::is_obeyed(c));
    if !is_plain {
        let message = format!("\"{shown}\" has blanks, or more than {ADDRESS_BYTES_MAX} bytes");
        return Err(wrong(message));
    }
    Address::one(word).map_err(|_| wrong(format!("\"{shown}\" is not a server address")))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, "connect", message).fix(FIX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(text: &str) -> ServerList {
        match text.parse() {
            Ok(Address::List(list)) => list,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn several_words_are_a_list() {
        let both = list(" ssh://a/slurm  unix:/x\there ");
        assert!(both.has_here);
        assert_eq!(both.to_string(), "ssh://a/slurm unix:/x here");
        assert_eq!(both.servers.len(), 2);
        assert!(list("here").has_here);
        // Written twice is there once, and a path with blanks is one address.
        assert_eq!(list("unix:/x here unix:/x here").to_string(), "unix:/x here");
        assert!(matches!("unix:/my folder/s".parse(), Ok(Address::Unix(_))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |text: &str| text.parse::<Address>().unwrap_err().to_string();
        for (text, word) in [
            ("here htp://b", "\"htp://b\""),
            ("ssh://a slurm", "\"slurm\""),
            ("unix:/x htp://b:1", "\"htp://b:1\""),
            ("here tls://b", "\"tls://b\""),
        ] {
            let said = said(text);
            assert!(said.contains(word) && said.contains("write unix:PATH"), "{said}");
        }
        assert!(ServerList::of(&[]).unwrap_err().to_string().contains("no address"));
        assert!(ServerList::of(&["unix:/a b"]).unwrap_err().to_string().contains("blanks"));
        let many: String = (0..1000).map(|number| format!("unix:/s{number} ")).collect();
        assert!(said(&many).contains("limit: 64"), "{}", said(&many));
    }
}
