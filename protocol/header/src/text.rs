//! Types and functions in the words of C, for code that calls them.

use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::types::{Qualified, Type};

/// The word of C for one of the interface language.
fn c_word(word: &str) -> &str {
    match word {
        "int8" => "signed char",
        "uint8" => "unsigned char",
        "uint16" => "unsigned short",
        "int32" => "int",
        "uint32" => "unsigned",
        "int64" => "long",
        "uint64" => "unsigned long",
        "scomplex" => "float _Complex",
        "dcomplex" => "double _Complex",
        other => other,
    }
}

impl Headers {
    /// A declaration of `inner`, which is a name or what stands around one.
    pub fn declared(&self, of: &Qualified, inner: &str) -> String {
        let constant = if of.is_const { "const " } else { "" };
        let word = match &of.kind {
            Type::Pointer(to) | Type::Array(to, _) => {
                let inner = match to.kind {
                    Type::Function(_) | Type::Array(..) => format!("(*{inner})"),
                    _ => format!("*{constant}{inner}"),
                };
                return self.declared(to, &inner);
            }
            Type::Function(function) => {
                let list = self.list(&function.parameters);
                return self.declared(&function.result, &format!("{inner}({list})"));
            }
            Type::Void => "void".to_owned(),
            Type::Char => "char".to_owned(),
            Type::Bool => "_Bool".to_owned(),
            Type::Number(word) => c_word(word).to_owned(),
            Type::Struct(tag) => self.struct_word(tag),
            Type::Other(_) => "void".to_owned(),
        };
        format!("{constant}{word} {inner}").trim_end().to_owned()
    }

    /// A struct with fields has the name that the interface gives it.
    fn struct_word(&self, tag: &str) -> String {
        match self.fields(tag) {
            Some(_) => self.name_of(tag).to_owned(),
            None if tag == "FILE" => tag.to_owned(),
            None => format!("struct {tag}"),
        }
    }

    fn list(&self, parameters: &[Parameter]) -> String {
        let one =
            |parameter: &Parameter| self.declared(&parameter.kind.clone().plain(), &parameter.name);
        let list: Vec<String> = parameters.iter().map(one).collect();
        if list.is_empty() { "void".to_owned() } else { list.join(", ") }
    }

    /// The function's prototype.
    pub fn prototype(&self, function: &Function) -> String {
        let list = self.list(&function.parameters);
        format!("{};", self.declared(&function.result, &format!("{}({list})", function.name)))
    }

    /// A function that a library calls with what it was given for one of its callbacks, `context`:
    /// that is the address of the function to be called.
    pub fn trampoline(&self, name: &str, callback: &Function, context: usize) -> String {
        let mut own = callback.clone();
        let given = own.parameters.remove(context);
        let kind = Type::Pointer(Box::new(Type::Function(Box::new(own.clone())).plain()));
        let cast = self.declared(&kind.plain(), "");
        let arguments: Vec<&str> = own.parameters.iter().map(|one| one.name.as_str()).collect();
        let list = self.list(&callback.parameters);
        let head = self.declared(&callback.result, &format!("{name}({list})"));
        let word = if callback.result.kind == Type::Void { "" } else { "return " };
        let call = format!("(({cast}){})({})", given.name, arguments.join(", "));
        format!("static {head} {{ {word}{call}; }}")
    }

    /// Declarations of the handles that a function names.
    pub fn forwards(&self, function: &Function) -> Vec<String> {
        let mut tags = Vec::new();
        let all = function.parameters.iter().map(|one| &one.kind).chain([&function.result.kind]);
        all.for_each(|kind| self.find_handles(kind, &mut tags));
        tags.iter().map(|tag| format!("struct {tag};")).collect()
    }

    fn find_handles(&self, kind: &Type, tags: &mut Vec<String>) {
        match kind {
            Type::Pointer(to) | Type::Array(to, _) => self.find_handles(&to.kind, tags),
            Type::Struct(tag)
                if self.fields(tag).is_none() && tag != "FILE" && !tags.contains(tag) =>
            {
                tags.push(tag.clone());
            }
            _ => {}
        }
    }
}
