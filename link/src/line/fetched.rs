//! Data that has been fetched over a line.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::Result;
use farcall_idl::data::DataKind;
use farcall_idl::encode::contract_hash;
use farcall_wire::{Argument, InlineBytes};

use crate::memory::{Block, HeapRegion, Region, Space};

/// Bytes of a number, and of anything that is taken for one.
const SMALL_BYTES: usize = 16;

/// Data that has been fetched.
#[derive(Clone)]
pub struct FetchedData {
    /// The routine that takes such data: `data:double:2:row`.
    pub kind: String,
    /// Hash of its contract.
    pub contract: [u8; 32],
    /// Its extents, as that routine takes them.
    pub extents: Vec<Argument>,
    /// Its elements, one behind the other.
    pub elements: Arc<dyn Region>,
    /// How many bytes these are.
    pub bytes: u64,
    /// Memory that has them, sealed against writing, and its size, where the other end shared it or
    /// it is to be so ([`Line::seal_from`](super::Line::seal_from)): then `elements` has none.
    pub memory: Option<(Arc<OwnedFd>, u64)>,
}

impl FetchedData {
    /// Data of these elements.
    ///
    /// # Errors
    /// `System` where there is no memory.
    pub fn of(kind: DataKind, extents: &[u64], elements: &[u8]) -> Result<FetchedData> {
        let extent = |extent: &u64| Argument::Inline((*extent).to_ne_bytes().as_slice().into());
        let region: Arc<dyn Region> = Arc::new(HeapRegion::new(elements.len())?);
        Space::of(&*region, 0, elements.len())?.bytes().copy_from_slice(elements);
        Ok(FetchedData {
            kind: kind.to_string(),
            contract: contract_hash(&kind.interface()),
            extents: extents.iter().map(extent).collect(),
            elements: region,
            bytes: elements.len() as u64,
            memory: None,
        })
    }

    /// All its elements.
    ///
    /// # Errors
    /// `Internal` where they are gone.
    pub fn elements(&self) -> Result<Vec<u8>> {
        let size = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        Ok(Block::of(&self.elements, 0, size)?.bytes().to_vec())
    }

    /// Its elements, if they are few.
    ///
    /// # Errors
    /// `Internal` where they are gone.
    pub fn small(&self) -> Result<InlineBytes> {
        let size = usize::try_from(self.bytes).unwrap_or(usize::MAX).min(SMALL_BYTES);
        Ok(Block::of(&self.elements, 0, size)?.bytes().into())
    }
}
