//! The sizes of the calls of one routine. What depends on its interface alone is worked out once;
//! and most calls are as large as the one before, whose layout they share.

use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{Bytes, Result};

use crate::interface::{Interface, Shape};
use crate::layout::{CallLayout, resolve, resolve_results};
use crate::values::ByteValues;

/// Values longer than this are not compared with those of the call before.
const VALUE_BYTES_MAX: usize = 64;

/// Knows the sizes of one interface's calls.
#[derive(Debug)]
pub struct Sizer {
    /// By parameter: whether it must travel inside the call message.
    inline: Vec<bool>,
    /// Parameters whose values decide sizes, or are checked.
    deciding: Vec<usize>,
    /// Whether results decide what of other results travels.
    results_decide: bool,
    latest: Mutex<Option<Latest>>,
}

/// A call whose layout is known.
#[derive(Debug)]
struct Latest {
    /// Of the deciding parameters, in order.
    values: Vec<Option<Vec<u8>>>,
    limit: Bytes,
    layout: Arc<CallLayout>,
}

impl Sizer {
    /// For calls of this interface, and no other.
    pub fn new(interface: &Interface) -> Sizer {
        let mut inline = vec![false; interface.parameters.len()];
        interface.inline_parameters().into_iter().for_each(|index| inline[index] = true);
        let referred = interface.referred();
        let decides =
            |index: &usize| referred[*index] || interface.parameters[*index].domain.is_some();
        let scope = interface.scope();
        let results_decide =
            interface.parameters.iter().filter(|parameter| parameter.mode.is_output()).any(
                |parameter| {
                    let Shape::Array { dimensions, .. } = &parameter.shape else { return false };
                    let ranges =
                        dimensions.iter().flat_map(|d| [&d.start, &d.end, &d.stride]).flatten();
                    ranges.into_iter().any(|expression| scope.refers_to_output(expression))
                },
            );
        Sizer {
            deciding: (0..interface.parameters.len()).filter(decides).collect(),
            inline,
            results_decide,
            latest: Mutex::new(None),
        }
    }

    /// Whether a parameter must travel inside the call message: see
    /// [`Interface::inline_parameters`].
    pub fn is_inline(&self, parameter: usize) -> bool {
        self.inline.get(parameter).copied().unwrap_or(false)
    }

    /// Whether any parameter must.
    pub fn has_inline(&self) -> bool {
        self.inline.contains(&true)
    }

    /// Whether sizes, conditions or defaults depend on a parameter's value, or it is checked.
    pub fn decides(&self, parameter: usize) -> bool {
        self.deciding.contains(&parameter)
    }

    /// Whether results say which elements travel.
    pub fn results_decide(&self) -> bool {
        self.results_decide
    }

    /// Works out a call's sizes from the bytes of its values, one entry per parameter: see
    /// [`resolve`].
    ///
    /// # Errors
    /// As [`resolve`].
    pub fn resolve(
        &self,
        interface: &Interface,
        given: &[Option<&[u8]>],
        limit: Bytes,
    ) -> Result<Arc<CallLayout>> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) =
            latest.as_ref().filter(|known| known.limit == limit && self.is_like(known, given))
        {
            return Ok(known.layout.clone());
        }
        let mut layout = resolve(interface, &ByteValues::new(interface, given), limit)?;
        if self.results_decide {
            layout.given = vec![None; interface.parameters.len()];
            for index in &self.deciding {
                layout.given[*index] = given.get(*index).copied().flatten().map(<[u8]>::to_vec);
            }
        }
        let layout = Arc::new(layout);
        let values = || self.deciding.iter().map(|index| given.get(*index).copied().flatten());
        if values().flatten().all(|value| value.len() <= VALUE_BYTES_MAX) {
            let values = values().map(|value| value.map(<[u8]>::to_vec)).collect();
            *latest = Some(Latest { values, limit, layout: layout.clone() });
        }
        Ok(layout)
    }

    fn is_like(&self, known: &Latest, given: &[Option<&[u8]>]) -> bool {
        let mut values = self.deciding.iter().zip(&known.values);
        values.all(|(index, value)| given.get(*index).copied().flatten() == value.as_deref())
    }

    /// The layout with the ranges that the results decide; `None` where they decide none: see
    /// [`resolve_results`]. What no result says has the value that it had before the call.
    ///
    /// # Errors
    /// As [`resolve_results`].
    pub fn resolve_results<'r>(
        &self,
        interface: &Interface,
        results: impl Iterator<Item = Option<&'r [u8]>>,
        before: &CallLayout,
    ) -> Result<Option<Arc<CallLayout>>> {
        if !self.results_decide {
            return Ok(None);
        }
        let given = before.given.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        let bytes: Vec<Option<&[u8]>> =
            results.zip(given).map(|(result, given)| result.or(given)).collect();
        let after = resolve_results(interface, &ByteValues::new(interface, bytes), before)?;
        Ok(Some(Arc::new(after)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::layout::ParameterLayout;

    fn interface(define: &str) -> Interface {
        let module = crate::compile("t.idl", &format!("Module t;\n{define}\n{{ }}\n")).unwrap();
        module.routines.into_iter().next().unwrap().interface
    }

    fn bytes(values: &[Option<i32>]) -> Vec<Option<Vec<u8>>> {
        values.iter().map(|value| value.map(|value| value.to_ne_bytes().to_vec())).collect()
    }

    fn given(bytes: &[Option<Vec<u8>>]) -> Vec<Option<&[u8]>> {
        bytes.iter().map(|bytes| bytes.as_deref()).collect()
    }

    const LIMIT: Bytes = Bytes(1 << 20);

    #[test]
    fn calls_that_are_alike_share_a_layout() {
        let interface = interface("Define f(IN int n, IN int tag, OUT double x[n])");
        let sizer = Sizer::new(&interface);
        let resolve = |n, tag| {
            sizer.resolve(&interface, &given(&bytes(&[Some(n), Some(tag), None])), LIMIT).unwrap()
        };
        let first = resolve(3, 1);
        assert!(Arc::ptr_eq(&first, &resolve(3, 2)), "a tag decides nothing");
        assert_eq!(resolve(4, 2).array_bytes(), 8 * 4 + 8);
        assert_eq!(resolve(3, 2), first);
    }

    #[test]
    fn values_that_are_refused_are_refused_again() {
        let interface = interface("Define f(IN int n where n > 0, OUT double x[2])");
        let sizer = Sizer::new(&interface);
        let resolve = |n: Option<i32>| sizer.resolve(&interface, &given(&bytes(&[n, None])), LIMIT);
        assert!(resolve(Some(1)).is_ok() && resolve(Some(0)).is_err() && resolve(Some(0)).is_err());
        assert!(resolve(None).is_err() && resolve(Some(1)).is_ok());
        let tighter = sizer.resolve(&interface, &given(&bytes(&[Some(1), None])), Bytes(10));
        assert!(tighter.is_err(), "the limit counts, too");
    }

    #[test]
    fn only_ranges_that_results_decide_are_worked_out_again() {
        let plain = interface("Define f(IN int n, OUT int info, OUT double x[n])");
        let sizer = Sizer::new(&plain);
        let before = sizer.resolve(&plain, &given(&bytes(&[Some(3), None, None])), LIMIT).unwrap();
        assert_eq!(sizer.resolve_results(&plain, [None; 3].into_iter(), &before).unwrap(), None);
        let ranged = interface("Define f(IN int n, OUT int k, OUT double x[n:0,k])");
        let sizer = Sizer::new(&ranged);
        let before = sizer.resolve(&ranged, &given(&bytes(&[Some(3), None, None])), LIMIT).unwrap();
        let after = bytes(&[None, Some(2), None]);
        let after =
            sizer.resolve_results(&ranged, given(&after).into_iter(), &before).unwrap().unwrap();
        assert_ne!(after, before);
    }

    #[test]
    fn ranges_may_refer_to_results_and_to_what_was_given() {
        let ranged =
            interface("Define f(IN int n, IN int from, OUT int k, OUT double x[n:from,from+k])");
        let sizer = Sizer::new(&ranged);
        let before =
            sizer.resolve(&ranged, &given(&bytes(&[Some(9), Some(2), None, None])), LIMIT).unwrap();
        let after = bytes(&[None, None, Some(3), None]);
        let after =
            sizer.resolve_results(&ranged, given(&after).into_iter(), &before).unwrap().unwrap();
        let ParameterLayout::Array(array) = &after.parameters[3] else { panic!("x is an array") };
        assert_eq!((array.dimensions[0].start, array.dimensions[0].end), (2, 5));
    }
}
