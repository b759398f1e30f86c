//! One call: its values laid out in memory as the routine wants them.

mod checks;
mod fill;
mod plan;
mod usage;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;

use farcall_base::{Bytes, CallId, Error, Instant, Result};
use farcall_idl::interface::Parameter;
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_idl::values::ByteValues;
use farcall_link::content::Outgoing;
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_transport_unix::Birthplace;
use farcall_wire::{Argument, NOTICES, Open, threads_of, wants};

use super::CALL_BYTES_MAX;
use super::children::end_what_a_call_left;
use super::files::{CallFiles, Content};
use super::memory::{ArenaPlan, Arenas, Segments};
use super::module::{Body, LoadedModule, LoadedRoutine};
use super::texts::LongTexts;
use super::{output, ranks};
use checks::{check_open, text_extent, wanted};
use farcall_native::invoke::{Slot, invoke};
use plan::Builder;
use usage::Usage;

/// Where a parameter's value lies.
#[derive(Clone)]
pub enum Place {
    /// Nowhere.
    None,
    /// In a region, from this byte on.
    Memory(Arc<dyn Region>, usize),
    /// A C string: begins there; `None` for NULL.
    Text(Option<usize>, usize),
    /// An array of C strings: the pointers begin there.
    Texts(usize),
    /// A text that is too long for a message.
    LongText(Content),
    /// An array of them; the pointers begin there.
    LongTexts(usize, Content),
    /// A file, with this content if it comes with any.
    File(Option<Content>),
    /// A function of the client.
    Function,
}

/// A call on its way through this process.
pub struct PendingCall {
    pub id: CallId,
    pub accepted_at: Instant,
    /// Bytes of arguments that come as data frames.
    pub announced_bytes: u64,
    pub(super) layout: Arc<CallLayout>,
    pub(super) places: Vec<Place>,
    pub(super) wanted: Vec<Argument>,
    pub(super) arena: Arc<HeapRegion>,
    pub(super) sending: BTreeMap<u16, Packing>,
    /// Files and long texts that are sent back.
    pub(super) sending_files: BTreeMap<u16, Box<dyn Outgoing>>,
    /// Those that are opened as they are sent.
    pub(super) kept_files: Option<CallFiles>,
    routine: String,
    receiving: BTreeMap<u16, Packing>,
    /// The call as the other ranks are told of it, where there are any.
    told: Option<Vec<u8>>,
    /// Whether its processor time is measured.
    pub is_measured: bool,
    /// Threads that libraries run from then on, where it says.
    pub threads: Option<u32>,
    /// How its routine uses arrays.
    usage: Usage,
}

/// What a routine is called with.
pub(super) struct Ready {
    files: CallFiles,
    slots: Vec<Slot>,
    /// What some of the slots point to.
    texts: LongTexts,
}

fn is_measured(open: &Open) -> bool {
    let attribute = open.attributes.iter().flatten().find(|attribute| attribute.name == NOTICES);
    attribute
        .and_then(|attribute| attribute.value.first())
        .is_some_and(|bits| bits & wants::PROCESSOR_TIME != 0)
}

impl PendingCall {
    /// Checks the call against its interface and lays out its memory.
    pub fn new(
        module: &LoadedModule,
        open: &Open,
        segments: &Segments,
        arenas: &mut Arenas,
        accepted_at: Instant,
    ) -> Result<PendingCall> {
        let loaded = module.find(&open.routine)?;
        check_open(loaded, open)?;
        let interface = &loaded.routine.interface;
        let given: Vec<Option<&[u8]>> = open
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Inline(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        let layout = loaded.sizer.resolve(interface, &given, Bytes(CALL_BYTES_MAX))?;
        let values = ByteValues::new(interface, given.as_slice());
        let mut builder = Builder { open, segments, plan: ArenaPlan::default() };
        let mut planned = Vec::with_capacity(interface.parameters.len());
        for (index, (parameter, layout)) in
            interface.parameters.iter().zip(&layout.parameters).enumerate()
        {
            planned.push(builder.plan(index, parameter, layout)?);
        }
        let arena = arenas.make(&builder.plan)?;
        let mut call = PendingCall {
            id: open.call,
            accepted_at,
            announced_bytes: 0,
            places: planned.into_iter().map(|planned| planned.in_arena(&arena)).collect(),
            wanted: wanted(open, interface.parameters.len()),
            routine: open.routine.clone(),
            arena,
            layout,
            sending: BTreeMap::new(),
            sending_files: BTreeMap::new(),
            kept_files: None,
            receiving: BTreeMap::new(),
            told: None,
            is_measured: is_measured(open),
            threads: threads_of(open.attributes.as_deref()),
            usage: Usage::of(interface, open),
        };
        call.fill(interface, open, &values, segments)?;
        call.check_ranks(interface)?;
        call.told = ranks::led().map(|_| ranks::for_others(loaded, open, &call.layout.parameters));
        Ok(call)
    }

    /// Where the next bytes of an argument go.
    pub fn argument_space(&mut self, slot: u16, max: usize) -> Result<Space> {
        let packing = self.receiving.get_mut(&slot);
        packing
            .ok_or_else(|| Error::internal("receive an argument", "it is not expected"))?
            .space(max)
    }

    /// They are there.
    pub fn argument_arrived(&mut self, slot: u16, count: usize) -> Result<()> {
        self.receiving.get_mut(&slot).map_or(Ok(()), |packing| packing.arrived(count))
    }

    /// The next bytes of a result.
    pub fn result_blocks(&mut self, slot: u16, length: u32) -> Result<Vec<Block>> {
        if let Some(file) = self.sending_files.get_mut(&slot) {
            return file.piece(length as usize)?.blocks(length as usize);
        }
        let packing = self.sending.get_mut(&slot);
        packing
            .ok_or_else(|| Error::internal("send a result", "it is not requested"))?
            .blocks(length as usize)
    }

    /// The memory of its small values, when nothing of the call is to be sent any more.
    pub fn into_arena(self) -> Arc<HeapRegion> {
        self.arena
    }

    /// What it calls, in full.
    pub fn routine(&self) -> &str {
        &self.routine
    }

    /// Runs the routine and gathers its results.
    pub fn run(&mut self, module: &LoadedModule) -> Result<Vec<Argument>> {
        let loaded = module.find(&self.routine)?;
        // Dropped at the end of this, whatever it is, its files are removed.
        let mut ready = self.ready(loaded)?;
        if let (Some(ranks), Some(told)) = (ranks::led(), &self.told) {
            ranks.call(told, loaded, self)?;
        }
        if loaded.captures {
            super::callback::keep_slots(&ready.slots);
        }
        self.clear_unread()?;
        self.usage.open_copies()?;
        let outcome = self.invoke(module, loaded, &mut ready);
        self.usage.close_copies();
        // Texts that the slots point to live until they were copied.
        let _texts = match ranks::led() {
            Some(ranks) => ranks.returned(outcome),
            None => outcome,
        }?;
        let Ready { mut files, slots, texts: _texts } = ready;
        files.close()?;
        let results = self.results(loaded, &slots, &files);
        self.kept_files = files.if_needed(&self.sending_files);
        results
    }

    /// Clears what lies in memory that others share of arrays which the routine does not read: it
    /// may multiply them by 0 all the same, and may leave some of their elements as they are.
    fn clear_unread(&self) -> Result<()> {
        for index in &self.usage.unread {
            let (ParameterLayout::Array(array), Place::Memory(region, offset)) =
                (&self.layout.parameters[*index], &self.places[*index])
            else {
                continue;
            };
            // The arena is made clear.
            if matches!(self.wanted[*index], Argument::Shared(..)) {
                Space::of(&**region, *offset, array.full_bytes as usize)?.bytes().fill(0);
            }
        }
        Ok(())
    }

    /// Whether its routine takes files, or leaves some.
    pub fn has_files(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::File(_)))
    }

    /// Makes the routine's files, and says where everything lies.
    pub(super) fn ready(&self, loaded: &LoadedRoutine) -> Result<Ready> {
        let files = CallFiles::make(&loaded.routine.interface, &self.layout, &self.places)?;
        let mut slots = self.slots(loaded, &files)?;
        let mut texts = LongTexts::default();
        for ((place, layout), slot) in
            self.places.iter().zip(&self.layout.parameters).zip(&mut slots)
        {
            let count = match layout {
                ParameterLayout::TextArray { count } => *count,
                _ => 1,
            };
            if let Some(text) = texts.slot(place, count, &self.arena)? {
                *slot = text;
            }
        }
        Ok(Ready { files, slots, texts })
    }

    /// Runs the routine; texts that it made live as long as what is returned.
    pub(super) fn invoke(
        &self,
        module: &LoadedModule,
        loaded: &LoadedRoutine,
        ready: &mut Ready,
    ) -> Result<Vec<CString>> {
        let slots = &mut ready.slots;
        crate::confine::begin_call();
        let outcome = match &loaded.body {
            Body::Native(prepared) => {
                // SAFETY: every slot describes memory of the extent that the layout says; that the
                // code has the interface its IDL claims is the publisher's word, which is why it
                // runs in this process and not in the server.
                unsafe { invoke(prepared, self.without_empty(slots)) }.map(|()| Vec::new())
            }
            Body::Hosted(hosted) => hosted.run(&loaded.routine.interface, &self.layout, slots),
        };
        end_fork(module.process);
        end_what_a_call_left();
        flush_standard_output();
        output::wait_until_taken();
        outcome
    }

    /// Code that was written for Ninf-G finds NULL for an array without elements, whatever the
    /// caller passed.
    fn without_empty<'a>(&self, slots: &'a mut [Slot]) -> &'a mut [Slot] {
        for (slot, layout) in slots.iter_mut().zip(&self.layout.parameters) {
            let is_empty = match layout {
                ParameterLayout::Array(array) => array.full_bytes == 0,
                ParameterLayout::TextArray { count } => *count == 0,
                _ => false,
            };
            if is_empty {
                slot.memory = std::ptr::null_mut();
            }
        }
        slots
    }

    fn slots(&self, loaded: &LoadedRoutine, files: &CallFiles) -> Result<Vec<Slot>> {
        let interface = &loaded.routine.interface;
        let slot = |(index, parameter): (usize, &Parameter)| match (
            &self.places[index],
            &self.layout.parameters[index],
        ) {
            (Place::Memory(region, offset), layout) => {
                let bytes = text_extent(parameter, layout);
                // SAFETY: the place was checked to lie within its region when it was made.
                Ok(Slot::new(unsafe { region.base().add(*offset) }, bytes))
            }
            (Place::Text(Some(offset), length), _) if parameter.mode.is_input() => {
                // SAFETY: as above, in the arena.
                Ok(Slot::new(unsafe { self.arena.base().add(*offset) }, *length))
            }
            (Place::Texts(offset) | Place::LongTexts(offset, _), _) => {
                // SAFETY: as above, in the arena.
                Ok(Slot::new(unsafe { self.arena.base().add(*offset) }, 0))
            }
            (Place::File(_), _) => Ok(files.slot(index)),
            (Place::Function, _) => Ok(Slot::new(loaded.closure(index), 0)),
            _ => Ok(Slot::null()),
        };
        interface.parameters.iter().enumerate().map(slot).collect()
    }
}

/// Ends a child that the routine forked and that returned like its parent: it has the parent's
/// connection, and would answer in its place. What stdio holds is the parent's to write.
fn end_fork(process: Birthplace) {
    if !process.is_here() {
        // SAFETY: ends this process at once, without what others want to be run at its end.
        unsafe { libc::_exit(0) };
    }
}

/// Output of C and Fortran code must have left the process before the call counts as ended.
pub(super) fn flush_standard_output() {
    // SAFETY: NULL means all streams; stdio locks them itself.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
