//! Time limits of what moves while a call is under way: its arguments, its results, and those of
//! its callbacks.

use std::time::{Duration, Instant};

use farcall_client::{PendingCall, Transfer};

/// How often it is looked whether a time is over.
pub const LOOK: Duration = Duration::from_millis(50);

/// Longest times; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub arguments: Option<Duration>,
    pub results: Option<Duration>,
    pub callback_arguments: Option<Duration>,
    pub callback_results: Option<Duration>,
}

/// A call whose times are looked after.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    limits: Limits,
    begun: Instant,
    /// When its results began to come.
    results_since: Option<Instant>,
}

impl Limits {
    /// Looks after a call that began then; `None` where nothing is limited.
    pub fn watch(self, begun: Instant) -> Option<Watch> {
        (self != Limits::default()).then_some(Watch { limits: self, begun, results_since: None })
    }
}

impl Watch {
    /// What took too long, if anything did.
    pub fn late(&mut self, pending: &PendingCall) -> Option<String> {
        let now = Instant::now();
        let limits = self.limits;
        let own = self.late_arrays(pending.transfer(), now);
        if own.is_some() || limits.callback_arguments.or(limits.callback_results).is_none() {
            return own;
        }
        let callbacks = pending.callbacks();
        let arguments = over(limits.callback_arguments, callbacks.arguments_since, now);
        let results = over(limits.callback_results, callbacks.results_since, now);
        let arguments =
            arguments.map(|limit| format!("a callback's arguments did not come within {limit:?}"));
        arguments
            .or(results.map(|limit| format!("a callback's results were not sent within {limit:?}")))
    }

    fn late_arrays(&mut self, transfer: Transfer, now: Instant) -> Option<String> {
        let Transfer { sent, to_send, received, to_receive } = transfer;
        if sent < to_send {
            let limit = over(self.limits.arguments, Some(self.begun), now)?;
            return Some(format!(
                "only {sent} of {to_send} bytes of arguments were sent within {limit:?}"
            ));
        }
        if received < to_receive {
            let since = *self.results_since.get_or_insert(now);
            let limit = over(self.limits.results, Some(since), now)?;
            return Some(format!(
                "only {received} of {to_receive} bytes of results came within {limit:?}"
            ));
        }
        None
    }
}

/// The limit, where it is over.
fn over(limit: Option<Duration>, since: Option<Instant>, now: Instant) -> Option<Duration> {
    limit.filter(|limit| since.is_some_and(|since| now.saturating_duration_since(since) > *limit))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_own_beginning() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let limit = |seconds| Some(Duration::from_secs(seconds));
        let limits = Limits { arguments: limit(2), results: limit(3), ..Limits::default() };
        let mut watch = limits.watch(begun).unwrap();
        let sending = Transfer { sent: 1, to_send: 8, ..Transfer::default() };
        assert!(watch.late_arrays(sending, after(2)).is_none());
        assert!(watch.late_arrays(sending, after(3)).unwrap().contains("1 of 8"));
        // The routine runs for as long as it likes, and then the results have their time.
        assert!(
            watch.late_arrays(Transfer { sent: 8, to_send: 8, ..sending }, after(60)).is_none()
        );
        let coming = Transfer { sent: 8, to_send: 8, received: 5, to_receive: 9 };
        assert!(watch.late_arrays(coming, after(60)).is_none());
        assert!(watch.late_arrays(coming, after(63)).is_none());
        assert!(watch.late_arrays(coming, after(64)).unwrap().contains("5 of 9"));
        assert!(Limits::default().watch(begun).is_none());
    }
}
