//! A callback as what it is to those that pass it on: a routine of the client, with sizes of its
//! own.

use std::sync::Arc;

use crate::interface::{Code, Interface, Parameter, Shape};
use crate::sizer::Sizer;

/// A function of the client that a routine may call.
#[derive(Debug)]
pub struct CallbackType {
    /// `module/routine.callback`, its parameters, and the structs of the routine.
    pub interface: Interface,
    /// The sizes of its calls.
    pub sizer: Sizer,
}

impl CallbackType {
    /// The callback that is parameter number `slot` of a routine, if it is one.
    pub fn of(routine: &Interface, slot: usize) -> Option<CallbackType> {
        let parameter = routine.parameters.get(slot)?;
        let Shape::Callback { parameters } = &parameter.shape else { return None };
        let interface = Interface {
            module: routine.module.clone(),
            name: format!("{}.{}", routine.name, parameter.name),
            aliases: Vec::new(),
            doc: String::new(),
            structs: routine.structs.clone(),
            parameters: parameters.clone(),
            idempotent: false,
            complexity: None,
            processors: None,
            resources: Default::default(),
            class: String::new(),
            class_doc: String::new(),
        };
        let sizer = Sizer::new(&interface);
        Some(CallbackType { interface, sizer })
    }

    /// All callbacks of a routine, each with its number among the parameters.
    pub fn all(routine: &Interface) -> Vec<(usize, Arc<CallbackType>)> {
        let one = |slot| Some((slot, Arc::new(CallbackType::of(routine, slot)?)));
        (0..routine.parameters.len()).filter_map(one).collect()
    }
}

impl Interface {
    /// The callback's function as code calls it: its parameters in order, but for the one that it
    /// returns and those of the routine.
    pub fn function(&self) -> Code {
        let result = self.parameters.iter().position(|parameter| parameter.returned);
        let arguments = (0..self.parameters.len())
            .filter(|index| self.parameters[*index].is_passed())
            .collect();
        Code::Symbol { symbol: self.name.clone(), arguments, result }
    }

    /// Whether sizes of its callbacks name parameters of the routine.
    pub fn has_captured(&self) -> bool {
        let captures = |parameter: &Parameter| match &parameter.shape {
            Shape::Callback { parameters } => parameters.iter().any(|one| one.captured.is_some()),
            Shape::Scalar | Shape::Array { .. } => false,
        };
        self.parameters.iter().any(captures)
    }

    /// Whether a callback of the routine returns a value.
    pub fn has_returning_callbacks(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.function_value().is_some())
    }
}

impl Parameter {
    /// What the function returns, if this is a callback that returns a value.
    pub fn function_value(&self) -> Option<&Parameter> {
        match &self.shape {
            Shape::Callback { parameters } => parameters.iter().find(|one| one.returned),
            Shape::Scalar | Shape::Array { .. } => None,
        }
    }
}
