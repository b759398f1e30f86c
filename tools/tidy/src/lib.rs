//! House rules as unit tests: layer edges, sizes, names, dead files, plain words, and documents
//! that are true.
//!
//! Each check is a function from the tree to all violations at once, so that one run shows
//! everything there is to fix. `house` runs them on this repository; each check also has a test on
//! a text that breaks its rule. STYLE.md gives the reasons.

#[cfg(test)]
mod house;

pub mod architecture;
pub mod density;
pub mod faults;
pub mod functions;
pub mod layers;
pub mod links;
pub mod metadata;
pub mod printing;
pub mod reach;
pub mod scanner;
pub mod sizes;
pub mod structs;
pub mod subjects;
pub mod text;
pub mod tracked;
pub mod tree;
pub mod words;
