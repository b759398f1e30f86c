//! Studies: the shipped placement, learning, queue and thread code in virtual time, over a network
//! of flows. The byte-level world beside it tests faults; this one tells what placement gains.

mod clients;
mod decide;
mod flows;
mod network;
mod plan;
mod print;
mod results;
mod server;
mod time;
mod world;

pub use decide::decide;
pub use flows::{FlowPlan, flows};
pub use plan::Plan as StudyPlan;
pub use print::{csv, json, table};
pub use results::{Ran, Results, ServerUse, Spread};
pub use world::World as Study;
