//! What a call asks for, worked out from its interface and its scalars. Client and metaserver have
//! the same code, so that a question is small.

use farcall_base::{Bytes, Result};
use farcall_idl::evaluate::Values;
use farcall_idl::interface::Interface;
use farcall_idl::layout::{ParameterLayout, resolve};

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Operations by the interface's `Complexity`, if it has one.
    pub operations: Option<f64>,
    /// Processors by its `Processors`, if it has any.
    pub processors: Option<u32>,
    /// Bytes of arrays that travel to the server.
    pub bytes_in: f64,
    /// Bytes of arrays that travel back.
    pub bytes_out: f64,
}

impl Demand {
    /// Of a call with these values.
    ///
    /// # Errors
    /// As [`resolve`]: `InvalidArgument` for values that the interface does not allow,
    /// `LimitExceeded` where the arrays are larger than `limit`.
    pub fn of(interface: &Interface, values: &dyn Values, limit: Bytes) -> Result<Demand> {
        let layout = resolve(interface, values, limit)?;
        let mut bytes_in = 0.0;
        let mut bytes_out = 0.0;
        for (parameter, layout) in interface.parameters.iter().zip(&layout.parameters) {
            let ParameterLayout::Array(array) = layout else { continue };
            let bytes = array.transfer_bytes as f64;
            bytes_in += if parameter.mode.is_input() { bytes } else { 0.0 };
            bytes_out += if parameter.mode.is_output() { bytes } else { 0.0 };
        }
        let operations = interface.complexity.as_ref().map(|it| it.evaluate_real(values));
        let processors = interface.processors.as_ref().map(|it| it.evaluate_integer(values));
        Ok(Demand {
            operations: operations.transpose()?,
            processors: processors.transpose()?.map(processors_of),
            bytes_in,
            bytes_out,
        })
    }

    /// What its run time is learned against: its operations, or what it moves.
    pub fn amount(&self) -> f64 {
        self.operations.unwrap_or(self.bytes_in + self.bytes_out).max(1.0)
    }
}

/// At least one; more than any server has are as many as it has.
fn processors_of(count: i64) -> u32 {
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}
