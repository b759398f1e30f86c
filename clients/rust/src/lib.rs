//! The client core: connect, look up, marshal, call. Every other language stands on it.
//!
//! ```no_run
//! use farcall_client::{Argument, Array, Client};
//!
//! let server = Client::connect(None)?;
//! let a = [4.0, 1.0, 1.0, 3.0]; // two by two, column by column
//! let b = [1.0, 2.0];
//! let dgesv = server.routine("lapack/dgesv")?;
//! let result = dgesv.call([("A", Array::columns(&a, &[2, 2]).into()), ("B", Array::vector(&b).into())])?;
//! println!("{:?}", result.array::<f64>("B")?);
//! # Ok::<(), farcall_client::Error>(())
//! ```

mod address;
mod argument;
mod array;
mod callback;
mod client;
mod clock;
mod contract;
mod data;
mod dial;
mod farm;
mod files;
mod hold;
mod lending;
mod listed;
mod marshal;
mod pending;
mod per_process;
mod private;
mod published;
mod results;
mod routine;
mod session;
mod ssh;
mod standard_streams;
mod transaction;
mod view;

pub use address::Address;
pub use argument::{Argument, Destination};
pub use array::{Array, ArrayMut, Element, Shape, View};
pub use callback::{Answer, Callback, CallbackCall, NativeFunction, Running, Taken, callback};
pub use client::{CallOptions, Client, Explanation, Keep};
pub use data::{Data, Stay};
pub use dial::{ConnectOptions, settings_there};
pub use farcall_base::{
    CallId, DataId, Error, ErrorKind, ObjectId, Resources, Result, TransactionId, printable,
};
pub use farcall_idl as idl;
pub use farcall_link::compression::{Compression, Saved};
pub use farcall_link::stream::ByteStream;
pub use farcall_wire::{
    CallTimes, DataState, DataStatus, JobStatus, KeptCall, KeptState, ModuleReport, ModuleStatus,
    ObjectState, ObjectStatus, OpenCall, Order, PlacedServer, ProcessorsStatus, ServerPresence,
    ServerState, Stage, Status, TimelineState, Totals, TransactionEnd, TransactionResult,
    TransactionStatus, Use,
};
pub use farm::{Farm, Outcome};
pub use hold::{Hold, HoldOptions};
pub use lending::ArrayMemory;
pub use listed::{HERE, ServerList};
pub use pending::{News, PendingCall};
pub use per_process::PerProcess;
pub use private::{PrivateServer, ServeOptions};
pub use published::Published;
pub use results::{CompressedArray, Extents, Output, Outputs, OwnedArray, Phases, PlacedTimes};
pub use routine::Routine;
pub use session::{CallbackTimes, Transfer};
pub use ssh::SshCommand;
pub use ssh::asking::AskingSsh;
pub use ssh::settings::{self as far_settings, FarSettings};
pub use standard_streams::{keep_standard_streams, pass_on_output, print_output};
pub use transaction::{Begin, TimedCall, Transaction};
pub use view::{ByServer, Unanswered};
