//! What an expression's parameter numbers mean: the parameters of an interface, or of one of its
//! callbacks.

use crate::expression::{Expression, Function};
use crate::interface::{Interface, Mode, Parameter, Shape, StructType};

/// The parameters that the numbers in an expression count, and the structs they may have as
/// elements.
///
/// A callback's sizes count the callback's own parameters, so the same code serves a call and a
/// call back.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The parameters, in declared order.
    pub parameters: &'a [Parameter],
    /// The struct types of the interface.
    pub structs: &'a [StructType],
}

impl Interface {
    /// The scope of the routine's own parameters.
    pub fn scope(&self) -> Scope<'_> {
        Scope { parameters: &self.parameters, structs: &self.structs }
    }

    /// The scope of callback parameter number `index`; `None` if that parameter is no callback.
    pub fn callback_scope(&self, index: usize) -> Option<Scope<'_>> {
        match &self.parameters.get(index)?.shape {
            Shape::Callback { parameters } => Some(Scope { parameters, structs: &self.structs }),
            Shape::Scalar | Shape::Array { .. } => None,
        }
    }
}

impl<'a> Scope<'a> {
    /// Parameter number `index`.
    pub fn parameter(self, index: u16) -> Option<&'a Parameter> {
        self.parameters.get(usize::from(index))
    }

    /// Name of parameter number `index`, or a stand-in for one that does not exist.
    pub fn name(self, index: u16) -> &'a str {
        self.parameter(index).map_or("?", |parameter| parameter.name.as_str())
    }

    /// Whether the expression refers to a value that only exists after the call: an OUT parameter.
    pub fn refers_to_result(self, expression: &Expression) -> bool {
        expression
            .refers_to(&mut |index| self.parameter(index).is_some_and(|p| p.mode == Mode::Out))
    }

    /// Whether the expression refers to a value that the call may change: an OUT or INOUT
    /// parameter.
    pub fn refers_to_output(self, expression: &Expression) -> bool {
        expression.refers_to(&mut |index| self.parameter(index).is_some_and(|p| p.mode.is_output()))
    }
}

impl Expression {
    /// Calls `visit` for this expression and everything below it, outermost first.
    pub fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        visit(self);
        match self {
            Expression::Integer(_) | Expression::Real(_) | Expression::Parameter(_) => {}
            Expression::Element(_, operand) | Expression::Unary(_, operand) => operand.visit(visit),
            Expression::Binary(_, left, right) => {
                left.visit(visit);
                right.visit(visit);
            }
            Expression::Select(condition, then, otherwise) => {
                condition.visit(visit);
                then.visit(visit);
                otherwise.visit(visit);
            }
            Expression::Call(_, arguments) => {
                arguments.iter().for_each(|argument| argument.visit(visit))
            }
        }
    }

    /// Whether `test` holds for any parameter number in the expression. Stops at the first.
    pub fn refers_to(&self, test: &mut dyn FnMut(u16) -> bool) -> bool {
        match self {
            Expression::Integer(_) | Expression::Real(_) => false,
            Expression::Parameter(index) => test(*index),
            Expression::Element(index, operand) => test(*index) || operand.refers_to(test),
            Expression::Unary(_, operand) => operand.refers_to(test),
            Expression::Binary(_, left, right) => left.refers_to(test) || right.refers_to(test),
            Expression::Select(condition, then, otherwise) => {
                condition.refers_to(test) || then.refers_to(test) || otherwise.refers_to(test)
            }
            Expression::Call(_, arguments) => {
                arguments.iter().any(|argument| argument.refers_to(test))
            }
        }
    }
}

impl Interface {
    /// The IN and INOUT parameters that must travel inside the call message, in interface order:
    /// all scalars, and the arrays and strings whose elements or length an expression needs. Worth
    /// computing once per interface.
    pub fn inline_parameters(&self) -> Vec<usize> {
        let referred = self.referred();
        let inline = |(index, parameter): &(usize, &Parameter)| {
            parameter.mode.is_input() && (parameter.is_plain_scalar() || referred[*index])
        };
        self.parameters.iter().enumerate().filter(inline).map(|(index, _)| index).collect()
    }

    /// The OUT and INOUT parameters that must travel inside the reply message, in interface order:
    /// those that give another result its range, and all scalars.
    pub fn inline_results(&self) -> Vec<usize> {
        let referred = self.referred();
        let inline = |(index, parameter): &(usize, &Parameter)| {
            parameter.mode.is_output() && (parameter.is_plain_scalar() || referred[*index])
        };
        self.parameters.iter().enumerate().filter(inline).map(|(index, _)| index).collect()
    }

    /// For each parameter, whether any size, range, condition or default refers to it.
    pub(crate) fn referred(&self) -> Vec<bool> {
        let mut referred = vec![false; self.parameters.len()];
        let mut mark = |index: u16| {
            if let Some(entry) = referred.get_mut(usize::from(index)) {
                *entry = true;
            }
            false
        };
        for expression in
            self.parameters.iter().flat_map(Parameter::expressions).chain(&self.processors)
        {
            expression.refers_to(&mut mark);
        }
        referred
    }
}

impl Function {
    /// The word in the IDL.
    pub fn name(self) -> &'static str {
        match self {
            Function::Min => "min",
            Function::Max => "max",
            Function::Abs => "abs",
            Function::Log => "log",
            Function::Log2 => "log2",
            Function::Sqrt => "sqrt",
            Function::Length => "length",
        }
    }
}
