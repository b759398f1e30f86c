//! What is said of sizes that cannot be.

use farcall_base::{Bytes, Error, ErrorKind};

use super::{OPERATION, ParameterLayout, Resolver};
use crate::evaluate::Fault;
use crate::expression::{Expression, Function};
use crate::fault::involved;
use crate::interface::{Dimension, Parameter, Shape};
use crate::values::explain;

#[cold]
pub(super) fn too_large(
    resolver: &Resolver<'_>,
    parameter: &Parameter,
    layout: &ParameterLayout,
    limit: Bytes,
) -> Error {
    let needs = Bytes(layout.full_bytes());
    let message = format!(
        "{} needs {needs}; all arrays of a call may have {limit} together",
        resolver.describe(parameter)
    );
    Error::new(ErrorKind::LimitExceeded, OPERATION, message)
        .fix("check the sizes passed, or raise call_bytes_max in the server's configuration file")
}

impl Resolver<'_> {
    #[cold]
    pub(super) fn failed(&self, fault: Fault<'_>, parameter: &Parameter) -> Error {
        explain(self.scope, self.values, fault).with("parameter", self.scope.declaration(parameter))
    }

    #[cold]
    pub(super) fn wrong(
        &self,
        parameter: &Parameter,
        expression: &Expression,
        what: String,
    ) -> Error {
        let message = format!(
            "{} {what}{}",
            self.scope.declaration(parameter),
            involved(expression, self.values, &self.scope)
        );
        self.error(ErrorKind::InvalidArgument, message).fix("pass sizes of 0 or more")
    }

    #[cold]
    pub(super) fn wrong_range(
        &self,
        parameter: &Parameter,
        dimension: &Dimension,
        range: [i64; 3],
        size: u64,
    ) -> Error {
        let [start, end, stride] = range;
        if self.after {
            let text = self.scope.dimension_text(dimension);
            let what = format!("start {start}, end {end}, stride {stride}, size {size}");
            let message =
                format!("the routine returned a range outside {}{text}: {what}", parameter.name);
            return self
                .error(ErrorKind::RoutineFailed, message)
                .fix("the routine or its interface is wrong");
        }
        super::range::Refused { scope: self.scope, values: self.values, parameter, dimension }
            .error(range, size)
    }

    pub(super) fn error(&self, kind: ErrorKind, message: String) -> Error {
        let kind = if self.after && kind == ErrorKind::InvalidArgument {
            ErrorKind::RoutineFailed
        } else {
            kind
        };
        Error::new(kind, OPERATION, message)
    }

    /// `A[lda:n][n] (lda = 3, n = 4)`.
    pub(super) fn describe(&self, parameter: &Parameter) -> String {
        let Shape::Array { dimensions, .. } = &parameter.shape else {
            return parameter.name.clone();
        };
        let all = Expression::Call(
            Function::Max,
            dimensions
                .iter()
                .flat_map(|d| std::iter::once(&d.size).chain(&d.end))
                .cloned()
                .collect(),
        );
        self.scope.declaration(parameter) + &involved(&all, self.values, &self.scope)
    }
}
