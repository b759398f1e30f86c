//! An interface that a peer sent, made printable before anybody shows it (spec/wire.md, section
//! 11).

use std::borrow::Cow;

use farcall_base::{printable, printable_line};

use crate::interface::{Interface, Parameter, Shape, StructType};

impl Interface {
    /// The same with every name and every text in it printable. What an honest server sends stays
    /// as it is, but for what its documentation has that nobody can see.
    #[must_use]
    pub fn shown(mut self) -> Interface {
        let Interface {
            module,
            name,
            aliases,
            doc,
            structs,
            parameters,
            class,
            class_doc,
            idempotent: _,
            complexity: _,
            processors: _,
            resources: _,
        } = &mut self;
        [module, name, class].into_iter().chain(aliases).for_each(line);
        lines(doc);
        lines(class_doc);
        structs.iter_mut().for_each(show_struct);
        parameters.iter_mut().for_each(show_parameter);
        self
    }
}

fn show_struct(structure: &mut StructType) {
    line(&mut structure.name);
    structure.fields.iter_mut().for_each(|field| line(&mut field.name));
}

fn show_parameter(parameter: &mut Parameter) {
    line(&mut parameter.name);
    lines(&mut parameter.doc);
    line(&mut parameter.unit);
    // A domain of characters means what it says; where it is listed, its characters are spelled.
    if let Shape::Callback { parameters } = &mut parameter.shape {
        parameters.iter_mut().for_each(show_parameter);
    }
}

fn line(text: &mut String) {
    if let Cow::Owned(spelled) = printable_line(text) {
        *text = spelled;
    }
}

fn lines(text: &mut String) {
    if let Cow::Owned(spelled) = printable(text) {
        *text = spelled;
    }
}
