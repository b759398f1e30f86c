//! What the plugin decides: whether a write is done, and what the file's numbers are then. Pure: what
//! the file has comes as an argument.

use farcall_base::Result;
use farcall_services::store::{Change, Condition, Version, full, no_such_lease};

use crate::state::{Numbers, State};

/// What the file has of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// When it was written.
    pub version: Version,
    /// Of the key and its value.
    pub bytes: u64,
}

/// A file to look into.
pub trait Table {
    /// What goes wrong with the file.
    type Fault;

    /// A key.
    ///
    /// # Errors
    /// What is wrong with the file.
    fn find(&self, key: &str) -> std::result::Result<Option<Found>, Self::Fault>;

    /// Bytes of all keys that begin so, with their values.
    ///
    /// # Errors
    /// As [`Table::find`].
    fn bytes_below(&self, prefix: &str) -> std::result::Result<u64, Self::Fault>;
}

impl State {
    /// Whether a write is done: `None` if a condition does not hold, else the file's numbers behind
    /// it. An inner error is the request's fault, an outer one the file's.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn judge<T: Table>(
        &self,
        conditions: &[Condition],
        changes: &[Change],
        table: &T,
    ) -> std::result::Result<Result<Option<Numbers>>, T::Fault> {
        for condition in conditions {
            let holds = match condition {
                Condition::Absent(key) => table.find(key)?.is_none(),
                Condition::Is(key, version) => {
                    table.find(key)?.is_some_and(|found| found.version == *version)
                }
            };
            if !holds {
                return Ok(Ok(None));
            }
        }
        let mut added = 0;
        let mut freed = 0;
        for change in changes {
            match change {
                Change::Put { lease: Some(lease), .. } if !self.has_lease(*lease) => {
                    return Ok(Err(no_such_lease(*lease)));
                }
                Change::Put { key, value, .. } => {
                    added += (key.len() + value.len()) as u64;
                    freed += table.find(key)?.map_or(0, |found| found.bytes);
                }
                // What two changes delete is counted twice: here that only lets a write pass that
                // is a little too large.
                Change::Delete { key } => freed += table.find(key)?.map_or(0, |found| found.bytes),
                Change::DeleteAll { prefix } => freed += table.bytes_below(prefix)?,
            }
        }
        let bytes = (self.numbers.bytes + added).saturating_sub(freed);
        // A write that leaves less than there was is always done: it is the way out.
        if bytes > self.bytes_max && added > freed {
            return Ok(Err(full(self.bytes_max)
                .fix("raise bytes_max of store-file in farcall.toml, or delete what is kept")));
        }
        Ok(Ok(Some(Numbers { version: self.numbers.version + 1, bytes })))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use farcall_base::ErrorKind;
    use farcall_services::store::LeaseId;

    use super::*;

    struct Kept(BTreeMap<&'static str, Found>);

    impl Table for Kept {
        type Fault = Infallible;

        fn find(&self, key: &str) -> std::result::Result<Option<Found>, Infallible> {
            Ok(self.0.get(key).copied())
        }

        fn bytes_below(&self, prefix: &str) -> std::result::Result<u64, Infallible> {
            let below = self.0.iter().filter(|(key, _)| key.starts_with(prefix));
            Ok(below.map(|(_, found)| found.bytes).sum())
        }
    }

    fn judge(
        state: &State,
        conditions: &[Condition],
        changes: &[Change],
    ) -> Result<Option<Numbers>> {
        let kept = Kept(BTreeMap::from([
            ("a/1", Found { version: Version(3), bytes: 40 }),
            ("a/2", Found { version: Version(4), bytes: 50 }),
        ]));
        state.judge(conditions, changes, &kept).unwrap()
    }

    fn put(key: &str, bytes: usize, lease: Option<LeaseId>) -> Change {
        Change::Put { key: key.to_owned(), value: vec![0; bytes - key.len()], lease }
    }

    fn state_of(bytes_max: u64) -> State {
        let mut state = State::new(bytes_max);
        state.numbers = Numbers { version: 4, bytes: 90 };
        state
    }

    fn state() -> State {
        state_of(100)
    }

    #[test]
    fn conditions_are_judged_by_what_is_there() {
        let is = |key: &str, version| Condition::Is(key.to_owned(), Version(version));
        let absent = |key: &str| Condition::Absent(key.to_owned());
        let yes = Some(Numbers { version: 5, bytes: 90 });
        for (conditions, expected) in [
            (vec![is("a/1", 3), is("a/2", 4), absent("a/3")], yes),
            (vec![is("a/1", 3), is("a/2", 3)], None),
            (vec![is("a/3", 3)], None),
            (vec![absent("a/2")], None),
        ] {
            assert_eq!(judge(&state(), &conditions, &[]).unwrap(), expected, "{conditions:?}");
        }
    }

    #[test]
    fn a_full_store_takes_what_makes_it_smaller() {
        let bytes =
            |changes: &[Change]| judge(&state(), &[], changes).map(|done| done.unwrap().bytes);
        assert_eq!(bytes(&[put("b", 10, None)]).unwrap(), 100);
        assert_eq!(bytes(&[put("b", 11, None)]).unwrap_err().kind(), ErrorKind::LimitExceeded);
        assert_eq!(bytes(&[put("a/1", 50, None)]).unwrap(), 100, "it takes the place of the old");
        let all = Change::DeleteAll { prefix: "a/".to_owned() };
        assert_eq!(bytes(&[all, put("b", 100, None)]).unwrap(), 100);
        let over = state_of(10);
        let shrunk = judge(&over, &[], &[Change::Delete { key: "a/1".to_owned() }]);
        assert_eq!(shrunk.unwrap().unwrap().bytes, 50);
    }

    #[test]
    fn a_lease_must_have_begun() {
        let mut state = state();
        let lease = state.lease();
        assert!(judge(&state, &[], &[put("b", 2, Some(lease))]).unwrap().is_some());
        let unknown = judge(&state, &[], &[put("b", 2, Some(LeaseId(9)))]);
        assert_eq!(unknown.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
