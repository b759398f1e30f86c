//! The kernels of the wide-area programs against answers that are known from elsewhere.

#![allow(clippy::unwrap_used)]

mod acp;
mod asp;
mod atpg;
mod ida;
mod ra;
mod sor;
mod tsp;
mod water;
