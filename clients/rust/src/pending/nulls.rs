//! What was passed as NULL to a call that crashed.

use farcall_base::{Error, ErrorKind};

use super::PendingCall;
use crate::argument::Null;

/// Arguments that are NULL, and are named.
const NULLS_SHOWN: usize = 5;

impl PendingCall {
    /// A routine that crashes may not expect what was passed as NULL: of results, that says that
    /// they are not wanted.
    #[cold]
    pub(super) fn with_nulls(&self, error: Error) -> Error {
        let interface = &self.contract.interface;
        let parameter = |null: &Null| interface.parameters.get(null.parameter);
        let is_taken = |null: &&Null| {
            let is_callback = self.contract.callbacks.iter().any(|(own, _)| *own == null.parameter);
            is_callback || parameter(null).is_some_and(|one| one.mode.is_input())
        };
        let name = |null: &Null| {
            let name = parameter(null).map_or("", |one| one.name.as_str());
            null.element.map_or(name.to_owned(), |element| format!("{name}[{element}]"))
        };
        let names: Vec<String> =
            self.nulls.iter().filter(is_taken).take(NULLS_SHOWN).map(name).collect();
        if error.kind() != ErrorKind::RoutineCrashed || names.is_empty() {
            return error;
        }
        let names = names.join(", ");
        let fix = format!("pass a value for {names}: NULL was passed, which it may not expect");
        error.with("NULL", names).fix(fix)
    }
}
