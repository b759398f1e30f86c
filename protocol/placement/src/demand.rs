//! What a call asks for, worked out from its interface and its scalars. Client and metaserver have
//! the same code, so that a question is small.

use farcall_base::{Bytes, Result};
use farcall_idl::evaluate::Values;
use farcall_idl::interface::{Interface, Parameter};
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
    /// A hash of what the above and the call's integers are: equal for calls that do the same.
    pub sizes: u64,
}

/// FNV-1a: the same on every machine and in every version, as both ends work it out.
const HASH_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0100_0000_01b3;

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
        for (parameter, of) in interface.parameters.iter().zip(&layout.parameters) {
            let ParameterLayout::Array(array) = of else { continue };
            let bytes = array.transfer_bytes as f64;
            let mode = of.mode(parameter);
            bytes_in += if mode.is_input() { bytes } else { 0.0 };
            bytes_out += if mode.is_output() { bytes } else { 0.0 };
        }
        let operations = interface.complexity.as_ref().map(|it| it.evaluate_real(values));
        let processors = interface.processors.as_ref().map(|it| it.evaluate_integer(values));
        let demand = Demand {
            operations: operations.transpose()?,
            processors: processors.transpose()?.map(processors_of),
            bytes_in,
            bytes_out,
            sizes: 0,
        };
        Ok(Demand { sizes: demand.hash(interface, values), ..demand })
    }

    /// Integers that are not sizes count, too: a number of steps may be all that a run depends on,
    /// where there is no `Complexity`. Other numbers do not: they are data.
    fn hash(&self, interface: &Interface, values: &dyn Values) -> u64 {
        let is_given =
            |parameter: &&Parameter| parameter.is_plain_scalar() && parameter.mode.is_input();
        let numbered = interface.parameters.iter().zip(0u16..);
        let scalars = numbered.filter(|(parameter, _)| is_given(parameter));
        let integers = scalars.filter_map(|(_, number)| values.integer(number, 0));
        let own = [self.amount(), self.bytes_in, self.bytes_out].map(f64::to_bits);
        let words = own.into_iter().chain(integers.map(|integer| integer as u64));
        let bytes = words.flat_map(u64::to_le_bytes);
        bytes.fold(HASH_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(HASH_PRIME))
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
