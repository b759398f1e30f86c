//! A callback as what it is to those that pass it on: a routine of the client, with sizes of its
//! own.

use std::sync::Arc;

use crate::interface::{Interface, Shape};
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
            class: String::new(),
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
