//! A call, ready to be opened: what is sent from where, and where its results go.

use std::sync::{Arc, Weak};

use farcall_base::{Error, Result};
use farcall_idl::layout::CallLayout;
use farcall_link::memory::Region;
use farcall_link::packing::Packing;
use farcall_wire::Argument as WireArgument;
use smallvec::SmallVec;

use crate::array::Place;
use crate::contract::Contract;
use crate::files::{SentFile, Target};
use crate::lending::Lent;
use crate::session::Segment;

/// Memory that a parameter of a running call uses on this side.
pub struct Side {
    /// Where the interface's array lies: memory that is shared, or made for the result. `None`
    /// where the result comes as bytes into the caller's array.
    pub region: Option<Arc<dyn Region>>,
    /// The caller's array that the result ends in; `None`: the caller gets the region itself.
    pub written: Option<Place>,
    /// What the server knows the region by, until the call is over.
    pub segment: Option<Segment>,
}

/// Memory that the server has been told of. Who holds this keeps others from using the memory or
/// its number.
pub struct Shared {
    /// The memory.
    pub region: Arc<dyn Region>,
    /// What the server knows it by.
    pub segment: Segment,
}

/// The program's own memory, which the server has been told of.
pub struct OwnMemory {
    /// What the call uses of it.
    pub own: Arc<Lent>,
    /// What the server knows the whole by.
    pub segment: Segment,
}

/// A call, ready to be opened.
pub struct Marshalled {
    pub layout: Arc<CallLayout>,
    /// What is called.
    pub routine: String,
    /// One per parameter.
    pub arguments: Vec<WireArgument>,
    /// One per parameter.
    pub wanted: Vec<WireArgument>,
    /// What is sent from where, with the number of its parameter.
    pub sending: Vec<(usize, Packing)>,
    /// The caller's memory that it is sent from.
    pub lent: Vec<Weak<dyn Region>>,
    /// The program's memory that the server uses where it lies.
    pub own: Vec<Arc<Lent>>,
    /// Files and long texts that are sent.
    pub files: Vec<SentFile>,
    /// Bytes of the texts in the message.
    pub(super) text_bytes: u64,
    /// Where files that come back go, by parameter.
    pub targets: Vec<(usize, Target)>,
    /// Memory that results come into, with the number of their parameter.
    pub sides: Vec<(usize, Side)>,
    /// Rank that the caller gave, where it is lower than declared, by parameter.
    pub ranks: Ranks,
}

/// Ranks that are lower than declared, each with the number of its parameter.
pub type Ranks = SmallVec<[(usize, usize); 2]>;

/// Room for what one message says, which the next one uses again.
#[derive(Default)]
pub struct Slots {
    pub routine: String,
    pub arguments: Vec<WireArgument>,
    pub wanted: Vec<WireArgument>,
}

impl Slots {
    /// Nothing for each of so many parameters of a routine.
    fn cleared(mut self, routine: &str, count: usize) -> Slots {
        self.routine.clear();
        self.routine.push_str(routine);
        for slots in [&mut self.arguments, &mut self.wanted] {
            slots.clear();
            slots.resize(count, WireArgument::Absent);
        }
        self
    }
}

impl Marshalled {
    /// A call of which nothing is sent or wanted yet.
    pub(super) fn new(
        contract: &Contract,
        layout: Arc<CallLayout>,
        ranks: Ranks,
        slots: Slots,
    ) -> Marshalled {
        let Slots { routine, arguments, wanted } =
            slots.cleared(&contract.name, contract.interface.parameters.len());
        Marshalled {
            routine,
            arguments,
            wanted,
            sending: Vec::new(),
            lent: Vec::new(),
            own: Vec::new(),
            files: Vec::new(),
            text_bytes: 0,
            targets: Vec::new(),
            sides: Vec::new(),
            ranks,
            layout,
        }
    }

    /// Where a parameter's result comes into.
    pub fn side(&self, parameter: usize) -> Option<&Side> {
        self.sides.iter().find(|(of, _)| *of == parameter).map(|(_, side)| side)
    }

    /// What is left to send of a parameter's array.
    pub fn array_to_send(&mut self, parameter: usize) -> Option<&mut Packing> {
        self.sending.iter_mut().find(|(of, _)| *of == parameter).map(|(_, packing)| packing)
    }

    /// The rank that the caller gave for a parameter, where it is lower than declared.
    pub fn rank(&self, parameter: usize) -> Option<usize> {
        self.ranks.iter().find(|(of, _)| *of == parameter).map(|(_, rank)| *rank)
    }

    /// The next bytes of a file that is sent.
    pub fn piece_of_file(&mut self, place: &farcall_call::Place, bytes: u32) -> Result<Packing> {
        let file = self.files.iter_mut().find(|file| file.slot == usize::from(place.slot));
        let gone = || Error::internal("send an argument", "none of it has to be sent");
        file.ok_or_else(gone)?.reader().piece(bytes as usize)
    }
}
