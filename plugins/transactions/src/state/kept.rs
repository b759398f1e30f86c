//! What the store has of a transaction: keys, and what their values are (spec/transactions.md,
//! section 5).

use std::collections::BTreeMap;

use farcall_base::{Error, ErrorKind, Result, TransactionId};
use farcall_services::store::{CHANGES_MAX, Change};
use farcall_services::transactions::User;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use super::Way;

/// What is written today.
pub const VERSION: u32 = 1;
/// Bytes of one value: two of them, with their keys, are a write that every store takes.
pub const PIECE_BYTES: usize = 512 << 10;
/// Bytes of all values of one write.
const WRITE_BYTES: usize = 1 << 20;

/// Where the heads of all transactions are.
pub const HEADS: &str = "heads/";
/// Where it is said who runs them.
pub const OWNERS: &str = "owners/";

/// The keys of one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Keys(pub TransactionId);

impl Keys {
    /// What is known of it before all the rest is read.
    pub fn head(self) -> String {
        format!("{HEADS}{}", self.0)
    }

    /// Who runs it: the key is there as long as that process lives.
    pub fn owner(self) -> String {
        format!("{OWNERS}{}", self.0)
    }

    /// Before all other keys of it.
    pub fn all(self) -> String {
        format!("transactions/{}/", self.0)
    }

    /// A piece of its message.
    pub fn message(self, piece: usize) -> String {
        format!("{}message/{piece:04x}", self.all())
    }

    /// The interface of a routine.
    pub fn interface(self, routine: usize) -> String {
        format!("{}interfaces/{routine:04x}", self.all())
    }

    /// A piece of an input; the first one says what the input is.
    pub fn input(self, input: usize, piece: usize) -> String {
        format!("{}inputs/{input:06x}/{piece:08x}", self.all())
    }

    /// Before the records that follow one with all rows.
    pub fn records(self, epoch: u32) -> String {
        format!("{}records/{epoch:08x}/", self.all())
    }

    /// A piece of a record.
    pub fn record(self, epoch: u32, number: u32, piece: usize) -> String {
        format!("{}{number:08x}/{piece:04x}", self.records(epoch))
    }
}

/// The transaction that a key of [`HEADS`] or [`OWNERS`] is about.
pub fn named_by(key: &str) -> Option<TransactionId> {
    key.rsplit('/').next()?.parse().ok()
}

/// What is known of a transaction before all the rest is read.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Head {
    /// Of what is written.
    #[n(1)]
    pub version: u32,
    /// Whose it is.
    #[n(2)]
    pub principal: String,
    /// Where its client was, for people.
    #[n(3)]
    pub address: String,
    /// What tells the certificate of its client from others.
    #[n(4)]
    pub certificate: Option<String>,
    /// For how long it stays when it has ended, in microseconds.
    #[n(5)]
    pub keep_us: u64,
    /// When it began, in microseconds since 1970.
    #[n(6)]
    pub began_us: u64,
    /// Whether all that it was given is written.
    #[n(7)]
    pub is_complete: bool,
    /// When it is forgotten, in microseconds since 1970.
    #[n(8)]
    pub expires_us: Option<u64>,
    /// The key of tickets for what other servers make for it. No store has it in the clear.
    #[cbor(n(9), with = "minicbor::bytes")]
    pub key: [u8; 32],
}

impl Head {
    /// The user that its calls are made for.
    pub fn user(&self) -> User {
        User {
            principal: self.principal.clone(),
            address: self.address.clone(),
            certificate: self.certificate.as_deref().map(Into::into),
        }
    }

    /// As it is written.
    pub fn put(&self, keys: Keys) -> Change {
        Change::Put { key: keys.head(), value: written(self), lease: None }
    }
}

/// Who runs a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OwnedBy {
    /// Whose transaction it is.
    #[n(0)]
    pub principal: String,
    /// The node.
    #[n(1)]
    pub node: String,
    /// Its process, as others on its host can tell whether that has ended.
    #[n(2)]
    pub process: String,
}

/// A server of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeptServer {
    /// What people call it.
    #[n(0)]
    pub name: String,
    /// Where it is reached.
    #[n(1)]
    pub addresses: Vec<String>,
    /// Processors that calls may have together.
    #[n(2)]
    pub processors: u32,
    /// Which run of it.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub run: Option<[u8; 16]>,
    /// How it is reached.
    #[n(4)]
    pub way: KeptWay,
}

/// How a server is reached for a user ([`Way`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum KeptWay {
    /// At one of its Unix sockets.
    #[n(0)]
    Socket,
    /// At one of its ports, as the user whose node this is.
    #[n(1)]
    AsUser,
    /// Over a stream that it dials to the metaserver of this node.
    #[n(2)]
    Led,
}

impl KeptServer {
    /// How it is reached.
    pub fn way(&self) -> Way {
        let named = self.addresses.is_empty().then_some(&self.name);
        let of = |scheme: &str| -> Vec<String> {
            let all = self.addresses.iter().chain(named);
            all.filter(|address| address.starts_with(scheme)).cloned().collect()
        };
        match self.way {
            KeptWay::Socket => Way::Socket(of("unix:")),
            KeptWay::AsUser => Way::AsUser(of("tls://")),
            KeptWay::Led => Way::Led(self.name.clone()),
        }
    }
}

/// What an input is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct InputHead {
    /// `data:double:2:row`.
    #[n(0)]
    pub kind: String,
    /// Its extents.
    #[n(1)]
    pub extents: Vec<u64>,
    /// How many bytes its elements have.
    #[n(2)]
    pub bytes: u64,
}

/// What has changed since the record before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Record {
    /// Rows of calls and values (`farcall_graph`).
    #[n(1)]
    pub graph: Option<ByteVec>,
    /// The ids that values have at servers.
    #[n(2)]
    pub places: Vec<PlaceRow>,
    /// Numbers that travel inside calls.
    #[n(3)]
    pub numbers: Vec<NumberRow>,
    /// How many ids were given to values that are brought somewhere.
    #[n(4)]
    pub moves: u32,
    /// All servers, where any of them is another one than before.
    #[n(5)]
    pub servers: Option<Vec<KeptServer>>,
}

/// Where a value is, or is to be, and its id there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PlaceRow {
    /// The value.
    #[n(0)]
    pub data: u32,
    /// The server.
    #[n(1)]
    pub server: u32,
    /// The id.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub id: [u8; 16],
}

/// A number that travels inside calls.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NumberRow {
    /// The value.
    #[n(0)]
    pub data: u32,
    /// Its bytes.
    #[n(1)]
    pub bytes: ByteVec,
}

/// As it is written.
pub fn written<T: Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).expect("memory can be written to")
}

/// What was written under a key.
///
/// # Errors
/// `Damaged` for anything else.
pub fn read<'a, T: Decode<'a, ()>>(key: &str, bytes: &'a [u8]) -> Result<T> {
    minicbor::decode(bytes).map_err(|error| broken(key, error))
}

/// A value that cannot be believed.
pub fn broken(key: &str, why: impl std::fmt::Display) -> Error {
    let message = format!("what the store has of it is damaged: {why}");
    Error::new(ErrorKind::Damaged, "take up a transaction", message)
        .with("key", key)
        .fix("look at the store, end the transaction (farcall transactions --end), and repeat it")
}

/// Changes, as many in each write as a store takes.
pub fn batches(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let mut all: Vec<Vec<Change>> = vec![Vec::new()];
    let mut bytes = 0;
    for change in changes {
        let size = if let Change::Put { value, .. } = &change { value.len() } else { 0 };
        let last = all.last_mut().filter(|last| last.is_empty() || bytes + size <= WRITE_BYTES);
        match last.filter(|last| last.len() < CHANGES_MAX) {
            Some(last) => last.push(change),
            None => {
                bytes = 0;
                all.push(vec![change]);
            }
        }
        bytes += size;
    }
    all
}

/// Bytes in pieces: at least one.
pub fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.is_empty() { vec![bytes] } else { bytes.chunks(PIECE_BYTES).collect() }
}

/// A record in pieces: each begins with how many there are.
pub fn record_pieces(record: &Record) -> Vec<Vec<u8>> {
    let bytes = written(record);
    let pieces = pieces(&bytes);
    let count = (pieces.len() as u32).to_le_bytes();
    pieces.into_iter().map(|piece| [&count[..], piece].concat()).collect()
}

/// The records among what was read, the oldest first: of the last epoch whose first record is whole. A
/// record that was not written whole does not count.
///
/// # Errors
/// `Damaged`.
pub fn records(keys: Keys, parts: &BTreeMap<String, Vec<u8>>) -> Result<(u32, Vec<Record>)> {
    let prefix = format!("{}records/", keys.all());
    let mut epochs: BTreeMap<u32, BTreeMap<u32, Vec<&[u8]>>> = BTreeMap::new();
    for (key, value) in
        parts.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix))
    {
        let mut names = key[prefix.len()..].split('/').map(|part| u32::from_str_radix(part, 16));
        let (Some(Ok(epoch)), Some(Ok(number))) = (names.next(), names.next()) else {
            return Err(broken(key, "it names no record"));
        };
        epochs.entry(epoch).or_default().entry(number).or_default().push(value);
    }
    let last = epochs.keys().last().copied().unwrap_or(0);
    for (epoch, of_epoch) in epochs.iter().rev() {
        let mut all = Vec::new();
        for (number, pieces) in of_epoch {
            let key = keys.record(*epoch, *number, 0);
            let count = pieces.first().and_then(|piece| piece.first_chunk::<4>());
            let count = count.map_or(0, |count| u32::from_le_bytes(*count) as usize);
            if count != pieces.len() || *number as usize != all.len() {
                break;
            }
            let whole: Vec<u8> = pieces.iter().flat_map(|piece| &piece[4..]).copied().collect();
            all.push(read(&key, &whole)?);
        }
        if !all.is_empty() {
            return Ok((last, all));
        }
    }
    Ok((last, Vec::new()))
}
