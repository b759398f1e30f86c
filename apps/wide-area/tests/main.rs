//! The kernels of the wide-area programs against answers that are known from elsewhere.

mod acp;
mod atpg;
mod ida;
mod ra;
