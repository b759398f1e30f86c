//! The kernels of the wide-area programs against answers that are known from elsewhere.

mod ida;
mod ra;
