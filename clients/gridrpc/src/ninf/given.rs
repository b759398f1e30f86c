//! What callers hold pointers to: a pointer that means nothing any more is an error.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use crate::code::{Failure, Number, Outcome};
use crate::pointers::missing;

use super::lock;

/// Objects of callers by their addresses.
pub struct Given<T>(Mutex<FxHashMap<usize, Arc<T>>>);

impl<T> Default for Given<T> {
    fn default() -> Self {
        Given(Mutex::default())
    }
}

impl<T> Given<T> {
    /// A pointer for a caller. It is an address alone: nobody reads through it.
    pub fn give(&self, object: T) -> *mut T {
        let object = Arc::new(object);
        let pointer = Arc::as_ptr(&object).cast_mut();
        lock(&self.0).insert(pointer as usize, object);
        pointer
    }

    pub fn find(&self, pointer: *const T, what: &str) -> Outcome<Arc<T>> {
        Self::known(lock(&self.0).get(&(pointer as usize)).cloned(), pointer, what)
    }

    /// The caller gives it up.
    pub fn take(&self, pointer: *const T, what: &str) -> Outcome<Arc<T>> {
        Self::known(lock(&self.0).remove(&(pointer as usize)), pointer, what)
    }

    fn known(found: Option<Arc<T>>, pointer: *const T, what: &str) -> Outcome<Arc<T>> {
        if pointer.is_null() {
            return Err(missing(what));
        }
        let gone =
            || Failure::other(format!("{what} was released before")).numbered(Number::StubRemoved);
        found.ok_or_else(gone)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_an_error() {
        let given = Given::default();
        let pointer = given.give(7);
        assert_eq!(*given.find(pointer, "it").unwrap(), 7);
        assert_eq!(*given.take(pointer, "it").unwrap(), 7);
        assert!(given.take(pointer, "it").is_err() && given.find(pointer, "it").is_err());
        assert!(given.find(std::ptr::null(), "it").is_err());
    }
}
