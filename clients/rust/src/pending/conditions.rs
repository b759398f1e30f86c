//! What its options say of a call.

use std::time::Instant;

use farcall_base::CallId;
use farcall_peer::Audience;

use super::Farmed;
use crate::client::CallOptions;
use crate::session::{Conditions, PlacedAs, Special, Stays};

/// Who hears of a call.
pub(super) fn audience_of(options: &CallOptions, farmed: &Option<Farmed>) -> Audience {
    match farmed {
        Some(farmed) => farmed.farm,
        None if options.announced => Audience::EVERYBODY,
        None => Audience::NOBODY,
    }
}

#[inline]
pub(super) fn conditions(
    options: &CallOptions,
    announced: Audience,
    deadline: Option<Instant>,
    keep: Option<(CallId, Option<farcall_wire::Keep>)>,
    stays: Option<Stays>,
) -> Conditions {
    let CallOptions { run_timeout, on, ranks, resources, .. } = *options;
    let resources = Some(resources).filter(|resources| !resources.is_empty());
    let goes_on = keep.is_some() || stays.is_some();
    let asks_for_more = run_timeout.is_some() || on.is_some() || ranks != 0 || resources.is_some();
    let special = || Special { run_timeout, keep, on, ranks, resources, stays, within: None };
    Conditions {
        deadline,
        announced,
        wants: options.wants(),
        copied: options.copied,
        placed: PlacedAs::Nowhere,
        grant: 0,
        special: (goes_on || asks_for_more).then(|| Box::new(special())),
    }
}
