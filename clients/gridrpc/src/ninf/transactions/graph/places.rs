//! Places in memory that calls of a transaction use.

use farcall_c::{Span, WholeArray};
use rustc_hash::FxHashMap;

use super::super::recording::Step;

/// What lies where: two places that are equal have the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place<'s> {
    pub start: usize,
    pub bytes: usize,
    /// `None` for what cannot stay at a server.
    pub array: Option<&'s WholeArray>,
}

impl<'s> Place<'s> {
    pub fn of(span: &'s Span) -> Place<'s> {
        let Span { start, bytes, array, .. } = span;
        Place { start: *start, bytes: *bytes, array: array.as_ref() }
    }

    fn end(&self) -> usize {
        self.start.saturating_add(self.bytes)
    }
}

/// Whether memory that calls write to is the same array to all that use it, and can stay at a
/// server: none overlaps another in part, or has another type or shape elsewhere.
pub fn are_apart(steps: &[Step]) -> bool {
    // Memory that is not known may be anybody's.
    let known = steps.iter().map(|step| step.spans.as_deref()).collect::<Option<Vec<_>>>();
    known.is_some_and(|all| spans_are_apart(all.into_iter().flatten()))
}

fn spans_are_apart<'s>(spans: impl Iterator<Item = &'s Span>) -> bool {
    let mut is_written: FxHashMap<Place<'_>, bool> = FxHashMap::default();
    for span in spans.filter(|span| span.bytes > 0) {
        *is_written.entry(Place::of(span)).or_default() |= span.written;
    }
    let mut places: Vec<(Place<'_>, bool)> = is_written.into_iter().collect();
    places.sort_unstable_by_key(|(place, _)| place.start);
    let mut used_until = 0;
    let mut written_until = 0;
    places.into_iter().all(|(place, is_written)| {
        let free_from = if is_written { used_until } else { written_until };
        used_until = used_until.max(place.end());
        if is_written {
            written_until = written_until.max(place.end());
        }
        place.start >= free_from && (!is_written || place.array.is_some())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_client::idl::data::DataKind;
    use farcall_client::idl::interface::{ElementType, Order};

    use super::*;

    fn whole(element: ElementType, extents: &[u64]) -> WholeArray {
        let kind = DataKind::new(element, extents.len(), Order::Row).unwrap();
        WholeArray { kind, extents: extents.to_vec() }
    }

    fn span(start: usize, written: bool, array: Option<WholeArray>) -> Span {
        let bytes = array.as_ref().map_or(8, |array| array.extents.iter().product::<u64>() * 8);
        Span { start, bytes: bytes as usize, written, read: !written, parameter: 0, array }
    }

    /// The same in either order.
    fn apart(one: Span, other: Span) -> bool {
        let found = spans_are_apart([&one, &other].into_iter());
        assert_eq!(found, spans_are_apart([&other, &one].into_iter()));
        found
    }

    #[test]
    fn what_is_written_is_one_array_to_all() {
        let reals = |count| Some(whole(ElementType::Float64, &[count]));
        let matrix = Some(whole(ElementType::Float64, &[2, 2]));
        let integers = Some(whole(ElementType::Int64, &[4]));
        assert!(apart(span(64, true, reals(4)), span(64, false, reals(4))));
        assert!(apart(span(64, true, reals(4)), span(96, true, reals(4))));
        assert!(!apart(span(64, true, reals(4)), span(72, false, reals(4))));
        assert!(!apart(span(64, true, reals(4)), span(64, false, reals(3))));
        assert!(!apart(span(64, true, reals(4)), span(64, false, matrix)));
        assert!(!apart(span(64, true, reals(4)), span(64, true, integers)));
        // Nobody writes: all may read as they like.
        assert!(apart(span(64, false, reals(4)), span(72, false, reals(8))));
        assert!(!apart(span(64, true, None), span(256, false, reals(4))));
    }
}
