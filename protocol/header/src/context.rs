//! Callbacks that are given what was passed with them: `double (*f)(double, void *), void *with`.
//! The address of the caller's function is passed so, and a function of the draft calls it.

use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::sizes::is_context;

/// The only callback of a function that takes such an address, by the numbers of parameters.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The callback.
    pub callback: usize,
    /// What the function takes for it.
    pub passed: usize,
    /// Where the callback gets that.
    pub given: usize,
}

impl Context {
    /// That of a function; `None` without one, and where two could be meant.
    pub fn of(function: &Function) -> Option<Context> {
        let all = || function.parameters.iter().enumerate();
        let takes = |(index, one): (usize, &Parameter)| {
            let own = &one.kind.function()?.parameters;
            Some((index, own.iter().position(|own| is_context(&own.kind))?))
        };
        let callbacks: Vec<(usize, usize)> = all().filter_map(takes).collect();
        let contexts: Vec<usize> =
            all().filter(|(_, one)| is_context(&one.kind)).map(|(index, _)| index).collect();
        match (callbacks.as_slice(), contexts.as_slice()) {
            ([(callback, given)], [passed]) => {
                Some(Context { callback: *callback, passed: *passed, given: *given })
            }
            _ => None,
        }
    }

    /// What stands for a parameter in the call; `None` for its own name.
    pub fn argument(self, function: &Function, index: usize) -> Option<String> {
        let callback = &function.parameters[self.callback].name;
        match index {
            _ if index == self.passed => Some(format!("(void *){callback}")),
            _ if index == self.callback => Some(self.name(function)),
            _ => None,
        }
    }

    /// The function that calls the caller's.
    pub fn trampoline(self, headers: &Headers, function: &Function) -> Option<String> {
        let callback = function.parameters[self.callback].kind.function()?;
        Some(headers.trampoline(&self.name(function), callback, self.given))
    }

    fn name(self, function: &Function) -> String {
        format!("farcall_{}_{}", function.name, function.parameters[self.callback].name)
    }
}
