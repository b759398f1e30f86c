//! What a routine as a whole must keep to, and what its author should look at.

use super::argument::NO_INTENT;
use super::{Parameter, Routine, Style};
use crate::Problem;
use crate::unit::{Base, Intent, Procedure};

impl Routine {
    /// What is called without a wrapper takes its arguments by the rules of one language: by
    /// reference, but for numbers of C.
    pub(super) fn check_passing(&mut self, procedure: &Procedure) {
        let by_name = |one: &Parameter| (one.dummy.clone(), one.declared.line);
        let by_value = self.parameters.iter().find(|one| one.declared.by_value).map(by_name);
        let by_reference = |one: &&Parameter| {
            one.intent == Intent::In && !one.is_array() && !one.declared.by_value
        };
        let by_reference = self.parameters.iter().find(by_reference).map(by_name);
        let wrapper = format!("put {} into a module; scan then makes a wrapper", self.name);
        match (procedure.binding.is_some(), self.style, by_value, by_reference) {
            (false, _, Some((dummy, line)), _) => {
                self.problem(
                    line,
                    format!("argument {dummy} is VALUE outside a module: {wrapper}"),
                );
            }
            (true, Style::Fortran, ..) => {
                self.problem(
                    procedure.line,
                    format!("it is bind(C) and has arguments that are not numbers: {wrapper}"),
                );
            }
            (true, Style::C, _, Some((dummy, line))) => {
                self.problem(
                    line,
                    format!(
                        "argument {dummy} is a number that a bind(C) procedure only reads, and is \
                            not VALUE: {wrapper}"
                    ),
                );
            }
            _ => {}
        }
    }

    /// One note for all arguments of which the source does not say whether they are written to.
    pub(super) fn note_intents(&mut self, procedure: &Procedure) {
        let told = |one: &&Parameter| {
            one.callback.is_some() || !one.notes.iter().any(|note| note == NO_INTENT)
        };
        let dummies = self
            .parameters
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != self.result)
            .map(|(_, one)| one);
        let without: Vec<&str> = dummies
            .filter(|one| !told(one) && !one.declared.external)
            .map(|one| one.dummy.as_str())
            .collect();
        if !without.is_empty() {
            let message = format!(
                "{}: no INTENT for {}: drafted as INOUT; change them to IN or OUT",
                self.name,
                without.join(", ")
            );
            self.notes.push(Problem::new(procedure.line, message));
        }
    }

    /// A note where the interface's order is another than the procedure's: it has callbacks last.
    pub(super) fn note_order(&mut self, procedure: &Procedure) {
        let dummies = self
            .parameters
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != self.result)
            .map(|(_, one)| one);
        let (passed, plain): (Vec<_>, Vec<_>) =
            dummies.clone().partition(|one| one.callback.is_some());
        let ordered = || plain.iter().chain(&passed).map(|one| one.dummy.as_str());
        if dummies.map(|one| one.dummy.as_str()).ne(ordered()) {
            let order = ordered().collect::<Vec<_>>().join(", ");
            let message =
                format!("{}: procedure arguments must be last in a call: {order}", self.name);
            self.notes.push(Problem::new(procedure.line, message));
        }
    }

    /// What functions may return: numbers by value where they are called directly, anything that
    /// has a shape through a wrapper.
    pub(super) fn check_result(&mut self, procedure: &Procedure) {
        let Some(result) = self.result.map(|index| &self.parameters[index]) else { return };
        let outside = self.module.is_none();
        if outside && result.base == Base::Character {
            self.problem(
                procedure.line,
                "it is a function that returns text: put it into a module",
            );
        } else if outside && !result.extents.is_empty() {
            self.problem(
                procedure.line,
                "it is a function that returns an array: put it into a module",
            );
        }
    }
}
