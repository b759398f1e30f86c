//! What a caller passes: values, arrays, and where results go.

pub mod short;

use std::sync::Arc;

use crate::array::{Array, ArrayMut, View};
use crate::callback::Callback;
use crate::data::Data;

/// What a caller passes for one parameter. Arrays are borrowed for `'a`, so that this is right:
///
/// ```
/// use farcall_client::{Argument, Array};
///
/// let a = vec![4.0, 1.0];
/// let argument: Argument = Array::vector(&a).into();
/// drop(argument);
/// drop(a);
/// ```
///
/// and this does not compile, since the array is gone while the argument still names it:
///
/// ```compile_fail,E0505
/// use farcall_client::{Argument, Array};
///
/// let a = vec![4.0, 1.0];
/// let argument: Argument = Array::vector(&a).into();
/// drop(a);
/// drop(argument);
/// ```
#[derive(Debug, Default)]
pub enum Argument<'a> {
    /// Nothing: inferred, defaulted, or a result that the call allocates.
    #[default]
    Unset,
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A complex number.
    Complex(f64, f64),
    /// One value of the parameter's type, as raw bytes of this machine.
    Raw(Vec<u8>),
    /// A string.
    Text(Vec<u8>),
    /// An array of strings; `None` is NULL.
    Texts(Vec<Option<Vec<u8>>>),
    /// NULL.
    Null,
    /// An array that the server fetches from this URL, if its manifest allows the source
    /// (spec/wire.md, section 5.6). What sizes it must be given by other arguments.
    Url(String),
    /// A function, for a callback: it runs in the thread that waits for the call.
    Callback(Arc<dyn Callback>),
    /// An array. For OUT parameters: where the result goes.
    Array(View<'a>),
    /// A value that stays at the server.
    Data(Data),
}

impl Argument<'_> {
    /// How many dimensions an array has, where it says so itself.
    pub(crate) fn rank(&self) -> Option<i64> {
        let rank = match self {
            Argument::Array(view) => view.place.shape.as_ref()?.0.len(),
            Argument::Data(data) => data.kind().rank,
            _ => return None,
        };
        i64::try_from(rank).ok()
    }
}

/// Where the result of an INOUT parameter goes.
#[derive(Debug, Default)]
pub enum Destination<'a> {
    /// Into memory of its own.
    #[default]
    New,
    /// Over the argument.
    InPlace,
    /// Into another array.
    Into(View<'a>),
}

/// The arguments of a call: one per parameter, and destinations for as many as there are any for.
/// Their memory is known to stay for as long as the call may use it.
pub struct Passed {
    pub arguments: Vec<Argument<'static>>,
    pub destinations: Vec<Destination<'static>>,
    /// What its caller calls the call.
    pub label: Option<Arc<str>>,
}

/// What a caller passes as NULL: the number of the parameter, and of an array of texts that of the
/// text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Null {
    pub parameter: usize,
    pub element: Option<usize>,
}

impl Passed {
    /// Whether an argument is data.
    pub fn has_data(&self) -> bool {
        self.arguments.iter().any(|argument| matches!(argument, Argument::Data(_)))
    }

    /// All that is NULL.
    pub fn nulls(&self) -> Vec<Null> {
        // Most calls pass neither, and are short.
        let may_be = |one: &Argument<'_>| matches!(one, Argument::Null | Argument::Texts(_));
        if !self.arguments.iter().any(may_be) {
            return Vec::new();
        }
        let each = self.arguments.iter().enumerate();
        each.flat_map(|(parameter, argument)| {
            let texts: &[Option<Vec<u8>>] = match argument {
                Argument::Texts(texts) => texts,
                _ => &[],
            };
            let elements = texts.iter().enumerate().filter(|(_, text)| text.is_none());
            let whole = matches!(argument, Argument::Null).then_some(None);
            whole
                .into_iter()
                .chain(elements.map(|(element, _)| Some(element)))
                .map(move |element| Null { parameter, element })
        })
        .collect()
    }

    /// Arguments that live for ever, or keep what they name.
    pub fn owned(arguments: Vec<Argument<'static>>) -> Passed {
        Passed { arguments, destinations: Vec::new(), label: None }
    }

    /// Arguments that are borrowed.
    ///
    /// # Safety
    /// No array is used by others, as [`View::new`] says, before every call that this was passed to
    /// is over for its caller: its outcome collected, or its [`PendingCall`](crate::PendingCall)
    /// dropped.
    pub unsafe fn borrowed(
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
    ) -> Passed {
        // SAFETY: lifetimes alone are changed, and the caller takes over what they were for.
        let arguments =
            unsafe { std::mem::transmute::<Vec<Argument<'_>>, Vec<Argument<'static>>>(arguments) };
        // SAFETY: as above.
        let destinations = unsafe {
            std::mem::transmute::<Vec<Destination<'_>>, Vec<Destination<'static>>>(destinations)
        };
        Passed { arguments, destinations, label: None }
    }
}

impl From<i64> for Argument<'_> {
    fn from(value: i64) -> Self {
        Argument::Integer(value)
    }
}

impl From<i32> for Argument<'_> {
    fn from(value: i32) -> Self {
        Argument::Integer(value.into())
    }
}

impl From<f64> for Argument<'_> {
    fn from(value: f64) -> Self {
        Argument::Real(value)
    }
}

impl From<char> for Argument<'_> {
    fn from(value: char) -> Self {
        Argument::Text(value.to_string().into_bytes())
    }
}

impl From<&str> for Argument<'_> {
    fn from(value: &str) -> Self {
        Argument::Text(value.as_bytes().to_vec())
    }
}

impl<'a> From<Array<'a>> for Argument<'a> {
    fn from(array: Array<'a>) -> Self {
        Argument::Array(array.0)
    }
}

impl<'a> From<ArrayMut<'a>> for Argument<'a> {
    fn from(array: ArrayMut<'a>) -> Self {
        Argument::Array(array.0)
    }
}

impl<'a> From<ArrayMut<'a>> for Destination<'a> {
    fn from(array: ArrayMut<'a>) -> Self {
        Destination::Into(array.0)
    }
}
