//! Transactions: calls that use one another's data, which run on several servers and survive faults
//! (Ninf paper, section 2.4; spec/transactions.md).
//!
//! Pure: a checked [`Graph`], outcomes of calls and news of servers go in by `handle_*`, with the time;
//! [`Action`]s come out. The plugin `transactions`, the simulator and the tests use the same code.

mod action;
mod check;
mod choice;
mod ending;
mod graph;
mod lineage;
mod message;
mod moving;
mod opening;
mod plan;
mod rank;
mod record;
mod restore;
mod state;
mod timeline;
mod transaction;

pub use action::{Action, Ended, Failure};
pub use choice::Costs;
pub use graph::{CallPlan, DataPlan, Graph, Limits};
pub use message::{Argument, CallMessage, Input, Message, RoutineName, WantedResult};
pub use plan::{Origin, Plan};
pub use state::Place;
pub use timeline::Timed;
pub use transaction::Transaction;

/// A call of one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallNumber(pub u32);

/// A value of one graph: given, or made by one of its calls. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataNumber(pub u32);

/// A server, as the owner of a transaction numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerNumber(pub u32);
