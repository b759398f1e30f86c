//! The arrays that the calls of a transaction are called with, each once: copies of the program's,
//! and data that is at the server already.

use std::hash::Hasher;
use std::sync::Arc;

use farcall_base::{DataId, Result};
use farcall_graph::Input;
use farcall_idl::data::DataKind;
use rustc_hash::{FxHashMap, FxHasher};

use super::recording::refused;
use crate::client::Client;
use crate::data::Data;

/// Bytes of arrays inside the message of one transaction, all together: where there are more, short
/// ones are put like long ones, so that the message stays one that servers take.
const INLINE_TOTAL_MAX: usize = 256 << 10;

/// All inputs, by their numbers.
#[derive(Default)]
pub(super) struct Inputs {
    all: Vec<Source>,
    /// Arrays by type, extents and a hash of their elements.
    arrays: FxHashMap<(DataKind, Vec<u64>, u64), Vec<u32>>,
    data: FxHashMap<DataId, u32>,
    inline_bytes: usize,
}

/// Where an input comes from.
pub(super) enum Source {
    /// The program's array as it was.
    Array(CopiedArray),
    /// It is at the server.
    There(Data, Vec<u64>),
}

/// An array as it was when its call was written down.
pub(super) struct CopiedArray {
    pub id: DataId,
    pub kind: DataKind,
    pub extents: Vec<u64>,
    pub bytes: Arc<Vec<u8>>,
}

impl Inputs {
    /// Whether an array of so many bytes goes into the message.
    pub fn takes_inline(&mut self, bytes: usize) -> bool {
        let fits = self.inline_bytes + bytes <= INLINE_TOTAL_MAX;
        if fits {
            self.inline_bytes += bytes;
        }
        fits
    }

    /// The number of an array with these elements, one behind the other. Equal ones are sent once.
    pub fn array(
        &mut self,
        client: &Client,
        kind: DataKind,
        extents: Vec<u64>,
        bytes: Vec<u8>,
    ) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(&bytes);
        let key = (kind, extents, hasher.finish());
        let alike = self.arrays.get(&key).map_or(&[][..], Vec::as_slice);
        let known = |number: &&u32| match &self.all[**number as usize] {
            Source::Array(one) => *one.bytes == bytes,
            Source::There(..) => false,
        };
        if let Some(number) = alike.iter().find(known) {
            return *number;
        }
        let number = self.all.len() as u32;
        let id = DataId(client.session().random());
        let bytes = Arc::new(bytes);
        self.all.push(Source::Array(CopiedArray { id, kind, extents: key.1.clone(), bytes }));
        self.arrays.entry(key).or_default().push(number);
        number
    }

    /// The number of data that is at the server.
    pub fn there(&mut self, client: &Client, data: &Data) -> Result<u32> {
        if let Some(number) = self.data.get(&data.id()) {
            return Ok(*number);
        }
        if !data.is_at_home_of(client) {
            return Err(refused("the data is at another server than the transaction")
                .with("data", data.id())
                .with("server", data.server())
                .fix("fetch it, and pass the array"));
        }
        let extents = data.extents_there(client)?;
        let number = self.all.len() as u32;
        self.all.push(Source::There(data.clone(), extents));
        self.data.insert(data.id(), number);
        Ok(number)
    }

    /// As the message lists them.
    pub fn listed(&self) -> Vec<Input> {
        let listed = |source: &Source| match source {
            Source::Array(CopiedArray { id, kind, extents, .. }) => {
                Input { name: *id, kind: kind.to_string(), extents: extents.clone() }
            }
            Source::There(data, extents) => {
                Input { name: data.id(), kind: data.kind().to_string(), extents: extents.clone() }
            }
        };
        self.all.iter().map(listed).collect()
    }

    /// What is to be put, and what is there.
    pub fn take(&mut self) -> (Vec<CopiedArray>, Vec<Data>) {
        let mut arrays = Vec::new();
        let mut given = Vec::new();
        for source in std::mem::take(&mut self.all) {
            match source {
                Source::Array(array) => arrays.push(array),
                Source::There(data, _) => given.push(data),
            }
        }
        (arrays, given)
    }
}
