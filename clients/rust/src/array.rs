//! Arrays of the caller: where they lie, of what type, in which strides. Nothing is copied to describe one.

use std::marker::PhantomData;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::ElementType;

/// A type whose values travel.
pub trait Element: Copy + Default + 'static {
    /// Its name in the interface language.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($type:ty => $element:ident),* $(,)?) => { $(
        impl Element for $type {
            const TYPE: ElementType = ElementType::$element;
        }
    )* };
}

elements! {
    i8 => Int8, u8 => UInt8, i16 => Int16, u16 => UInt16, i32 => Int32, u32 => UInt32, i64 => Int64, u64 => UInt64,
    f32 => Float32, f64 => Float64, [f32; 2] => Complex64, [f64; 2] => Complex128,
}

/// An array in memory, by address: what every language's array becomes.
#[derive(Clone, Debug)]
pub struct View {
    /// Address of the element with all indexes 0.
    pub base: *mut u8,
    /// Type of the elements.
    pub element: ElementType,
    /// Extents in logical order, and the bytes between neighbours along each; `None`: as the interface lays it out,
    /// leading dimensions included (what C and Fortran programs pass).
    pub shape: Option<(Vec<u64>, Vec<i64>)>,
}

// SAFETY: a view only names memory; whoever passes it promises that the memory stays valid and unchanged for the call.
unsafe impl Send for View {}

/// An array that a call reads.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    pub(crate) view: View,
    life: PhantomData<&'a [u8]>,
}

/// An array that a call writes, or reads and writes.
#[derive(Debug)]
pub struct ArrayMut<'a> {
    pub(crate) view: View,
    life: PhantomData<&'a mut [u8]>,
}

fn strides(shape: &[u64], bytes: u64, columns: bool) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = bytes as i64;
    let mut fill = |index: usize| {
        strides[index] = step;
        step *= shape[index].max(1) as i64;
    };
    if columns {
        (0..shape.len()).for_each(&mut fill)
    } else {
        (0..shape.len()).rev().for_each(&mut fill)
    }
    strides
}

fn view<T: Element>(base: *mut u8, length: usize, shape: &[u64], columns: bool) -> View {
    let elements: u64 = shape.iter().product();
    assert!(elements <= length as u64, "a shape {shape:?} needs {elements} elements, the slice has {length}");
    let strides = strides(shape, std::mem::size_of::<T>() as u64, columns);
    View { base, element: T::TYPE, shape: Some((shape.to_vec(), strides)) }
}

impl<'a> Array<'a> {
    /// One dimension.
    pub fn vector<T: Element>(elements: &'a [T]) -> Array<'a> {
        Self::rows(elements, &[elements.len() as u64])
    }

    /// Any shape, last index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn rows<T: Element>(elements: &'a [T], shape: &[u64]) -> Array<'a> {
        let base = elements.as_ptr().cast_mut().cast();
        Array { view: view::<T>(base, elements.len(), shape, false), life: PhantomData }
    }

    /// Any shape, first index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn columns<T: Element>(elements: &'a [T], shape: &[u64]) -> Array<'a> {
        let base = elements.as_ptr().cast_mut().cast();
        Array { view: view::<T>(base, elements.len(), shape, true), life: PhantomData }
    }
}

impl<'a> ArrayMut<'a> {
    /// One dimension.
    pub fn vector<T: Element>(elements: &'a mut [T]) -> ArrayMut<'a> {
        let length = elements.len();
        ArrayMut { view: view::<T>(elements.as_mut_ptr().cast(), length, &[length as u64], false), life: PhantomData }
    }

    /// Any shape, last index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn rows<T: Element>(elements: &'a mut [T], shape: &[u64]) -> ArrayMut<'a> {
        let length = elements.len();
        ArrayMut { view: view::<T>(elements.as_mut_ptr().cast(), length, shape, false), life: PhantomData }
    }

    /// Any shape, first index fastest.
    ///
    /// # Panics
    /// When the slice is too short for the shape.
    pub fn columns<T: Element>(elements: &'a mut [T], shape: &[u64]) -> ArrayMut<'a> {
        let length = elements.len();
        ArrayMut { view: view::<T>(elements.as_mut_ptr().cast(), length, shape, true), life: PhantomData }
    }
}

/// Fails unless an array's elements are what the interface wants; a `char` may be any byte.
pub(crate) fn check_element(name: &str, given: ElementType, wanted: ElementType) -> Result<()> {
    let byte = |element| matches!(element, ElementType::Char | ElementType::Int8 | ElementType::UInt8);
    if given == wanted || (byte(given) && wanted == ElementType::Char) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "call",
        format!("{name} is an array of {}, the interface wants {}", given.name(), wanted.name()),
    )
    .fix("convert it before the call"))
}
