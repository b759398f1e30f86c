//! From a caller's arguments to a call on the wire: values inline, short arrays inline, long ones by shared memory or as
//! blocks straight from where they lie.

mod views;

use std::sync::{Arc, Weak};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::element::ScalarValue;
use farcall_idl::infer::{self, Given};
use farcall_idl::interface::{ElementType, Interface, Mode, Order, Parameter, Shape};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout, resolve};
use farcall_idl::values::ByteValues;
use farcall_interfaces::memory::Region;
use farcall_interfaces::packing::Packing;
use farcall_interfaces::strided::{Axis, Strided};
use farcall_wire::Argument as WireArgument;

use crate::argument::{Argument, Destination, Passed};
use crate::array::Place;

use views::{Direction, borrowed, copy_place, packing_of};
pub use views::{copy_result, packed, receive_result, write_result};

/// Arrays up to this many bytes travel inside the call and its answer.
pub const INLINE_MAX: u64 = 4096;

/// Memory that a parameter of a running call uses on this side.
pub struct Side {
    /// Where the interface's array lies: shared memory, or the caller's own.
    pub region: Arc<dyn Region>,
    /// The caller's array that the result ends in; `None`: the caller gets the region itself.
    pub written: Option<Place>,
}

/// A call, ready to be opened.
pub struct Marshalled {
    pub layout: CallLayout,
    pub arguments: Vec<WireArgument>,
    pub wanted: Vec<WireArgument>,
    /// What is sent from where, by parameter.
    pub sending: Vec<Option<Packing>>,
    /// The caller's memory that it is sent from.
    pub lent: Vec<Weak<dyn Region>>,
    /// Memory that results come into, by parameter.
    pub sides: Vec<Option<Side>>,
    /// Rank that the caller gave, where it is lower than declared.
    pub ranks: Vec<Option<usize>>,
}

/// What marshalling needs of the connection.
pub trait Memory {
    /// Whether arrays can be shared with the server.
    fn shares(&self) -> bool;
    /// Memory for an array.
    fn allocate(&mut self, bytes: usize) -> Result<Arc<dyn Region>>;
    /// Its number for the server, announced before if need be.
    fn segment(&mut self, region: &Arc<dyn Region>) -> Result<u32>;
}

/// The caller's values, completed and as bytes.
struct Values {
    bytes: Vec<Option<Vec<u8>>>,
    ranks: Vec<Option<usize>>,
}

/// Turns arguments (one per parameter, WORK ones `Unset`) into a call.
///
/// # Errors
/// `InvalidArgument` for anything that does not fit the interface; `LimitExceeded` for arrays over `limit`.
pub fn marshal(interface: &Interface, passed: &Passed, limit: Bytes, memory: &mut dyn Memory) -> Result<Marshalled> {
    let Passed { arguments, destinations } = passed;
    let values = complete(interface, arguments)?;
    let bytes: Vec<Option<&[u8]>> = values.bytes.iter().map(Option::as_deref).collect();
    let layout = resolve(interface, &ByteValues::new(interface, bytes.as_slice()), limit)?;
    let count = interface.parameters.len();
    let mut call = Marshalled {
        arguments: vec![WireArgument::Absent; count],
        wanted: vec![WireArgument::Absent; count],
        sending: (0..count).map(|_| None).collect(),
        lent: Vec::new(),
        sides: (0..count).map(|_| None).collect(),
        ranks: values.ranks,
        layout,
    };
    for (index, parameter) in interface.parameters.iter().enumerate() {
        if parameter.mode == Mode::Work {
            continue;
        }
        let destination = destinations.get(index).unwrap_or(&Destination::New);
        let mut one = One { call: &mut call, memory, index, parameter, destination };
        one.marshal(&arguments[index], values.bytes[index].as_deref())?;
    }
    Ok(call)
}

fn complete(interface: &Interface, arguments: &[Argument<'_>]) -> Result<Values> {
    if arguments.len() != interface.parameters.len() {
        return Err(Error::internal("call", "one argument per parameter is expected"));
    }
    // Before anything of an array is read: it is as long as its own elements make it.
    for (parameter, argument) in interface.parameters.iter().zip(arguments) {
        if let Argument::Array(view) = argument {
            view.place.check_element(&parameter.name, parameter.element)?;
        }
    }
    let inline = interface.inline_parameters();
    let shapes: Vec<Vec<u64>> = arguments.iter().map(shape_of).collect();
    let contents: Vec<Option<Vec<u8>>> = arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| content_of(interface, argument, index, inline.contains(&index)))
        .collect::<Result<_>>()?;
    let given: Vec<Given<'_>> = interface
        .caller_parameters()
        .map(|(index, parameter)| given(parameter, &arguments[index], &shapes[index], contents[index].as_deref()))
        .collect::<Result<_>>()?;
    let completed = infer::complete(interface, &given)?;
    let mut ranks = vec![None; arguments.len()];
    for (index, rank) in completed.lower_ranks {
        ranks[index] = Some(rank);
    }
    let mut bytes = contents;
    for (index, value) in completed.scalars.iter().enumerate() {
        if let Some(value) = value {
            bytes[index] = Some(scalar_bytes(interface, &interface.parameters[index], *value, &arguments[index])?);
        }
    }
    Ok(Values { bytes, ranks })
}

fn scalar_bytes(
    interface: &Interface,
    parameter: &Parameter,
    value: ScalarValue,
    given: &Argument<'_>,
) -> Result<Vec<u8>> {
    if let Argument::Raw(raw) = given {
        return Ok(raw.clone());
    }
    let mut bytes = vec![0; farcall_idl::element::element_bytes(interface, parameter.element) as usize];
    value.write_exactly(parameter.element, &mut bytes).map_err(|error| error.with("parameter", &parameter.name))?;
    Ok(bytes)
}

fn shape_of(argument: &Argument<'_>) -> Vec<u64> {
    match argument {
        Argument::Array(view) => view.place.shape.as_ref().map(|(shape, _)| shape.clone()).unwrap_or_default(),
        Argument::Texts(texts) => vec![texts.len() as u64],
        _ => Vec::new(),
    }
}

/// Bytes of values that sizes may refer to: strings, raw scalars, and the elements of arrays that must travel inline.
fn content_of(interface: &Interface, argument: &Argument<'_>, index: usize, inline: bool) -> Result<Option<Vec<u8>>> {
    let parameter = &interface.parameters[index];
    match argument {
        Argument::Text(text) => Ok(Some(text.clone())),
        Argument::Raw(raw) => Ok(Some(raw.clone())),
        Argument::Array(view) if inline && parameter.mode.is_input() => {
            let Some((shape, strides)) = &view.place.shape else { return Ok(None) };
            let array = strided(interface, parameter, shape, strides);
            let mut packing = packing_of(&view.place, &array)?;
            let length = packing.left() as usize;
            if length as u64 > INLINE_MAX * 64 {
                return Err(Error::new(ErrorKind::LimitExceeded, "call", "an array that sizes refer to is too long")
                    .with("parameter", &parameter.name)
                    .with("bytes", length));
            }
            let mut bytes = Vec::with_capacity(length);
            for block in packing.blocks(length)? {
                bytes.extend_from_slice(block.bytes());
            }
            Ok(Some(bytes))
        }
        _ => Ok(None),
    }
}

fn given<'a>(
    parameter: &Parameter,
    argument: &'a Argument<'_>,
    shape: &'a [u64],
    content: Option<&'a [u8]>,
) -> Result<Given<'a>> {
    Ok(match argument {
        Argument::Unset => Given::Unset,
        // NULL is a value of texts and arrays; it says nothing of sizes.
        Argument::Null if parameter.shape != Shape::Scalar || parameter.element == ElementType::String => Given::Other,
        Argument::Null => Given::Unset,
        Argument::Integer(value) => Given::Integer(*value),
        Argument::Real(value) => Given::Real(*value),
        Argument::Complex(re, im) => Given::Complex(*re, *im),
        Argument::Raw(raw) => Given::Bytes(raw),
        Argument::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Given::Text(text),
            Err(_) => Given::Bytes(text),
        },
        // Their number is an extent like that of any array.
        Argument::Texts(_) => Given::Array { shape },
        Argument::Array(view) if view.place.shape.is_some() => match content {
            Some(bytes) => Given::Elements { shape, bytes },
            None => Given::Array { shape },
        },
        Argument::Array(_) => {
            if matches!(parameter.shape, Shape::Scalar) {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "call",
                    "an array where the interface wants one value",
                )
                .with("parameter", &parameter.name)
                .fix("pass the value itself"));
            }
            // It is there; its extents follow from the other arguments.
            Given::Other
        }
    })
}

/// Axes in transfer order, fastest first, of an array that the caller describes in logical order. Missing trailing
/// dimensions count as 1.
fn strided(interface: &Interface, parameter: &Parameter, shape: &[u64], strides: &[i64]) -> Strided {
    let mut axes: Vec<Axis> =
        shape.iter().zip(strides).map(|(count, stride)| Axis { count: *count, stride: *stride }).collect();
    if let Shape::Array { dimensions, order } = &parameter.shape {
        axes.resize(dimensions.len().max(axes.len()), Axis { count: 1, stride: 0 });
        if *order == Order::Row {
            axes.reverse();
        }
    }
    Strided { offset: 0, element_bytes: farcall_idl::element::element_bytes(interface, parameter.element), axes }
}

/// One parameter on its way.
struct One<'a> {
    call: &'a mut Marshalled,
    memory: &'a mut dyn Memory,
    index: usize,
    parameter: &'a Parameter,
    destination: &'a Destination<'a>,
}

impl One<'_> {
    fn marshal(&mut self, argument: &Argument<'_>, bytes: Option<&[u8]>) -> Result<()> {
        let layout = self.call.layout.parameters[self.index].clone();
        match layout {
            ParameterLayout::Absent => Ok(()),
            ParameterLayout::Scalar { .. } => self.scalar(bytes),
            ParameterLayout::Array(array) => self.array(&array, argument, bytes),
            ParameterLayout::Text | ParameterLayout::TextArray { .. } => self.text(argument),
            ParameterLayout::Callback => Err(self.wrong("callbacks come with a later version of Farcall")),
        }
    }

    fn wrong(&self, message: &'static str) -> Error {
        Error::new(ErrorKind::InvalidArgument, "call", message).with("parameter", &self.parameter.name)
    }

    fn want(&mut self, wanted: WireArgument) {
        if self.parameter.mode.is_output() {
            self.call.wanted[self.index] = wanted;
        }
    }

    fn scalar(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        if self.parameter.mode.is_input() {
            let bytes = bytes.ok_or_else(|| self.wrong("no value"))?;
            self.call.arguments[self.index] = WireArgument::Inline(bytes.to_vec());
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }

    fn text(&mut self, argument: &Argument<'_>) -> Result<()> {
        if self.parameter.element == ElementType::Filename {
            return Err(self.wrong("files come with a later version of Farcall"));
        }
        if self.parameter.mode.is_input() {
            self.call.arguments[self.index] = match argument {
                Argument::Text(text) if text.contains(&0) => return Err(self.wrong("a string with a NUL inside")),
                Argument::Text(text) => WireArgument::Inline(text.clone()),
                Argument::Texts(texts) => {
                    WireArgument::Texts(texts.iter().map(|text| text.clone().map(Into::into)).collect())
                }
                Argument::Null | Argument::Unset => WireArgument::Null,
                _ => return Err(self.wrong("the interface wants a string here")),
            };
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }

    fn array(&mut self, array: &ArrayLayout, argument: &Argument<'_>, bytes: Option<&[u8]>) -> Result<()> {
        let source = match argument {
            Argument::Array(view) => Some(&view.place),
            _ => None,
        };
        let mode = self.parameter.mode;
        let destination = match (mode, self.destination) {
            (Mode::In, _) | (Mode::InOut, Destination::New) => None,
            (Mode::InOut, Destination::Into(view)) => Some(&view.place),
            (_, _) => source,
        };
        if let Some(place) = destination {
            self.check_destination(array, place)?;
        }
        let destination = destination.cloned();
        if mode.is_input() && matches!(argument, Argument::Null) {
            self.call.arguments[self.index] = WireArgument::Null;
            return Ok(());
        }
        let short = array.transfer_bytes <= INLINE_MAX;
        if let Some(bytes) = bytes.filter(|_| mode.is_input()) {
            // One number for an array of one, characters for a char array, or an array that sizes refer to.
            self.inline(array, bytes)?;
            self.want(WireArgument::Blocks(None));
            return self.receive_separately(array, destination);
        }
        match source.filter(|_| mode.is_input()) {
            Some(place) if self.memory.shares() && !short => self.share(array, Some(place), destination),
            Some(place) => self.send(array, place, short).and_then(|()| self.receive_separately(array, destination)),
            None if mode.is_input() => Err(self.wrong("an array is missing")),
            None if self.memory.shares() && !short => self.share(array, None, destination),
            None => self.receive_separately(array, destination),
        }
    }

    fn check_destination(&self, array: &ArrayLayout, place: &Place) -> Result<()> {
        place.check_element(&self.parameter.name, self.parameter.element)?;
        place.check_writable(&self.parameter.name)?;
        let Some((shape, _)) = &place.shape else { return Ok(()) };
        let mut wanted: Vec<u64> = array.dimensions.iter().map(|dimension| dimension.count).collect();
        while wanted.len() > shape.len() && wanted.last() == Some(&1) {
            wanted.pop();
        }
        if wanted == *shape {
            return Ok(());
        }
        Err(self
            .wrong("the array for the result has the wrong shape")
            .with("given", format!("{shape:?}"))
            .with("needed", format!("{wanted:?}")))
    }

    fn inline(&mut self, array: &ArrayLayout, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 != array.transfer_bytes {
            return Err(self
                .wrong("an array of the wrong length")
                .with("bytes", bytes.len())
                .with("needed", array.transfer_bytes));
        }
        self.call.arguments[self.index] = WireArgument::Inline(bytes.to_vec());
        Ok(())
    }

    /// The caller's elements in transfer order.
    fn source(&self, array: &ArrayLayout, place: &Place) -> Strided {
        match &place.shape {
            None => Strided::of_layout(array),
            Some((shape, strides)) => {
                let mut axes: Vec<Axis> =
                    shape.iter().zip(strides).map(|(count, stride)| Axis { count: *count, stride: *stride }).collect();
                axes.resize(array.dimensions.len(), Axis { count: 1, stride: 0 });
                if array.order == Order::Row {
                    axes.reverse();
                }
                Strided { offset: 0, element_bytes: array.element_bytes, axes }
            }
        }
    }

    fn send(&mut self, array: &ArrayLayout, place: &Place, short: bool) -> Result<()> {
        let (region, inside) = borrowed(place, &self.source(array, place));
        let mut packing = Packing::new(region.clone(), 0, &inside)?;
        let length = packing.left();
        if length != array.transfer_bytes {
            return Err(self
                .wrong("an array of the wrong length")
                .with("bytes", length)
                .with("needed", array.transfer_bytes));
        }
        if short {
            let mut bytes = Vec::with_capacity(length as usize);
            for block in packing.blocks(length as usize)? {
                bytes.extend_from_slice(block.bytes());
            }
            self.call.arguments[self.index] = WireArgument::Inline(bytes);
        } else {
            self.call.arguments[self.index] = WireArgument::Blocks(Some(length));
            self.call.sending[self.index] = Some(packing);
            self.call.lent.push(Arc::downgrade(&region));
        }
        Ok(())
    }

    /// The argument lies in memory that the server shares; the result comes there too.
    fn share(&mut self, array: &ArrayLayout, source: Option<&Place>, destination: Option<Place>) -> Result<()> {
        let region = self.memory.allocate(array.full_bytes as usize)?;
        let target = Strided::of_layout(array);
        if let Some(place) = source {
            let from = self.source(array, place);
            if from.bytes() != array.transfer_bytes {
                return Err(self.wrong("an array of the wrong length"));
            }
            copy_place(place, &from, &region, &target, Direction::In)?;
        }
        let place = WireArgument::Shared(self.memory.segment(&region)?, 0, array.full_bytes);
        if source.is_some() {
            self.call.arguments[self.index] = place.clone();
        }
        self.want(place);
        self.call.sides[self.index] = Some(Side { region, written: destination });
        Ok(())
    }

    /// The result comes as bytes: into the caller's array, or into memory of its own.
    fn receive_separately(&mut self, array: &ArrayLayout, destination: Option<Place>) -> Result<()> {
        if !self.parameter.mode.is_output() {
            return Ok(());
        }
        self.want(WireArgument::Blocks(None));
        let side = match destination {
            Some(place) => {
                let (region, _) = borrowed(&place, &self.source(array, &place));
                Side { region, written: Some(place) }
            }
            None => {
                let region = self.memory.allocate(array.transfer_bytes as usize)?;
                Side { region, written: None }
            }
        };
        self.call.sides[self.index] = Some(side);
        Ok(())
    }
}
