//! `DefClass` and `Struct`: the declarations whose braces hold declarations (spec/idl.md, sections
//! 3.7 and 3.9).

use super::Parser;
use super::tree::{Class, Field, File, Name, Struct};
use crate::token::Kind;
use crate::words;

/// Fields of a struct.
const FIELDS_MAX: usize = 256;

impl Parser<'_, '_> {
    /// `DefClass`. Its name alone is enough to keep it: routines behind it must not be taken for
    /// its members.
    pub(super) fn class(&mut self, file: &mut File) {
        self.advance();
        let Some(name) = self.name("the class's name") else { return self.skip_declaration() };
        let mut doc = None;
        let options = self.options(&mut doc);
        let mut class = Class { name, doc, options, states: Vec::new(), methods: Vec::new() };
        if self.close("{", "before the class's methods") {
            self.members(&mut class);
        } else {
            self.skip_declaration();
        }
        file.classes.push(class);
    }

    /// Everything up to `}`. A declaration of the file inside means that the brace was forgotten.
    fn members(&mut self, class: &mut Class) {
        while !self.eat("}") {
            match self.word() {
                "DefMethod" => {
                    self.advance();
                    match self.routine() {
                        Some(method) => class.methods.push(method),
                        None => self.skip_member(),
                    }
                }
                "DefState" => self.state(class),
                _ if self.eat(";") => {}
                _ if self.at_end() || self.at_declaration() => {
                    let message = format!("class '{}' is not closed", class.name.text);
                    let help = match self.word() {
                        "Define" => "close it with '}'; methods begin with DefMethod",
                        _ => "close it with '}'",
                    };
                    self.problems.add_with_help(self.previous().behind(), message, help);
                    return;
                }
                word => {
                    let help = self.problems.did_you_mean(word, ["DefMethod", "DefState"]);
                    let message =
                        format!("expected DefMethod, DefState or '}}', found {}", self.found());
                    self.problems.add_with(self.peek().span, message, help);
                    self.advance();
                    self.skip_member();
                }
            }
        }
    }

    /// `DefState { C }`.
    fn state(&mut self, class: &mut Class) {
        self.advance();
        if self.peek().kind == Kind::Body {
            class.states.push(self.advance().span);
        } else {
            self.expected("C declarations in braces after DefState");
            self.skip_member();
        }
    }

    /// Skips to the next member, or to the brace that closes the class.
    fn skip_member(&mut self) {
        while !self.at_end()
            && !self.at_declaration()
            && !matches!(self.word(), "DefMethod" | "DefState")
        {
            if self.at_symbol("}") {
                return;
            }
            if matches!(self.advance().kind, Kind::Body | Kind::Symbol(";")) {
                return;
            }
        }
    }

    /// `Struct`. It is kept even if fields are wrong, so that parameters of its type are no further
    /// mistakes.
    pub(super) fn structure(&mut self, file: &mut File) {
        self.advance();
        let Some(name) = self.name("the struct's name") else { return self.skip_declaration() };
        if !self.close("{", "before the struct's fields") {
            return self.skip_declaration();
        }
        let mut structure = Struct { name, fields: Vec::new() };
        while !self.eat("}") {
            if self.at_end() || self.at_declaration() {
                let message = format!("struct '{}' is not closed", structure.name.text);
                self.problems.add_with_help(self.previous().behind(), message, "close it with '}'");
                break;
            }
            if self.fields(&mut structure.fields).is_none() {
                self.skip_field();
            }
        }
        if structure.fields.len() > FIELDS_MAX {
            self.problems
                .add(structure.name.span, format!("a struct has at most {FIELDS_MAX} fields"));
            structure.fields.truncate(FIELDS_MAX);
        }
        file.structs.push(structure);
    }

    /// `type name[3], other;`
    fn fields(&mut self, fields: &mut Vec<Field>) -> Option<()> {
        let types = self.field_types()?;
        loop {
            let (name, dimensions) = self.declarator(0)?;
            fields.push(Field { types: types.clone(), name, dimensions });
            if !self.eat(",") {
                self.close(";", "after the field");
                return Some(());
            }
        }
    }

    /// All words but the last, which is the name.
    fn field_types(&mut self) -> Option<Vec<Name>> {
        let mut types: Vec<Name> = Vec::new();
        loop {
            let core = words::CORE_TYPES.contains(&self.word());
            let name_follows = matches!(self.peek_at(1).kind, Kind::Word | Kind::Symbol("*" | "("));
            if self.peek().kind != Kind::Word || !(core || name_follows) {
                break;
            }
            types.push(self.take_name());
        }
        if types.is_empty() {
            self.expected("the type of a field, such as 'double x;'");
            return None;
        }
        Some(types)
    }

    /// Skips to behind the `;` of a field that could not be read.
    fn skip_field(&mut self) {
        while !self.at_end() && !self.at_declaration() && !self.at_symbol("}") {
            if self.advance().kind == Kind::Symbol(";") {
                return;
            }
        }
    }
}
