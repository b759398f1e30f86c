//! What is wrong with a call of which not all values are known yet.

use std::cell::Cell;

use farcall_base::Error;

use super::Resolver;
use crate::domain;
use crate::evaluate::Values;
use crate::interface::Interface;
use crate::values::Completed;

/// Values that notice when one is asked for that is not known.
struct Watched<'a> {
    values: &'a dyn Values,
    has_missed: Cell<bool>,
}

impl Watched<'_> {
    fn noticed<T>(&self, value: Option<T>) -> Option<T> {
        self.has_missed.set(self.has_missed.get() || value.is_none());
        value
    }
}

impl Values for Watched<'_> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        self.noticed(self.values.integer(parameter, element))
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.noticed(self.values.real(parameter, element))
    }

    fn complex(&self, parameter: u16, element: u64) -> Option<(f64, f64)> {
        self.noticed(self.values.complex(parameter, element))
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        self.noticed(self.values.length(parameter))
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        self.values.name(parameter)
    }
}

/// Why [`super::resolve`] would refuse a call, whatever the values are that are not among these:
/// values outside their domain, and sizes that follow from known values alone.
pub fn certain_refusal(interface: &Interface, values: &dyn Values) -> Option<Error> {
    let scope = interface.scope();
    let values = &Completed::new(scope, values);
    let named = |error: Error| error.with("routine", interface.full_name());
    if let Err(error) = domain::check_known(scope, values) {
        return Some(named(error));
    }
    for parameter in scope.parameters {
        let watched = Watched { values, has_missed: Cell::new(false) };
        let resolver = Resolver { scope, values: &watched, after: false };
        if let Err(error) = resolver.parameter(parameter)
            && !watched.has_missed.get()
        {
            return Some(named(error));
        }
    }
    None
}
