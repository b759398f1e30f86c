//! A callback that came from the other end: its values in memory of ours, as C code wants them, and
//! what that leaves there as the answer. Nothing is believed beyond the callback's interface:
//! lengths are checked before memory is made.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::interface::{Mode, Parameter};
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_wire::{Argument, CallResult, CallTimes, InlineBytes, Open};

use crate::invoke::Slot;
use crate::running::{Names, Running};

/// Arrays up to this many bytes travel inside the answer.
const INLINE_MAX: u64 = 4096;
/// Longest text that a callback may answer.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Where a value lies.
enum Place {
    /// Nowhere: NULL.
    Null,
    /// An element, an array, a text, or pointers to texts, which lie behind them.
    Memory(Arc<dyn Region>),
}

/// A call of a callback.
pub struct Taken {
    kind: Arc<CallbackType>,
    names: Names,
    layout: Arc<CallLayout>,
    places: Vec<Place>,
    receiving: BTreeMap<u16, Packing>,
    /// Bytes of arrays that come as data frames.
    pub announced: u64,
}

/// What a callback answers.
pub struct Answer {
    /// For the wire.
    pub result: CallResult,
    /// Arrays that are sent as data frames, by parameter.
    pub sending: BTreeMap<u16, Packing>,
}

impl Answer {
    /// That it failed.
    pub fn failed(error: &Error) -> Answer {
        let failure = Some(error.into());
        let times = CallTimes::default();
        Answer {
            result: CallResult { failure, results: Vec::new(), times, attributes: None },
            sending: BTreeMap::new(),
        }
    }
}

impl Taken {
    /// Checks the call against the callback's interface, and lays out its memory.
    ///
    /// # Errors
    /// `Protocol` for what does not fit, `LimitExceeded` for arrays over `limit`.
    pub fn new(kind: Arc<CallbackType>, open: &Open, limit: Bytes) -> Result<Taken> {
        let parameters = &kind.interface.parameters;
        if open.arguments.len() != parameters.len() {
            return Err(wrong("the number of arguments differs")
                .with("callback", kind.interface.full_name()));
        }
        let given: Vec<Option<&[u8]>> = open.arguments.iter().map(inline).collect();
        let layout = kind.sizer.resolve(&kind.interface, &given, limit)?;
        let mut taken = Taken {
            names: Names::of(&kind.interface)?,
            places: Vec::with_capacity(parameters.len()),
            layout: layout.clone(),
            receiving: BTreeMap::new(),
            announced: 0,
            kind: kind.clone(),
        };
        for (index, parameter) in parameters.iter().enumerate() {
            let place =
                taken.take(index, parameter, &layout.parameters[index], &open.arguments[index]);
            taken.places.push(place.map_err(|error| error.with("parameter", &parameter.name))?);
        }
        Ok(taken)
    }

    fn take(
        &mut self,
        index: usize,
        parameter: &Parameter,
        layout: &ParameterLayout,
        given: &Argument,
    ) -> Result<Place> {
        match (layout, given) {
            (ParameterLayout::Absent, _) => memory(64).map(Place::Memory),
            (ParameterLayout::Scalar { bytes }, Argument::Inline(value))
                if value.len() as u64 == *bytes =>
            {
                let region = memory(*bytes)?;
                Space::of(&*region, 0, value.len())?.bytes().copy_from_slice(value);
                Ok(Place::Memory(region))
            }
            (ParameterLayout::Array(_), Argument::Null) if parameter.mode.is_input() => {
                Ok(Place::Null)
            }
            (ParameterLayout::Array(array), given) => {
                let region = memory(array.full_bytes)?;
                let mut packing = Packing::new(region.clone(), 0, &Strided::of_layout(array))?;
                match given {
                    Argument::Inline(bytes) if bytes.len() as u64 == array.transfer_bytes => {
                        scatter(&mut packing, bytes)?
                    }
                    Argument::Blocks(Some(length)) if *length == array.transfer_bytes => {
                        self.announced += array.transfer_bytes;
                        self.receiving.insert(index as u16, packing);
                    }
                    Argument::Absent if parameter.mode == Mode::Out => {}
                    _ => return Err(wrong("an array has the wrong length")),
                }
                Ok(if array.full_bytes == 0 { Place::Null } else { Place::Memory(region) })
            }
            (ParameterLayout::Text, Argument::Inline(text)) => {
                let region = memory(text.len() as u64 + 1)?;
                Space::of(&*region, 0, text.len())?.bytes().copy_from_slice(text);
                Ok(Place::Memory(region))
            }
            (ParameterLayout::Text, Argument::Null | Argument::Absent) => Ok(Place::Null),
            (ParameterLayout::TextArray { count }, Argument::Texts(texts))
                if texts.len() as u64 == *count =>
            {
                let texts: Vec<Option<&[u8]>> =
                    texts.iter().map(|text| text.as_ref().map(|text| text.as_slice())).collect();
                texts_in_memory(&texts).map(Place::Memory)
            }
            (ParameterLayout::TextArray { count }, Argument::Null | Argument::Absent) => {
                // Checked by the layout against the limit.
                memory(count.saturating_mul(8)).map(Place::Memory)
            }
            _ => Err(wrong("an argument has the wrong kind or length")),
        }
    }

    /// Where the next bytes of an argument go.
    ///
    /// # Errors
    /// `Internal` for one that nobody expects.
    pub fn space(&mut self, slot: u16, max: usize) -> Result<Space> {
        let packing = self.receiving.get_mut(&slot);
        packing
            .ok_or_else(|| Error::internal("receive a callback's argument", "it is not expected"))?
            .space(max)
    }

    /// They are there.
    ///
    /// # Errors
    /// `Internal` past the end.
    pub fn arrived(&mut self, slot: u16, count: usize) -> Result<()> {
        self.receiving.get_mut(&slot).map_or(Ok(()), |packing| packing.arrived(count))
    }

    /// What it calls.
    pub fn kind(&self) -> &CallbackType {
        &self.kind
    }

    /// One slot per parameter, as [`crate::invoke::invoke`] takes them.
    pub fn slots(&self) -> Vec<Slot> {
        let slot = |(index, place): (usize, &Place)| match (place, &self.layout.parameters[index]) {
            (Place::Null, _) => Slot::null(),
            (Place::Memory(region), ParameterLayout::Text) => {
                Slot::new(region.base(), region.bytes() - 1)
            }
            (Place::Memory(region), _) => Slot::new(region.base(), 1),
        };
        self.places.iter().enumerate().map(slot).collect()
    }

    /// Gives texts that come in memory of their own, which the code frees with `free`, or keeps: what
    /// callbacks of GridRPC programs rely on.
    pub fn give_texts_away(&self, slots: &mut [Slot]) {
        let parameters = self.kind.interface.parameters.iter().zip(&self.layout.parameters);
        for ((place, slot), (parameter, layout)) in self.places.iter().zip(slots).zip(parameters) {
            let Place::Memory(region) = place else { continue };
            if !parameter.mode.is_input() {
                continue;
            }
            // SAFETY: texts of this call that end with a NUL, and as many pointers to such, or NULL,
            // as the layout says.
            unsafe {
                match layout {
                    ParameterLayout::Text => {
                        slot.memory = libc::strdup(region.base().cast()).cast()
                    }
                    ParameterLayout::TextArray { count } => {
                        let texts = region.base().cast::<*mut c_char>();
                        for text in (0..*count as usize).map(|index| texts.add(index)) {
                            if !text.read().is_null() {
                                text.write(libc::strdup(text.read()));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Runs code that asks for the parameters, and gives the answer.
    ///
    /// # Errors
    /// What `run` says, or the words in which the code failed.
    pub fn run(&self, run: impl FnOnce(&mut Running<'_>) -> Result<()>) -> Result<Answer> {
        let mut slots = self.slots();
        let mut running = Running::new(&self.names, &self.kind.interface, &self.layout, &mut slots);
        run(&mut running)?;
        let words = |words: String| Error::new(ErrorKind::RoutineFailed, "run a callback", words);
        // Texts that the slots point to live until they were copied.
        let _texts: Vec<CString> = running.end().map_err(words)?;
        self.answer(&slots)
    }

    /// What the code left behind.
    ///
    /// # Errors
    /// `RoutineFailed` for a range outside its bound, `LimitExceeded` for a text without an end.
    pub fn answer(&self, slots: &[Slot]) -> Result<Answer> {
        let bytes = self.places.iter().zip(&self.layout.parameters).map(|(place, layout)| {
            match (place, layout) {
                (
                    Place::Memory(region),
                    ParameterLayout::Scalar { .. } | ParameterLayout::Array(_),
                ) => {
                    // SAFETY: the region's own bytes, which nobody writes to any more.
                    Some(unsafe { std::slice::from_raw_parts(region.base(), region.bytes()) })
                }
                _ => None,
            }
        });
        let layout = self.kind.sizer.resolve_results(&self.kind.interface, bytes, &self.layout)?;
        let layout = layout.as_ref().unwrap_or(&self.layout);
        let mut sending = BTreeMap::new();
        let mut results = Vec::with_capacity(self.places.len());
        for (index, parameter) in self.kind.interface.parameters.iter().enumerate() {
            let result = if parameter.mode.is_output() {
                self.result(index, &layout.parameters[index], slots, &mut sending)
            } else {
                Ok(Argument::Absent)
            };
            results.push(result.map_err(|error| error.with("parameter", &parameter.name))?);
        }
        let times = CallTimes::default();
        Ok(Answer {
            result: CallResult { failure: None, results, times, attributes: None },
            sending,
        })
    }

    fn result(
        &self,
        index: usize,
        layout: &ParameterLayout,
        slots: &[Slot],
        sending: &mut BTreeMap<u16, Packing>,
    ) -> Result<Argument> {
        match (layout, &self.places[index]) {
            (ParameterLayout::Array(array), Place::Memory(region)) => {
                let mut packing = Packing::new(region.clone(), 0, &Strided::of_layout(array))?;
                if array.transfer_bytes > INLINE_MAX && !self.kind.sizer.is_inline(index) {
                    sending.insert(index as u16, packing);
                    return Ok(Argument::Blocks(Some(array.transfer_bytes)));
                }
                gather(&mut packing).map(Argument::Inline)
            }
            (ParameterLayout::Array(array), Place::Null) if array.transfer_bytes == 0 => {
                Ok(Argument::Inline(InlineBytes::new()))
            }
            (ParameterLayout::Text, _) => {
                // SAFETY: the code's interface says that this is a text, or NULL.
                let text = unsafe { text_at(slots[index].memory) }?;
                Ok(text.map_or(Argument::Null, |text| Argument::Inline(text.into())))
            }
            (ParameterLayout::TextArray { count }, Place::Memory(region)) => {
                // SAFETY: as many pointers lie there, to texts or NULL.
                unsafe { texts_at(region.base(), *count) }.map(Argument::Texts)
            }
            (_, Place::Null) => Ok(Argument::Null),
            _ => Ok(Argument::Absent),
        }
    }
}

/// A copy of a text, if it is one.
///
/// # Safety
/// `text` is NULL, or ends with a NUL.
///
/// # Errors
/// `LimitExceeded` for one of more than a megabyte.
pub unsafe fn text_at(text: *const u8) -> Result<Option<Vec<u8>>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise; no more than the longest text is looked at.
    let length = unsafe { libc::strnlen(text.cast(), TEXT_BYTES_MAX) };
    if length == TEXT_BYTES_MAX {
        let message = "a text is longer than 1 MB or has no terminating NUL";
        return Err(Error::new(ErrorKind::LimitExceeded, "pass a callback's text", message)
            .fix("terminate it with a NUL"));
    }
    // SAFETY: strnlen saw that many bytes.
    Ok(Some(unsafe { std::slice::from_raw_parts(text, length) }.to_vec()))
}

/// Copies of texts.
///
/// # Safety
/// `count` pointers lie at `pointers`, each as [`text_at`] takes it.
///
/// # Errors
/// As [`text_at`].
pub unsafe fn texts_at(
    pointers: *const u8,
    count: u64,
) -> Result<Vec<Option<minicbor::bytes::ByteVec>>> {
    let count = usize::try_from(count).map_err(|_| wrong("the texts do not fit into memory"))?;
    (0..count)
        .map(|index| {
            // SAFETY: the caller's promise.
            unsafe { text_at(pointers.cast::<*const u8>().add(index).read_unaligned()) }
                .map(|text| text.map(Into::into))
        })
        .collect()
}

fn texts_in_memory(texts: &[Option<&[u8]>]) -> Result<Arc<dyn Region>> {
    let bytes = texts.iter().flatten().map(|text| text.len() as u64 + 1).sum::<u64>();
    let region = memory(texts.len() as u64 * 8 + bytes)?;
    let mut text_at = texts.len() * 8;
    for (index, text) in texts.iter().enumerate() {
        let address = text.map_or(0, |_| region.base() as usize + text_at);
        Space::of(&*region, index * 8, 8)?.bytes().copy_from_slice(&address.to_ne_bytes());
        if let Some(text) = text {
            Space::of(&*region, text_at, text.len())?.bytes().copy_from_slice(text);
            text_at += text.len() + 1;
        }
    }
    Ok(region)
}

/// Writes bytes to an array's elements.
///
/// # Errors
/// `Protocol` for another number than there are.
pub fn scatter(packing: &mut Packing, bytes: &[u8]) -> Result<()> {
    if bytes.len() as u64 != packing.left() {
        return Err(wrong("an array has the wrong length"));
    }
    let mut done = 0;
    while done < bytes.len() {
        let mut space = packing.space(bytes.len() - done)?;
        let count = space.length();
        space.bytes().copy_from_slice(&bytes[done..done + count]);
        packing.arrived(count)?;
        done += count;
    }
    Ok(())
}

/// An array's elements.
///
/// # Errors
/// `System` when there is no memory.
pub fn gather(packing: &mut Packing) -> Result<InlineBytes> {
    let length = packing.left() as usize;
    let mut bytes = InlineBytes::with_capacity(length);
    for block in packing.blocks(length)? {
        let block: Block = block;
        bytes.extend_from_slice(block.bytes());
    }
    Ok(bytes)
}

fn memory(bytes: u64) -> Result<Arc<dyn Region>> {
    let bytes =
        usize::try_from(bytes).map_err(|_| wrong("an array is larger than the address space"))?;
    Ok(Arc::new(HeapRegion::new(bytes.max(1))?))
}

fn inline(argument: &Argument) -> Option<&[u8]> {
    match argument {
        Argument::Inline(bytes) => Some(bytes),
        _ => None,
    }
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "take a callback", message)
}
