//! Kernels of the wide-area programs (the wide-area paper, section 4): what one member computes on its own part, and a sequential `solve` made of it.
//!
//! Each program is a module: its problem and the parser of its inputs, the pieces that return how
//! many counted operations they did, and `solve`. No module sends, waits, or reads a clock.

#![forbid(unsafe_code)]

pub mod acp;
pub mod asp;
pub mod atpg;
pub mod checksum;
pub mod ida;
pub mod input;
pub mod ra;
pub mod random;
pub mod sor;
pub mod split;
pub mod tsp;
pub mod water;
