//! Arrays of the caller: where they lie, of what type, in which strides, for how long. Nothing is
//! copied to describe one.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Order};
use farcall_idl::layout::packed_strides;
use farcall_idl::scope::Scope;
use farcall_link::memory::Region;

mod url;

mod sealed {
    /// Keeps [`super::Element`] ours: memory is read and written by what an implementation says.
    pub trait Sealed {}
}

/// A type whose values travel.
pub trait Element: Copy + Default + Send + Sync + 'static + sealed::Sealed {
    /// Its name in the interface language.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($type:ty => $element:ident),* $(,)?) => { $(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const TYPE: ElementType = ElementType::$element;
        }
    )* };
}

elements! {
    i8 => Int8, u8 => UInt8, i16 => Int16, u16 => UInt16,
    i32 => Int32, u32 => UInt32, i64 => Int64, u64 => UInt64,
    f32 => Float32, f64 => Float64, [f32; 2] => Complex64, [f64; 2] => Complex128,
}

/// Extents in logical order, and the bytes between neighbours along each.
pub type Shape = (Vec<u64>, Vec<i64>);

/// What a call may do with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it: it is borrowed as a slice that others read too.
    Read,
    /// Read and write it.
    Write,
}

/// Where an array lies, and nothing of how long: what is left of a [`View`] inside a call.
#[derive(Clone, Debug)]
pub struct Place {
    /// Address of the element with all indexes 0.
    pub base: *mut u8,
    pub element: ElementType,
    /// `None`: as the interface lays it out.
    pub shape: Option<Shape>,
    pub access: Access,
    /// Whether the text of a URL may lie there instead, from which the server is to fetch it.
    pub may_be_url: bool,
    /// Keeps the elements, if they belong to nobody else.
    pub keeper: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: a place only names memory; whoever made it promised that the memory may be used from any
// thread.
unsafe impl Send for Place {}

/// An array in memory, borrowed for `'a`: what every language's array becomes.
#[derive(Debug)]
pub struct View<'a> {
    pub(crate) place: Place,
    life: PhantomData<&'a mut [u8]>,
}

impl View<'_> {
    /// The array whose element with all indexes 0 lies at `base`. `shape` has the extents in
    /// logical order and the bytes between neighbours along each; `None` stands for the layout that
    /// the interface and the other arguments give, leading dimensions included: what C and Fortran
    /// programs pass.
    ///
    /// # Safety
    /// Throughout `'a`, whichever thread uses it:
    /// - all elements that `shape` reaches, or else all bytes of the array that the interface
    ///   declares, are valid and initialized memory, of elements of the type `element` (a struct as
    ///   the interface lays it out);
    /// - nobody else writes to them;
    /// - if the array is for a result (of an OUT parameter, or as a
    ///   [`Destination`](crate::Destination)), they may be written to, and nobody else reads them
    ///   either.
    pub unsafe fn new(base: *mut u8, element: ElementType, shape: Option<Shape>) -> Self {
        let place =
            Place { base, element, shape, access: Access::Write, may_be_url: false, keeper: None };
        View { place, life: PhantomData }
    }

    /// Where the first bytes are `file:/`, or the scheme of a URL and `://`, a URL from which the server is
    /// to fetch the array: what C programs pass in an array's place. Looked at only where the array
    /// has elements, and its parameter is IN.
    ///
    /// # Safety
    /// What begins so ends with a NUL.
    pub unsafe fn or_url(&mut self) {
        self.place.may_be_url = true;
    }
}

impl View<'static> {
    /// Elements that a region keeps from this byte on, for a call to read.
    pub(crate) fn kept(
        region: Arc<dyn Region>,
        offset: usize,
        element: ElementType,
        shape: Shape,
    ) -> Self {
        let base = region.base().wrapping_add(offset);
        let shape = Some(shape);
        let place = Place {
            base,
            element,
            shape,
            access: Access::Read,
            may_be_url: false,
            keeper: Some(Arc::new(region)),
        };
        View { place, life: PhantomData }
    }
}

/// An array that a call reads.
#[derive(Debug)]
pub struct Array<'a>(pub(crate) View<'a>);

/// An array that a call writes, or reads and writes.
#[derive(Debug)]
pub struct ArrayMut<'a>(pub(crate) View<'a>);

/// Elements that lie one behind the other.
struct Elements {
    base: *mut u8,
    count: usize,
    element: ElementType,
    element_bytes: usize,
    access: Access,
}

impl Elements {
    fn read<T: Element>(elements: &[T]) -> Elements {
        Elements {
            base: elements.as_ptr().cast_mut().cast(),
            count: elements.len(),
            element: T::TYPE,
            element_bytes: size_of::<T>(),
            access: Access::Read,
        }
    }

    fn write<T: Element>(elements: &mut [T]) -> Elements {
        let read = Elements::read(elements);
        Elements { base: elements.as_mut_ptr().cast(), access: Access::Write, ..read }
    }

    /// The view of those that lie at `first` and `strides` from there; whoever asks knows that they
    /// stay for `'a`.
    fn view<'a>(self, first: usize, shape: &[u64], strides: &[i64]) -> View<'a> {
        assert_eq!(shape.len(), strides.len(), "a shape {shape:?} needs one stride per dimension");
        assert!(
            lies_within(self.count, first, shape, strides),
            "a shape {shape:?} with strides {strides:?} from element {first} needs more than the \
            {} elements of the array",
            self.count
        );
        // Bytes between neighbours: where there are any, they lie within the slice, and so does
        // their distance.
        let strides =
            strides.iter().map(|stride| stride.saturating_mul(self.element_bytes as i64)).collect();
        let place = Place {
            base: self.base.wrapping_add(first.saturating_mul(self.element_bytes)),
            element: self.element,
            shape: Some((shape.to_vec(), strides)),
            access: self.access,
            may_be_url: false,
            keeper: None,
        };
        View { place, life: PhantomData }
    }

    fn packed<'a>(self, shape: &[u64], order: Order) -> View<'a> {
        // What is beyond 63 bits is beyond any slice, too.
        let strides =
            packed_strides(shape, 1, order).unwrap_or_else(|| vec![i64::MAX; shape.len()]);
        self.view(0, shape, &strides)
    }

    fn vector<'a>(self) -> View<'a> {
        let count = self.count as u64;
        self.view(0, &[count], &[1])
    }
}

/// Whether every index of `shape` leads to one of `count` elements.
fn lies_within(count: usize, first: usize, shape: &[u64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut low = first as i128;
    let mut high = first as i128;
    for (extent, stride) in shape.iter().zip(strides) {
        // 64 bits times 63: within 127. Sums of several may saturate, far outside of any slice.
        let span = i128::from(*extent - 1) * i128::from(*stride);
        let end = if span < 0 { &mut low } else { &mut high };
        *end = end.saturating_add(span);
    }
    low >= 0 && high < count as i128
}

impl<'a> Array<'a> {
    /// One dimension.
    pub fn vector<T: Element>(elements: &'a [T]) -> Array<'a> {
        Array(Elements::read(elements).vector())
    }

    /// Any shape, last index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn rows<T: Element>(elements: &'a [T], shape: &[u64]) -> Array<'a> {
        Array(Elements::read(elements).packed(shape, Order::Row))
    }

    /// Any shape, first index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn columns<T: Element>(elements: &'a [T], shape: &[u64]) -> Array<'a> {
        Array(Elements::read(elements).packed(shape, Order::Column))
    }

    /// Elements with gaps, transposed or backwards: `first` is the one whose indexes are all 0, and
    /// `strides` are the elements from one neighbour to the next along each dimension.
    ///
    /// # Panics
    /// When the shape reaches beyond the slice.
    pub fn strided<T: Element>(
        elements: &'a [T],
        first: usize,
        shape: &[u64],
        strides: &[i64],
    ) -> Array<'a> {
        Array(Elements::read(elements).view(first, shape, strides))
    }

    /// Elements of a type that is only known at run time, as bytes of this machine.
    ///
    /// # Panics
    /// When the bytes are too few for the shape, and for types that are neither numbers nor
    /// characters.
    pub fn of_bytes(
        bytes: &'a [u8],
        element: ElementType,
        shape: &[u64],
        order: Order,
    ) -> Array<'a> {
        assert!(
            !matches!(
                element,
                ElementType::Struct(_) | ElementType::String | ElementType::Filename
            ),
            "elements of type {} have no size",
            element.name()
        );
        let element_bytes = Scope { parameters: &[], structs: &[] }.element_bytes(element) as usize;
        let whole = Elements {
            count: bytes.len() / element_bytes,
            element,
            element_bytes,
            ..Elements::read(bytes)
        };
        Array(whole.packed(shape, order))
    }
}

impl Array<'static> {
    /// Elements that the call keeps alive: for calls that run while the program goes on.
    ///
    /// # Panics
    /// When the elements are too few for the shape.
    pub fn shared<T: Element>(
        elements: Arc<Vec<T>>,
        shape: &[u64],
        order: Order,
    ) -> Array<'static> {
        let mut view = Elements::read(&elements).packed(shape, order);
        view.place.keeper = Some(elements);
        Array(view)
    }

    /// The same of a type that is only known at run time, as [`Array::of_bytes`].
    pub(crate) fn of_shared_bytes(
        bytes: Arc<Vec<u8>>,
        element: ElementType,
        shape: &[u64],
        order: Order,
    ) -> Array<'static> {
        let Array(View { mut place, .. }) = Array::of_bytes(&bytes, element, shape, order);
        place.keeper = Some(bytes.clone());
        Array(View { place, life: PhantomData })
    }
}

impl<'a> ArrayMut<'a> {
    /// One dimension.
    pub fn vector<T: Element>(elements: &'a mut [T]) -> ArrayMut<'a> {
        ArrayMut(Elements::write(elements).vector())
    }

    /// Any shape, last index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn rows<T: Element>(elements: &'a mut [T], shape: &[u64]) -> ArrayMut<'a> {
        ArrayMut(Elements::write(elements).packed(shape, Order::Row))
    }

    /// Any shape, first index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn columns<T: Element>(elements: &'a mut [T], shape: &[u64]) -> ArrayMut<'a> {
        ArrayMut(Elements::write(elements).packed(shape, Order::Column))
    }

    /// Elements with gaps, transposed or backwards, as for [`Array::strided`].
    ///
    /// # Panics
    /// When the shape reaches beyond the slice.
    pub fn strided<T: Element>(
        elements: &'a mut [T],
        first: usize,
        shape: &[u64],
        strides: &[i64],
    ) -> ArrayMut<'a> {
        ArrayMut(Elements::write(elements).view(first, shape, strides))
    }
}

impl Place {
    /// Fails unless the array's elements are what the interface wants; a `char` may be any byte.
    pub fn check_element(&self, name: &str, wanted: ElementType) -> Result<()> {
        if self.is_of(wanted) {
            return Ok(());
        }
        let given = self.element;
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "call",
            format!(
                "{name} is an array of {}, the interface wants {}",
                given.name(),
                wanted.name()
            ),
        )
        .fix("convert it before the call"))
    }

    /// Whether its elements may stand for those of this type.
    pub fn is_of(&self, wanted: ElementType) -> bool {
        let byte =
            |element| matches!(element, ElementType::Char | ElementType::Int8 | ElementType::UInt8);
        self.element == wanted || (byte(self.element) && wanted == ElementType::Char)
    }

    /// Whether a result may be written there.
    pub fn is_writable(&self) -> bool {
        self.access == Access::Write
    }

    /// Fails unless a result may be written there.
    pub fn check_writable(&self, name: &str) -> Result<()> {
        if self.is_writable() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "call",
            format!("the array for the result {name} is read-only"),
        )
        .fix("pass an ArrayMut"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_reach_beyond_their_elements_are_refused() {
        let numbers = [0.0_f64; 12];
        let refused = |first: usize, shape: &[u64], strides: &[i64]| {
            let made = || drop(Array::strided(&numbers, first, shape, strides));
            assert!(std::panic::catch_unwind(made).is_err(), "{first} {shape:?} {strides:?}");
        };
        refused(0, &[13], &[1]);
        refused(1, &[12], &[1]);
        refused(0, &[2], &[-1]);
        refused(11, &[3, 4], &[-4, 1]);
        refused(0, &[2, 2], &[8, 4]);
        // Products and sums that overflow 64 or 128 bits must not come out small.
        refused(0, &[1 << 32, 1 << 32], &[1 << 32, 1]);
        refused(0, &[u64::MAX; 4], &[i64::MAX; 4]);
        refused(0, &[u64::MAX; 4], &[i64::MIN; 4]);
        refused(0, &[1, 1], &[1]);
        let packed = |shape: &'static [u64]| {
            std::panic::catch_unwind(|| drop(Array::rows(&[0.0_f64; 12], shape)))
        };
        assert!(
            packed(&[1 << 32, 1 << 32]).is_err()
                && packed(&[3, 5]).is_err()
                && packed(&[3, 4]).is_ok()
        );
    }

    #[test]
    fn what_lies_within_is_described_in_bytes() {
        let mut numbers = [0.0_f32; 12];
        let shape = |view: &View<'_>| view.place.shape.clone();
        assert_eq!(shape(&Array::rows(&numbers, &[3, 4]).0), Some((vec![3, 4], vec![16, 4])));
        assert_eq!(shape(&Array::columns(&numbers, &[3, 4]).0), Some((vec![3, 4], vec![4, 12])));
        assert_eq!(
            shape(&Array::strided(&numbers, 11, &[4, 3], &[-1, -4]).0),
            Some((vec![4, 3], vec![-4, -16]))
        );
        // No elements: whatever the extents, nothing is reached.
        assert!(shape(&Array::rows(&numbers, &[0, u64::MAX, 9]).0).is_some());
        let last = ArrayMut::strided(&mut numbers, 11, &[1], &[0]);
        assert_eq!(last.0.place.base.addr() % 4, 0);
    }
}
