//! The clause `given when` (spec/idl.md, section 3.4).

use super::parameter::List;
use super::scope::{self, Signature};
use crate::diagnostic::{Problems, shown};
use crate::expression::Expression;
use crate::given::{compares_complex_alone, is_complex, is_number};
use crate::interface::{ElementType, Mode, Parameter};
use crate::parse::tree;

impl List<'_, '_> {
    /// The compiled condition of parameter number `index`; `None` without one, or after a
    /// mistake.
    pub(super) fn given(
        &mut self,
        tree: &tree::Parameter,
        index: usize,
        all: &[Signature],
    ) -> Option<Expression> {
        let condition = tree.given.as_ref()?;
        // A wrong type has been reported.
        all[index].element?;
        self.may_be_left_out(tree, &all[index], condition)?;
        let compiled = self.resolved(condition, scope::GIVEN, all)?;
        let of = |one: u16| &all[usize::from(one)];
        let is_scalar = |one: u16| of(one).rank == 0 && of(one).element.is_some_and(is_number);
        if compiled.refers_to(&mut |one| !is_scalar(one) || of(one).mode.is_output()) {
            let help = "pass the value as an IN number";
            self.problems.add_with_help(
                condition.span,
                "this condition may refer only to IN and WORK scalars",
                help,
            );
            return None;
        }
        if !compares_complex_alone(&compiled, &|one| of(one).element.is_some_and(is_complex)) {
            let help = "write 'beta != 0'";
            self.problems.add_with_help(
                condition.span,
                "a complex number can only be compared by == and !=",
                help,
            );
            return None;
        }
        Some(compiled)
    }

    /// Only what goes both ways and is worth leaving out: the rest always goes one way, or has
    /// `when`.
    fn may_be_left_out(
        &mut self,
        tree: &tree::Parameter,
        signature: &Signature,
        condition: &tree::Expression,
    ) -> Option<()> {
        let name = shown(&tree.name.text);
        let (message, help) = match (signature.mode, signature.element) {
            _ if self.outer.is_some() => {
                (format!("'{name}' is passed by the routine, which always gives it"), None)
            }
            (Mode::In, _) => (
                format!("'{name}' is IN: nothing comes back where it is not read"),
                Some("write 'when', for what the routine does not refer to"),
            ),
            (Mode::Out | Mode::Work, _) => (format!("'{name}' is never given"), None),
            (_, Some(ElementType::String | ElementType::Filename)) => (
                format!("'{name}' is not an array of numbers or characters"),
                Some("'given when' is for INOUT arrays"),
            ),
            _ if signature.single => (
                format!("'{name}' is a single value; it is always passed"),
                Some("'given when' is for INOUT arrays"),
            ),
            _ => return Some(()),
        };
        self.problems.add_with(condition.span, message, help.map(str::to_owned));
        None
    }
}

/// Reports arrays whose elements an expression needs, which are there only under a condition.
pub(super) fn check_elements(
    parameters: &[Parameter],
    others: &[&Option<Expression>],
    trees: &[tree::Parameter],
    problems: &mut Problems,
) {
    let others = || others.iter().filter_map(|one| one.as_ref());
    for (index, (parameter, tree)) in parameters.iter().zip(trees).enumerate() {
        let Some(condition) = tree.given.as_ref().filter(|_| parameter.given.is_some()) else {
            continue;
        };
        let all = parameters.iter().flat_map(Parameter::expressions).chain(others());
        let mut needs = all.filter(|one| one.refers_to(&mut |other| usize::from(other) == index));
        if needs.next().is_some() {
            let name = shown(&parameter.name);
            let message = format!("sizes refer to elements of '{name}', so it is always given");
            problems.add_with_help(
                condition.span,
                message,
                format!("drop 'given when', or pass what sizes need of '{name}' as a number"),
            );
        }
    }
}
