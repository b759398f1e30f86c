//! From a caller's arguments to a call on the wire: values inline, short arrays inline, long ones
//! by shared memory or as blocks straight from where they lie.

mod complete;
mod copied;
mod files;
mod marshalled;
mod prepared;
mod sharing;
mod short;
mod texts;
mod views;

use std::sync::Arc;

use farcall_base::{Bytes, DataId, Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Interface, Mode, Parameter};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};
use farcall_link::packing::Packing;
use farcall_wire::Argument as WireArgument;
use farcall_wire::message::InlineBytes;

use crate::argument::{Argument, Destination, Passed};
use crate::array::Place;
use crate::contract::Contract;
use crate::data;
use crate::files::Target;
use crate::lending::Wanted;
use crate::results::result_memory;

pub use complete::{complete, with_given};
pub use copied::copy_arrays;
pub use marshalled::{Marshalled, OwnMemory, Ranks, Shared, Side, Slots};
pub use prepared::{LikeCalls, Prepared, PreparedCalls};
pub use short::inline_output;
pub use views::{ResultCopy, gather, lies_in, packed, packing_of, receive_result, transfer_axes};
use views::{borrowed, given_elements, url_at};

/// Arrays up to this many bytes travel inside the call and its answer.
pub const INLINE_MAX: u64 = 4096;

/// What marshalling needs of the connection.
pub trait Memory {
    /// Whether arrays can be shared with the server.
    fn shares(&self) -> bool;
    /// Memory for an array, announced to the server if need be. `None` when there is no descriptor
    /// or number left for it: the array goes through the connection then.
    fn share(&mut self, bytes: usize) -> Result<Option<Shared>>;
    /// Memory of the program's, announced to the server if need be. `None` when a copy is to be
    /// used.
    fn lend(&mut self, wanted: &Wanted) -> Result<Option<OwnMemory>>;
}

/// Turns arguments (one per parameter, WORK ones `Unset`) into a call.
///
/// # Errors
/// `InvalidArgument` for anything that does not fit the interface; `LimitExceeded` for arrays over
/// `limit`.
pub fn marshal(
    contract: &Contract,
    passed: &Passed,
    stays: &[(usize, DataId)],
    (limit, slots): (Bytes, Slots),
    memory: &mut dyn Memory,
) -> Result<Marshalled> {
    let interface = &*contract.interface;
    let arguments = &passed.arguments;
    let mut values = Prepared::values(contract, arguments, limit)?;
    let layout = values.layout;
    let mut call = Marshalled::new(contract, layout.clone(), values.ranks, slots);
    for (index, parameter) in interface.parameters.iter().enumerate() {
        if parameter.mode == Mode::Work {
            continue;
        }
        let of = &layout.parameters[index];
        let mode = of.mode(parameter);
        let stay = stays.iter().find(|(of, _)| *of == index).map(|(_, id)| *id);
        let call = &mut call;
        let mut one = One { call, memory, index, parameter, mode, interface, passed, stay };
        one.marshal(of, &arguments[index], values.bytes[index].take())?;
    }
    Ok(call)
}

/// Room for the results of a call that somebody else made, of such sizes.
///
/// # Errors
/// `LimitExceeded` when there is no memory for them.
pub fn results_of(contract: &Contract, layout: Arc<CallLayout>) -> Result<Marshalled> {
    let mut call = Marshalled::new(contract, layout.clone(), Ranks::new(), Slots::default());
    for (index, (parameter, layout)) in
        contract.interface.parameters.iter().zip(&layout.parameters).enumerate()
    {
        match layout {
            _ if !parameter.mode.is_output() => {}
            ParameterLayout::Array(array) => {
                let region = Some(result_memory(array.transfer_bytes as usize)?);
                call.sides.push((index, Side { region, written: None, segment: None }));
            }
            ParameterLayout::Text if parameter.element == ElementType::Filename => {
                call.targets.push((index, Target::Memory));
            }
            _ => {}
        }
    }
    Ok(call)
}

fn place_of<'a>(argument: &'a Argument<'_>) -> Option<&'a Place> {
    match argument {
        Argument::Array(view) => Some(&view.place),
        _ => None,
    }
}

/// Where the caller wants the result of a parameter.
fn destination_of(mode: Mode, passed: &Passed, index: usize) -> Option<&Place> {
    match (mode, passed.destinations.get(index)) {
        (Mode::In | Mode::Work, _) | (Mode::InOut, None | Some(Destination::New)) => None,
        (Mode::InOut, Some(Destination::Into(view))) => Some(&view.place),
        (Mode::InOut | Mode::Out, _) => place_of(&passed.arguments[index]),
    }
}

/// Whether a place for a result has its shape; of a lower rank if what is left out counts 1.
fn is_shape_of(array: &ArrayLayout, place: &Place) -> bool {
    let Some((shape, _)) = &place.shape else { return true };
    let mut counts = array.dimensions.iter().map(|dimension| dimension.count);
    shape.len() <= array.dimensions.len()
        && shape.iter().all(|given| counts.next() == Some(*given))
        && counts.all(|count| count == 1)
}

/// One parameter on its way.
struct One<'a> {
    call: &'a mut Marshalled,
    memory: &'a mut dyn Memory,
    index: usize,
    parameter: &'a Parameter,
    /// Where its bytes go in this call.
    mode: Mode,
    interface: &'a Interface,
    passed: &'a Passed,
    /// The id under which its result stays.
    stay: Option<DataId>,
}

impl<'a> One<'a> {
    fn marshal(
        &mut self,
        layout: &ParameterLayout,
        argument: &Argument<'_>,
        bytes: Option<InlineBytes>,
    ) -> Result<()> {
        match layout {
            ParameterLayout::Absent => Ok(()),
            ParameterLayout::Scalar { .. } => self.scalar(bytes),
            ParameterLayout::Array(array) => self.array(array, argument, bytes),
            ParameterLayout::Text if self.parameter.element == ElementType::Filename => {
                self.file(argument)
            }
            ParameterLayout::TextArray { count }
                if self.parameter.element == ElementType::Filename =>
            {
                self.files(argument, *count)
            }
            ParameterLayout::TextArray { count } => self.texts(argument, *count),
            ParameterLayout::Text => self.text(argument),
            ParameterLayout::Callback => self.function(argument),
        }
    }

    fn wrong(&self, message: &'static str) -> Error {
        Error::new(ErrorKind::InvalidArgument, "call", message)
            .with("parameter", &self.parameter.name)
    }

    fn want(&mut self, wanted: WireArgument) {
        if self.parameter.mode.is_output() {
            self.call.wanted[self.index] = wanted;
        }
    }

    fn scalar(&mut self, bytes: Option<InlineBytes>) -> Result<()> {
        if self.parameter.mode.is_input() {
            let bytes = bytes.ok_or_else(|| self.wrong("no value"))?;
            self.call.arguments[self.index] = WireArgument::Inline(bytes);
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }

    fn array(
        &mut self,
        array: &ArrayLayout,
        argument: &Argument<'_>,
        bytes: Option<InlineBytes>,
    ) -> Result<()> {
        let source = place_of(argument);
        let mode = self.mode;
        let destination = self.destination_of(self.index);
        if let Some(place) = destination {
            self.check_destination(array, place)?;
        }
        let destination = destination.cloned();
        if mode.is_input() && matches!(argument, Argument::Null) {
            self.call.arguments[self.index] = WireArgument::Null;
            return Ok(());
        }
        let short = array.transfer_bytes <= INLINE_MAX;
        if let Some(id) = self.stay {
            self.want(WireArgument::Data(id));
            return self.only_send(array, argument, bytes);
        }
        if let Argument::Data(data) = argument {
            if mode.is_input() {
                self.call.arguments[self.index] = data::wire(data);
            }
            return self.receive_separately(array, destination);
        }
        if let Some(bytes) = bytes.filter(|_| mode.is_input()) {
            // One number for an array of one, characters for a char array, or an array that sizes
            // refer to.
            self.inline(array, bytes)?;
            self.want(WireArgument::Blocks(None));
            return self.receive_separately(array, destination);
        }
        if let Argument::Url(url) = argument
            && mode == self.parameter.mode
        {
            self.call.arguments[self.index] = WireArgument::Url(url.clone());
            return self.receive_separately(array, destination);
        }
        // What stands in the place of an array that is not read is no room for results either.
        let input = source.filter(|_| self.parameter.mode.is_input());
        if let Some(url) =
            input.map(|place| url_at(self.parameter, array, place)).transpose()?.flatten()
        {
            self.call.arguments[self.index] = WireArgument::Url(url);
            return Ok(());
        }
        let source = source.filter(|_| mode.is_input());
        if source.is_none() && mode.is_input() {
            return Err(self.wrong("an array is missing"));
        }
        let shares = self.memory.shares() && !short;
        if shares && self.lend(array, source, destination.as_ref())? {
            return Ok(());
        }
        if let Some(shared) =
            if shares { self.memory.share(array.full_bytes as usize)? } else { None }
        {
            return self.share(array, shared, source, destination);
        }
        if let Some(place) = source {
            self.send(array, place, short)?;
        }
        self.receive_separately(array, destination)
    }

    /// The argument of a result that stays, or that is an output alone: it goes as bytes.
    fn only_send(
        &mut self,
        array: &ArrayLayout,
        argument: &Argument<'_>,
        bytes: Option<InlineBytes>,
    ) -> Result<()> {
        if !self.mode.is_input() {
            return Ok(());
        }
        let short = array.transfer_bytes <= INLINE_MAX;
        match (bytes, argument) {
            (Some(bytes), _) => self.inline(array, bytes),
            (None, Argument::Data(data)) => {
                self.call.arguments[self.index] = data::wire(data);
                Ok(())
            }
            (None, Argument::Url(url)) => {
                self.call.arguments[self.index] = WireArgument::Url(url.clone());
                Ok(())
            }
            (None, argument) => {
                let place = place_of(argument).ok_or_else(|| self.wrong("an array is missing"))?;
                self.send(array, place, short)
            }
        }
    }

    fn check_destination(&self, array: &ArrayLayout, place: &Place) -> Result<()> {
        place.check_element(&self.parameter.name, self.parameter.element)?;
        place.check_writable(&self.parameter.name)?;
        if is_shape_of(array, place) {
            return Ok(());
        }
        let mut wanted: Vec<u64> =
            array.dimensions.iter().map(|dimension| dimension.count).collect();
        let given = place.shape.as_ref().map(|(shape, _)| shape.as_slice()).unwrap_or_default();
        while wanted.len() > given.len() && wanted.last() == Some(&1) {
            wanted.pop();
        }
        Err(self
            .wrong("the array for the result has the wrong shape")
            .with("given", format!("{given:?}"))
            .with("needed", format!("{wanted:?}")))
    }

    fn inline(&mut self, array: &ArrayLayout, bytes: InlineBytes) -> Result<()> {
        if bytes.len() as u64 != array.transfer_bytes {
            return Err(self
                .wrong("an array has the wrong length")
                .with("bytes", bytes.len())
                .with("needed", array.transfer_bytes));
        }
        self.call.arguments[self.index] = WireArgument::Inline(bytes);
        Ok(())
    }

    fn send(&mut self, array: &ArrayLayout, place: &Place, short: bool) -> Result<()> {
        let (region, inside) = borrowed(place, &given_elements(place, array));
        let mut packing = Packing::new(region.clone(), 0, &inside)?;
        let length = packing.left();
        if length != array.transfer_bytes {
            return Err(self
                .wrong("an array has the wrong length")
                .with("bytes", length)
                .with("needed", array.transfer_bytes));
        }
        if short {
            self.call.arguments[self.index] = WireArgument::Inline(gather(&mut packing)?.into());
        } else {
            self.call.arguments[self.index] = WireArgument::Blocks(Some(length));
            self.call.sending.push((self.index, packing));
            self.call.lent.push(Arc::downgrade(&region));
        }
        Ok(())
    }

    /// Where the caller wants the result of a parameter.
    fn destination_of(&self, index: usize) -> Option<&'a Place> {
        destination_of(self.interface.parameters[index].mode, self.passed, index)
    }

    /// The result comes as bytes: into the caller's array, or into memory of its own.
    fn receive_separately(
        &mut self,
        array: &ArrayLayout,
        destination: Option<Place>,
    ) -> Result<()> {
        if !self.parameter.mode.is_output() {
            return Ok(());
        }
        self.want(WireArgument::Blocks(None));
        let region = match destination {
            Some(_) => None,
            None => Some(result_memory(array.transfer_bytes as usize)?),
        };
        self.call.sides.push((self.index, Side { region, written: destination, segment: None }));
        Ok(())
    }
}
