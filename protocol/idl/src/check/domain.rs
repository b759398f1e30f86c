//! The clauses `among` and `where` (spec/idl.md, section 3.4).

use super::parameter::List;
use super::scope::{self, Signature};
use crate::diagnostic::shown;
use crate::domain::{is_real, wrong_set};
use crate::evaluate::Values;
use crate::expression::Expression;
use crate::interface::{Domain, ElementType, Mode};
use crate::parse::tree;
use crate::scalar::ScalarValue;
use crate::source::Span;

impl List<'_, '_> {
    /// The compiled domain of parameter number `index`; `None` if there is none, or after a
    /// mistake.
    pub(super) fn domain(
        &mut self,
        tree: &tree::Parameter,
        index: usize,
        all: &[Signature],
    ) -> Option<Domain> {
        let domain = tree.domain.as_ref()?;
        let span = match domain {
            tree::Domain::Characters(characters) => characters.span,
            tree::Domain::Condition(condition) => condition.span,
        };
        // A wrong type has been reported.
        let element = all[index].element?;
        self.may_have_domain(tree, &all[index], element, span)?;
        match domain {
            tree::Domain::Characters(characters) => self.characters(characters, tree, element),
            tree::Domain::Condition(condition) => self.where_condition(condition, tree, index, all),
        }
    }

    /// Only what the caller passes as one value is checked: elements of arrays would have to be
    /// read one by one.
    fn may_have_domain(
        &mut self,
        tree: &tree::Parameter,
        signature: &Signature,
        element: ElementType,
        span: Span,
    ) -> Option<()> {
        let name = shown(&tree.name.text);
        if self.outer.is_some() {
            self.problems.add(
                span,
                format!("'{name}' is passed by the routine: a callback does not check values"),
            );
            return None;
        }
        if signature.mode != Mode::In || !is_value(signature, element) {
            let help = "'among' and 'where' are for IN characters, integers and real numbers \
                without dimensions";
            self.problems.add_with_help(
                span,
                format!("the values of '{name}' cannot be limited"),
                help,
            );
            return None;
        }
        Some(())
    }

    /// `among "NTC"`, kept in upper case.
    fn characters(
        &mut self,
        characters: &tree::Name,
        tree: &tree::Parameter,
        element: ElementType,
    ) -> Option<Domain> {
        if element != ElementType::Char {
            let name = shown(&tree.name.text);
            let help = format!("write a condition, as in 'where {name} >= 0'");
            self.problems.add_with_help(
                characters.span,
                format!("'{name}' is not a character"),
                help,
            );
            return None;
        }
        let set = characters.text.to_ascii_uppercase();
        if let Some(what) = wrong_set(&set) {
            let message = format!("this set of characters {what}");
            self.problems.add_with_help(
                characters.span,
                message,
                "name each character once; letters match in either case",
            );
            return None;
        }
        if let Some(value) = &tree.default
            && let tree::ExpressionKind::Integer(code) = value.kind
            && !u8::try_from(code)
                .is_ok_and(|code| set.as_bytes().contains(&code.to_ascii_uppercase()))
        {
            self.problems.add(value.span, format!("the default is not in \"{}\"", shown(&set)));
        }
        Some(Domain::Characters(set))
    }

    /// `where condition`.
    fn where_condition(
        &mut self,
        condition: &tree::Expression,
        tree: &tree::Parameter,
        index: usize,
        all: &[Signature],
    ) -> Option<Domain> {
        let element = all[index].element?;
        let purpose = if is_real(element) { scope::REAL_DOMAIN } else { scope::DOMAIN };
        let compiled = self.resolved(condition, purpose, all)?;
        let scalar = |one: u16| {
            all[usize::from(one)].element.is_some_and(|e| is_value(&all[usize::from(one)], e))
        };
        if compiled.refers_to(&mut |one| !scalar(one)) {
            let help = "pass the value as an IN number, or check it in the routine";
            self.problems.add_with_help(
                condition.span,
                "this condition may refer only to IN and WORK scalars",
                help,
            );
            return None;
        }
        let name = shown(&tree.name.text);
        if !compiled.refers_to(&mut |one| usize::from(one) == index) {
            let help = format!("write it after the parameter it limits, as in 'where {name} > 0'");
            self.problems.add_with_help(
                condition.span,
                format!("this condition does not mention '{name}'"),
                help,
            );
            return None;
        }
        if let Some(default) = &tree.default
            && refuses_default(&compiled, default, index, element)
        {
            self.problems
                .add(default.span, format!("the default violates the condition of '{name}'"));
        }
        Some(Domain::Condition(compiled))
    }
}

/// Whether the condition is known to fail for a default that is written as a constant.
fn refuses_default(
    condition: &Expression,
    default: &tree::Expression,
    index: usize,
    element: ElementType,
) -> bool {
    let value = match default.kind {
        tree::ExpressionKind::Integer(value) => ScalarValue::Integer(value),
        tree::ExpressionKind::Real(value) => ScalarValue::Real(value),
        _ => return false,
    };
    let values = OnlyDefault { index, value };
    match is_real(element) {
        true => matches!(condition.try_real(&values), Ok(holds) if holds == 0.0),
        false => matches!(condition.try_integer(&values), Ok(0)),
    }
}

/// One number or character, IN or WORK, that a condition can use.
fn is_value(signature: &Signature, element: ElementType) -> bool {
    let number = element.is_integer() || element == ElementType::Char || is_real(element);
    matches!(signature.mode, Mode::In | Mode::Work)
        && signature.rank == 0
        && !signature.callback
        && number
}

/// While a file is compiled, nothing is known of a call but a default.
struct OnlyDefault {
    index: usize,
    value: ScalarValue,
}

impl OnlyDefault {
    fn value(&self, parameter: u16) -> Option<ScalarValue> {
        (usize::from(parameter) == self.index).then_some(self.value)
    }
}

impl Values for OnlyDefault {
    fn integer(&self, parameter: u16, _element: u64) -> Option<i64> {
        self.value(parameter)?.integer()
    }

    fn real(&self, parameter: u16, _element: u64) -> Option<f64> {
        self.value(parameter)?.float()
    }

    fn length(&self, _parameter: u16) -> Option<u64> {
        None
    }
}
