//! What all servers publish: interfaces by the hash of name and contract, and how many others have
//! each.
//!
//! An interface stands here only when it was decoded, and its name and hash are those it came under.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::decode::decode_interface;
use farcall_idl::encode::contract_hash;
use farcall_idl::interface::Interface;
use farcall_placement::{Contract, routine_hash};
use farcall_services::directory::ElsewhereRoutine;
use farcall_services::placement::{Placed, PlacedRoutines};
use farcall_wire::{InterfaceReply, OfferedRoutine};

/// A routine that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Names it in the catalogue and in the placement.
    pub routine: Contract,
    /// `module/name`.
    pub name: String,
    /// The hash of its contract.
    pub contract: [u8; 32],
    /// Whether its calls run in jobs.
    pub in_jobs: bool,
    /// Metaservers behind the server that offers it.
    pub hops: u32,
}

impl Offer {
    /// What a server says that it offers.
    pub fn new(offered: OfferedRoutine) -> Offer {
        let routine = routine_hash(&offered.name, &offered.contract);
        let OfferedRoutine { name, contract, in_jobs, hops } = offered;
        Offer { routine, name, contract, in_jobs, hops: hops.unwrap_or(0) }
    }

    /// Its module; empty for none.
    pub fn module(&self) -> &str {
        module_of(&self.name)
    }
}

/// The module of a full name; empty for none.
pub fn module_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(module, _)| module)
}

/// An interface that is known.
#[derive(Debug)]
struct Entry {
    interface: Arc<Interface>,
    encoded: Arc<[u8]>,
    contract: [u8; 32],
    /// Other servers that have it.
    servers: u32,
}

/// All interfaces.
#[derive(Debug)]
pub struct Catalogue {
    entries: BTreeMap<Contract, Entry>,
    bytes: usize,
    bytes_max: usize,
    /// Whether others publish something else than was told last.
    pub(crate) changed: bool,
}

impl Catalogue {
    /// None known; their encodings may have so many bytes together.
    pub fn new(bytes_max: usize) -> Catalogue {
        Catalogue { entries: BTreeMap::new(), bytes: 0, bytes_max, changed: false }
    }

    /// Whether a routine's interface is known.
    pub fn knows(&self, routine: &Contract) -> bool {
        self.entries.contains_key(routine)
    }

    /// Takes an interface: the routine that it is of.
    ///
    /// # Errors
    /// What is wrong with it; `LimitExceeded` where there is no room.
    pub fn learn(&mut self, reply: &InterfaceReply) -> Result<Contract> {
        let routine = routine_hash(&reply.name, &reply.contract);
        if self.knows(&routine) {
            return Ok(routine);
        }
        let wrong =
            |message: &'static str| Error::new(ErrorKind::Protocol, "take an interface", message);
        let interface = decode_interface(&reply.interface)?;
        if contract_hash(&interface) != reply.contract {
            return Err(wrong("its contract has another hash"));
        }
        if interface.full_name() != reply.name {
            return Err(wrong("it has another name"));
        }
        let bytes = reply.interface.len();
        if self.bytes + bytes > self.bytes_max {
            self.forget_unused();
        }
        if self.bytes + bytes > self.bytes_max {
            let message = "interfaces of all servers have more bytes than interfaces_bytes_max";
            return Err(Error::new(ErrorKind::LimitExceeded, "take an interface", message));
        }
        self.bytes += bytes;
        let entry = Entry {
            interface: Arc::new(interface),
            encoded: reply.interface.as_slice().into(),
            contract: reply.contract,
            servers: 0,
        };
        self.entries.insert(routine, entry);
        Ok(routine)
    }

    /// The interfaces of these contracts that others publish, for another server.
    pub fn replies(&self, wanted: &[[u8; 32]]) -> impl Iterator<Item = InterfaceReply> {
        let known = self.others().filter(|entry| wanted.contains(&entry.contract));
        known.map(|entry| InterfaceReply {
            name: entry.interface.full_name(),
            interface: entry.encoded.to_vec(),
            contract: entry.contract,
            is_placed: None,
        })
    }

    fn forget_unused(&mut self) {
        let bytes = &mut self.bytes;
        self.entries.retain(|_, entry| {
            let is_used = entry.servers > 0;
            *bytes -= if is_used { 0 } else { entry.encoded.len() };
            is_used
        });
    }

    /// One more server has a routine.
    pub fn begin(&mut self, routine: &Contract) {
        if let Some(entry) = self.entries.get_mut(routine) {
            entry.servers += 1;
            self.changed = true;
        }
    }

    /// One less has it.
    pub fn end(&mut self, routine: &Contract) {
        if let Some(entry) = self.entries.get_mut(routine) {
            entry.servers = entry.servers.saturating_sub(1);
            self.changed = true;
        }
    }

    /// Whether several contracts have one full name among others' routines.
    fn others(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.servers > 0)
    }

    /// What others publish, for the directory.
    pub fn elsewhere(&self) -> Vec<ElsewhereRoutine> {
        let all = self.others().map(|entry| ElsewhereRoutine {
            interface: entry.interface.clone(),
            encoded: entry.encoded.clone(),
            contract: entry.contract,
            servers: entry.servers,
        });
        all.collect()
    }

    /// The same for the server: `own` is what this node publishes.
    pub fn placed(&self, own: &BTreeSet<Contract>) -> PlacedRoutines {
        let mut placed = PlacedRoutines::new();
        for entry in self.others() {
            let name = entry.interface.full_name();
            let is_own = own.contains(&routine_hash(&name, &entry.contract));
            let where_to = if is_own { Placed::Also } else { Placed::Elsewhere };
            placed.entry(name).or_default().insert(entry.contract, where_to);
        }
        placed
    }
}
