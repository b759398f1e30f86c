//! The caller's arrays as memory: to send from, to receive into, to copy from and to.

use std::ops::Range;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{Mode, Order, Parameter};
use farcall_idl::layout::ArrayLayout;
use farcall_link::memory::{BorrowedRegion, Region};
use farcall_link::packing::{ArrayPlace, Packing, copy_array};
use farcall_link::strided::{Axes, Axis, Strided};

use crate::array::Place;

/// The caller's memory as a region, and where in it the elements lie.
pub fn borrowed(place: &Place, array: &Strided) -> (Arc<dyn Region>, Strided) {
    let (low, high) = array.extent().unwrap_or((0, -1));
    // SAFETY: the caller says that its array lies there and lends it for the call.
    let region =
        unsafe { BorrowedRegion::new(place.base.offset(low as isize), (high - low + 1) as usize) };
    // A call that is given up is gone before what is queued of it: that needs the memory still.
    let region = region.kept_by(place.keeper.clone());
    (Arc::new(region), Strided { offset: array.offset - low, ..array.clone() })
}

pub fn packing_of(place: &Place, array: &Strided) -> Result<Packing> {
    let (region, inside) = borrowed(place, array);
    Packing::new(region, 0, &inside)
}

/// The elements that travel, packed in transfer order.
pub fn packed(array: &ArrayLayout) -> Strided {
    let mut packed = in_transfer_order(&counts_of(array), &[], array);
    let mut step = array.element_bytes as i64;
    for axis in &mut packed.axes {
        axis.stride = step;
        step *= axis.count.max(1) as i64;
    }
    packed
}

fn counts_of(array: &ArrayLayout) -> Vec<u64> {
    array.dimensions.iter().map(|dimension| dimension.count).collect()
}

pub enum Direction {
    In,
    Out,
}

pub fn copy_place(
    place: &Place,
    at: &Strided,
    region: &Arc<dyn Region>,
    inside: &Strided,
    direction: Direction,
) -> Result<()> {
    if at.bytes() == 0 {
        return Ok(());
    }
    let (own, within) = borrowed(place, at);
    let own = ArrayPlace { region: &own, base: 0, array: &within };
    let shared = ArrayPlace { region, base: 0, array: inside };
    match direction {
        Direction::In => copy_array(&shared, &own, fast_copy),
        Direction::Out => copy_array(&own, &shared, fast_copy),
    }
}

/// Whether a result that lies in `region` as the interface lays it out is the caller's array
/// itself.
pub fn lies_in(region: &Arc<dyn Region>, place: &Place, array: &ArrayLayout) -> Result<bool> {
    let own = elements_of(place, array)?;
    let inside = Strided::of_layout(array);
    Ok(address(place, &own) == region.base().addr().wrapping_add_signed(inside.offset as isize))
}

/// A result that is to be copied from memory that both ends share into the caller's array.
pub struct ResultCopy {
    /// Where it lies, as the interface lays it out.
    pub region: Arc<dyn Region>,
    pub place: Place,
    pub array: ArrayLayout,
}

impl ResultCopy {
    /// Copies, and gives the memory back.
    pub fn make(self) -> Result<()> {
        let own = elements_of(&self.place, &self.array)?;
        let inside = Strided::of_layout(&self.array);
        copy_place(&self.place, &own, &self.region, &inside, Direction::Out)
    }
}

/// Address of the first of an array's elements.
fn address(place: &Place, array: &Strided) -> usize {
    place.base.addr().wrapping_add_signed(array.offset as isize)
}

/// The addresses that the caller's array reaches.
pub fn spans(place: &Place, array: &ArrayLayout) -> Range<usize> {
    let (low, high) = given_elements(place, array).extent().unwrap_or((0, -1));
    let base = place.base.addr();
    base.wrapping_add_signed(low as isize)..base.wrapping_add_signed(high as isize + 1)
}

/// The addresses of all that the interface lays out, if the caller's array lies like that.
pub fn laid_out(place: &Place, array: &ArrayLayout) -> Option<Range<usize>> {
    let own = given_elements(place, array);
    let wanted = Strided::of_layout(array);
    let alike = |(one, other): (&Axis, &Axis)| {
        one.count == other.count && (one.count < 2 || one.stride == other.stride)
    };
    if own.axes.len() != wanted.axes.len() || !own.axes.iter().zip(&wanted.axes).all(alike) {
        return None;
    }
    let begin = address(place, &own).checked_add_signed(-(wanted.offset as isize))?;
    Some(begin..begin.checked_add(usize::try_from(array.full_bytes).ok()?)?)
}

/// The bytes of the caller's array, where all of it travels as the interface lays it out.
pub fn whole<'a>(place: &'a Place, array: &ArrayLayout) -> Option<&'a [u8]> {
    if place.shape.is_some() || array.transfer_bytes != array.full_bytes {
        return None;
    }
    if array.transfer_bytes == 0 {
        // There may be no memory at all.
        return Some(&[]);
    }
    let bytes = array.transfer_bytes as usize;
    // SAFETY: the caller lends its whole array for the call, which has as many bytes.
    Some(unsafe { std::slice::from_raw_parts(place.base, bytes) })
}

/// Writes a result that came inline into the caller's array.
#[inline]
pub fn write_result(bytes: &[u8], place: &Place, array: &ArrayLayout) -> Result<()> {
    let whole = place.shape.is_none() && array.transfer_bytes == array.full_bytes;
    if whole && bytes.len() as u64 == array.transfer_bytes {
        // SAFETY: the caller lends its whole array for the result, which has as many bytes.
        unsafe { place.base.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        return Ok(());
    }
    let mut packing = packing_of(place, &elements_of(place, array)?)?;
    if bytes.len() as u64 != packing.left() {
        return Err(Error::new(
            ErrorKind::Protocol,
            "receive a result",
            "the server sent a result with the wrong length",
        )
        .with("bytes", bytes.len())
        .with("needed", packing.left()));
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

/// Receives a result into the caller's array.
pub fn receive_result(place: &Place, array: &ArrayLayout) -> Result<Packing> {
    packing_of(place, &elements_of(place, array)?)
}

/// The elements of the caller's array that `array` says travel, in transfer order. A caller that
/// gave a shape gets the elements at the start of each dimension, which must have room for them:
/// how many there are may be the routine's word.
fn elements_of(place: &Place, array: &ArrayLayout) -> Result<Strided> {
    let Some((room, strides)) = &place.shape else { return Ok(Strided::of_layout(array)) };
    let counts = counts_of(array);
    if counts
        .iter()
        .enumerate()
        .any(|(index, count)| *count > room.get(index).copied().unwrap_or(1))
    {
        let message = "the result is larger than the array for it";
        return Err(Error::new(ErrorKind::RoutineFailed, "receive a result", message)
            .with("result", format!("{counts:?}"))
            .with("room", format!("{room:?}"))
            .fix("do not pass an array for it: the call creates one"));
    }
    Ok(in_transfer_order(&counts, strides, array))
}

/// All elements of the caller's array, in transfer order.
pub fn given_elements(place: &Place, array: &ArrayLayout) -> Strided {
    match &place.shape {
        None => Strided::of_layout(array),
        Some((counts, strides)) => in_transfer_order(counts, strides, array),
    }
}

fn in_transfer_order(counts: &[u64], strides: &[i64], array: &ArrayLayout) -> Strided {
    let axes = transfer_axes(counts, strides, array.dimensions.len(), array.order);
    Strided { offset: 0, element_bytes: array.element_bytes, axes }
}

/// Axes in transfer order, fastest first, of what the caller describes in logical order. What a
/// lower rank leaves out counts 1.
pub fn transfer_axes(counts: &[u64], strides: &[i64], rank: usize, order: Order) -> Axes {
    let count = |index| counts.get(index).copied().unwrap_or(1);
    let stride = |index| strides.get(index).copied().unwrap_or(0);
    let mut axes: Axes =
        (0..rank).map(|index| Axis { count: count(index), stride: stride(index) }).collect();
    if order == Order::Row {
        axes.reverse();
    }
    axes
}

/// The URL that stands in an array's place.
pub fn url_at(parameter: &Parameter, array: &ArrayLayout, place: &Place) -> Result<Option<String>> {
    let is_there =
        array.full_bytes > 0 && array.dimensions.iter().all(|dimension| dimension.start == 0);
    let Some(url) = is_there.then(|| place.url(array.full_bytes)).flatten() else {
        return Ok(None);
    };
    if parameter.mode == Mode::In {
        return Ok(Some(url));
    }
    Err(Error::new(ErrorKind::InvalidArgument, "call", "results cannot go to a URL")
        .with("parameter", &parameter.name)
        .with("given", url)
        .fix("pass an array"))
}

/// All bytes that are left of a packing.
pub fn gather(packing: &mut Packing) -> Result<Vec<u8>> {
    let length = packing.left() as usize;
    let mut bytes = Vec::with_capacity(length);
    for block in packing.blocks(length)? {
        bytes.extend_from_slice(block.bytes());
    }
    Ok(bytes)
}

fn fast_copy(destination: &mut [u8], source: &[u8]) {
    debug_assert_eq!(destination.len(), source.len(), "copies have one length");
    // SAFETY: two slices of one length, one of them exclusive.
    unsafe {
        farcall_transport_unix::copy::copy_bytes(
            destination.as_mut_ptr(),
            source.as_ptr(),
            source.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use farcall_idl::interface::ElementType;

    use super::*;
    use crate::array::Access;

    #[test]
    fn an_array_without_elements_needs_no_memory() {
        let place = Place {
            base: std::ptr::null_mut(),
            element: ElementType::Float64,
            shape: None,
            access: Access::Read,
            may_be_url: false,
            keeper: None,
        };
        let array = ArrayLayout {
            dimensions: Vec::new(),
            order: Order::Row,
            element_bytes: 8,
            full_bytes: 0,
            transfer_bytes: 0,
            is_given: true,
        };
        assert_eq!(whole(&place, &array), Some(&[][..]));
    }
}
