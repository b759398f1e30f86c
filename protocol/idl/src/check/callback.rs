//! Callbacks: lists of parameters of their own, and what their functions return (spec/idl.md,
//! section 3.8).

use super::parameter::{List, is_truth, is_type, one, parameters};
use super::scope::Signature;
use crate::canonical::PARAMETERS_MAX;
use crate::diagnostic::shown;
use crate::interface::{ElementType, Mode, Order, Parameter, Shape};
use crate::parse::tree;
use crate::words;

impl List<'_, '_> {
    /// A callback: a list of its own, whose sizes see the integers of the routine around. `value` is the
    /// type that its function returns.
    pub(super) fn callback(
        &mut self,
        tree: &tree::Parameter,
        list: &(Vec<tree::Parameter>, bool),
        value: Option<ElementType>,
        all: &[Signature],
    ) -> Parameter {
        let mut inner = List {
            structs: self.structs,
            outer: Some(all),
            captured: Vec::new(),
            dialect: self.dialect,
            incomplete: list.1,
            problems: &mut *self.problems,
        };
        let (mut compiled, _) = parameters(&mut inner, &list.0);
        let captured = std::mem::take(&mut inner.captured);
        add_captured(&mut compiled, &captured, all);
        super::cycles::check(&compiled, &list.0, self.problems);
        if let Some(element) = value.filter(|_| !is_type(tree, words::VOID)) {
            let value = self.returned(tree, element, &compiled);
            compiled.push(value);
        }
        // A callback has no elements; `shape` says what it is.
        let parameter = Parameter::scalar(&tree.name.text, Mode::In, ElementType::Char);
        Parameter {
            shape: Shape::Callback { parameters: compiled },
            doc: tree.doc.as_ref().map(|doc| doc.text.clone()).unwrap_or_default(),
            ..parameter
        }
    }

    /// What a function returns: to client and server, one OUT number behind the
    /// parameters, with a name that none of them has.
    fn returned(
        &mut self,
        tree: &tree::Parameter,
        element: ElementType,
        others: &[Parameter],
    ) -> Parameter {
        let name = shown(&tree.name.text);
        if matches!(element, ElementType::String | ElementType::Filename) {
            let help = format!("write an OUT parameter: {name}(…, OUT string text)");
            let message = format!("the callback '{name}' cannot return text or a file");
            self.problems.add_with_help(tree.name.span, message, help);
        }
        if others.len() >= PARAMETERS_MAX {
            let message = format!("'{name}' has more than {PARAMETERS_MAX} parameters and values");
            self.problems.add(tree.name.span, message);
        }
        let mut own = "result".to_owned();
        while others.iter().any(|other| other.name == own) {
            own.push('_');
        }
        Parameter {
            shape: Shape::Array { dimensions: vec![one()], order: Order::Row },
            logical: is_truth(tree),
            returned: true,
            ..Parameter::scalar(own, Mode::Out, element)
        }
    }
}

/// The routine's integers that sizes name travel behind the callback's own parameters.
fn add_captured(compiled: &mut Vec<Parameter>, captured: &[usize], all: &[Signature]) {
    for around in captured {
        let signature = &all[*around];
        let mut name = signature.name.clone();
        while compiled.iter().any(|one| one.name == name) {
            name.push('_');
        }
        let Some(element) = signature.element else { continue };
        let number = u16::try_from(*around).expect("the parser bounds the number of parameters");
        let parameter = Parameter::scalar(name, Mode::In, element);
        compiled.push(Parameter { captured: Some(number), ..parameter });
    }
}
