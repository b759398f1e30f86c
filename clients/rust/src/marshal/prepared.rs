//! Calls that are like one before: what was worked out for that one serves them, too.
//!
//! The layout of a call and the scalars that follow from its arrays depend on the kinds of its
//! arguments, the shapes of its arrays and the values that sizes refer to. Whoever calls again and
//! again changes none of these, most of the time. What is kept belongs to one contract, and goes
//! with it when the routine is published again; the server checks every call all the same.

use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{Bytes, CallId, Result};
use farcall_idl::interface::{ElementType, Shape};
use farcall_idl::layout::CallLayout;
use farcall_idl::scalar::ScalarValue;
use farcall_wire::message::InlineBytes;
use farcall_wire::{Argument as WireArgument, OpenExtras};
use smallvec::SmallVec;

use super::Ranks;
use super::complete::{complete, number_bytes};
use super::short::{Content, Short, short_outputs};
use crate::argument::{Argument, Passed};
use crate::contract::Contract;
use crate::results::Output;

/// Kinds of calls that are kept for one routine: a program has few, in turn.
const KEPT_MAX: usize = 4;
/// Longer texts are not compared.
const TEXT_BYTES_MAX: usize = 16;

/// Those of one routine, the latest first.
#[derive(Default)]
pub struct PreparedCalls(Mutex<SmallVec<[Arc<Prepared>; KEPT_MAX]>>);

/// What calls like one before have in common.
pub struct Prepared {
    kinds: Vec<Kind>,
    limit: Bytes,
    layout: Arc<CallLayout>,
    ranks: Ranks,
    /// Values that all of them have, by parameter.
    bytes: Vec<Option<InlineBytes>>,
    /// How they are written if all of their values lie in the message.
    short: Option<Short>,
}

/// The values of one call.
pub struct Values {
    pub layout: Arc<CallLayout>,
    pub ranks: Ranks,
    /// By parameter.
    pub bytes: SmallVec<[Option<InlineBytes>; 8]>,
}

/// What a call has in common with those that do as much work.
#[derive(Clone, PartialEq)]
pub struct LikeCalls(Box<[Kind]>);

impl LikeCalls {
    /// Those that are like a call with these arguments; `work` are parameters whose values count
    /// beside those that sizes depend on. `None` where each call is worked out by itself.
    pub fn new(
        contract: &Contract,
        arguments: &[Argument<'_>],
        work: &[usize],
    ) -> Option<LikeCalls> {
        let kinds = arguments.iter().enumerate().map(|(index, argument)| {
            let kind = Kind::of(contract, index, argument)?;
            match (kind, argument) {
                (Kind::Number, _) if !work.contains(&index) => Some(Kind::Number),
                (Kind::Number, Argument::Integer(value)) => Some(Kind::Integer(*value)),
                (Kind::Number, Argument::Real(value)) => Some(Kind::Real(value.to_bits())),
                (Kind::Number, _) => None,
                (kind, _) => Some(kind),
            }
        });
        kinds.collect::<Option<_>>().map(LikeCalls)
    }

    /// Whether a call with these arguments is one.
    #[inline]
    pub fn has(&self, arguments: &[Argument<'_>]) -> bool {
        self.0.len() == arguments.len()
            && self.0.iter().zip(arguments).all(|(kind, argument)| kind.is_of(argument))
    }
}

/// What a call has in common with those that are like it, of one argument.
#[derive(Clone, PartialEq)]
enum Kind {
    Unset,
    Null,
    Function,
    /// Any number: nothing depends on it.
    Number,
    /// Any text.
    Text,
    /// This one.
    Integer(i64),
    Real(u64),
    Complex(u64, u64),
    Characters(InlineBytes),
    /// Any array of this shape; `None` where the interface and the other arguments say it.
    Array(ElementType, Option<SmallVec<[u64; 4]>>),
}

impl Kind {
    /// `None` for what is worked out again each time.
    fn of(contract: &Contract, index: usize, argument: &Argument<'_>) -> Option<Kind> {
        let parameter = &contract.interface.parameters[index];
        let decides = contract.sizer.decides(index);
        match argument {
            Argument::Unset => Some(Kind::Unset),
            Argument::Null => Some(Kind::Null),
            Argument::Callback(_) => Some(Kind::Function),
            Argument::Array(view) if !contract.sizer.is_inline(index) => {
                let shape = view.place.shape.as_ref().map(|(counts, _)| counts.as_slice().into());
                Some(Kind::Array(view.place.element, shape))
            }
            // One number may stand for an array, and another thing for one.
            _ if parameter.shape != Shape::Scalar => None,
            Argument::Text(_) if parameter.element == ElementType::String && !decides => {
                Some(Kind::Text)
            }
            Argument::Text(text)
                if parameter.element == ElementType::Char && text.len() <= TEXT_BYTES_MAX =>
            {
                Some(Kind::Characters(text.as_slice().into()))
            }
            _ if !is_number(parameter.element) => None,
            Argument::Integer(_) | Argument::Real(_) | Argument::Complex(..) if !decides => {
                Some(Kind::Number)
            }
            Argument::Integer(value) => Some(Kind::Integer(*value)),
            Argument::Real(value) => Some(Kind::Real(value.to_bits())),
            Argument::Complex(re, im) => Some(Kind::Complex(re.to_bits(), im.to_bits())),
            _ => None,
        }
    }

    /// Whether the value is each call's own.
    fn varies(&self) -> bool {
        matches!(self, Kind::Number | Kind::Text)
    }

    /// What a short call has of it; `None` where it has none.
    fn content<'a>(&self, bytes: &'a Option<InlineBytes>) -> Option<Content<'a>> {
        match (self, bytes) {
            (Kind::Number, _) => Some(Content::Number),
            (Kind::Array(..), None) => Some(Content::Array),
            // A value that follows from the others stands for an argument that was not given.
            (
                Kind::Integer(_)
                | Kind::Real(_)
                | Kind::Complex(..)
                | Kind::Characters(_)
                | Kind::Unset,
                Some(bytes),
            ) => Some(Content::Fixed(bytes)),
            (Kind::Unset, None) => Some(Content::Unset),
            _ => None,
        }
    }

    #[inline(always)]
    fn is_of(&self, argument: &Argument<'_>) -> bool {
        match (self, argument) {
            (Kind::Unset, Argument::Unset)
            | (Kind::Null, Argument::Null)
            | (Kind::Function, Argument::Callback(_))
            | (Kind::Text, Argument::Text(_))
            | (Kind::Number, Argument::Integer(_) | Argument::Real(_) | Argument::Complex(..)) => {
                true
            }
            (Kind::Integer(known), Argument::Integer(given)) => known == given,
            (Kind::Real(known), Argument::Real(given)) => *known == given.to_bits(),
            (Kind::Complex(re, im), Argument::Complex(given_re, given_im)) => {
                (*re, *im) == (given_re.to_bits(), given_im.to_bits())
            }
            (Kind::Characters(known), Argument::Text(given)) => {
                known.as_slice() == given.as_slice()
            }
            (Kind::Array(element, shape), Argument::Array(view)) => {
                let given = view.place.shape.as_ref().map(|(counts, _)| counts.as_slice());
                *element == view.place.element && shape.as_deref() == given
            }
            _ => false,
        }
    }
}

fn is_number(element: ElementType) -> bool {
    !matches!(element, ElementType::Struct(_) | ElementType::String | ElementType::Filename)
}

/// The number that was passed.
pub fn number(argument: &Argument<'_>) -> Option<ScalarValue> {
    match argument {
        Argument::Integer(value) => Some(ScalarValue::Integer(*value)),
        Argument::Real(value) => Some(ScalarValue::Real(*value)),
        Argument::Complex(re, im) => Some(ScalarValue::Complex(*re, *im)),
        _ => None,
    }
}

impl Prepared {
    /// The values and the layout of a call with these arguments.
    ///
    /// # Errors
    /// As [`super::marshal`].
    pub fn values(contract: &Contract, arguments: &[Argument<'_>], limit: Bytes) -> Result<Values> {
        if let Some(known) = contract.prepared.find(arguments, limit)
            && let Some(values) = known.fill(contract, arguments)
        {
            return Ok(values);
        }
        let completed = complete(contract, arguments)?;
        let bytes: Vec<Option<&[u8]>> = completed.bytes.iter().map(Option::as_deref).collect();
        let layout = contract.sizer.resolve(&contract.interface, &bytes, limit)?;
        let kinds = arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| Kind::of(contract, index, argument));
        if let Some(kinds) = kinds.collect::<Option<Vec<Kind>>>() {
            let kept = |(kind, bytes): (&Kind, &Option<InlineBytes>)| {
                bytes.clone().filter(|_| !kind.varies())
            };
            let bytes: Vec<Option<InlineBytes>> =
                kinds.iter().zip(&completed.bytes).map(kept).collect();
            let contents = kinds.iter().zip(&bytes).map(|(kind, bytes)| kind.content(bytes));
            let short = Short::new(contract, &layout, contents);
            let ranks = completed.ranks.clone();
            let layout = layout.clone();
            contract.prepared.keep(Prepared { kinds, limit, layout, ranks, bytes, short });
        }
        Ok(Values { layout, ranks: completed.ranks, bytes: completed.bytes.into() })
    }

    /// That of calls like this one, if all of their values lie in the message.
    pub fn short(
        contract: &Contract,
        arguments: &[Argument<'_>],
        limit: Bytes,
    ) -> Option<Arc<Prepared>> {
        contract.prepared.find(arguments, limit).filter(|known| known.short.is_some())
    }

    /// The Open of such a call: see [`Short::encode`].
    pub fn encode(
        &self,
        contract: &Contract,
        passed: &Passed,
        id: CallId,
        extras: &OpenExtras,
        used: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let short = self.short.as_ref()?;
        let body = short.encode(contract, &self.layout, passed, id, extras, used)?;
        (body.len() as u64 <= self.limit.0).then_some(body)
    }

    /// The limit of a call's arrays that they keep to.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    /// Whether results of such a call lie in the message, too.
    pub fn takes(&self, results: &[WireArgument]) -> bool {
        self.short.as_ref().is_some_and(|short| short.takes(results))
    }

    /// The results of a call of which [`Prepared::takes`] said so.
    ///
    /// # Errors
    /// `Protocol` where one has another length than it should.
    pub fn outputs(
        &self,
        contract: &Contract,
        passed: &Passed,
        results: &[WireArgument],
    ) -> Result<Vec<Output>> {
        short_outputs(contract, &self.layout, &self.ranks, passed, results)
    }

    /// `None` where a number is not one that its parameter takes: that is told with all else that
    /// is wrong.
    fn fill(&self, contract: &Contract, arguments: &[Argument<'_>]) -> Option<Values> {
        let mut bytes = SmallVec::with_capacity(self.kinds.len());
        let parameters = &contract.interface.parameters;
        for (index, kind) in self.kinds.iter().enumerate() {
            bytes.push(match kind {
                Kind::Number => Some(number_bytes(
                    &contract.interface,
                    parameters[index].element,
                    number(&arguments[index])?,
                )?),
                Kind::Text => None,
                _ => self.bytes[index].clone(),
            });
        }
        Some(Values { layout: self.layout.clone(), ranks: self.ranks.clone(), bytes })
    }
}

impl PreparedCalls {
    fn find(&self, arguments: &[Argument<'_>], limit: Bytes) -> Option<Arc<Prepared>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_like = |known: &&Arc<Prepared>| {
            known.limit == limit
                && known.kinds.len() == arguments.len()
                && known.kinds.iter().zip(arguments).all(|(kind, argument)| kind.is_of(argument))
        };
        kept.iter().find(is_like).cloned()
    }

    fn keep(&self, prepared: Prepared) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT_MAX - 1);
        kept.insert(0, Arc::new(prepared));
    }
}
