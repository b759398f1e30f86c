//! What a server tells of itself to whoever watches it on its own node.

use farcall_wire::Status;

use crate::mailbox::{Port, Reply};

/// The slot of the plugin that knows.
pub const SLOT: &str = "status";

/// Asks the server of this node what is going on.
#[derive(Clone)]
pub struct StatusHandle {
    port: Port<Reply<Box<Status>>>,
}

impl StatusHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<Reply<Box<Status>>>) -> Self {
        StatusHandle { port }
    }

    /// Asks; whatever happens, also a server that is busy or gone, arrives at `reply`.
    pub fn ask(&self, reply: Reply<Box<Status>>) {
        if let Err(refused) = self.port.try_send(reply) {
            refused.message.answer(Err(refused.refusal.error("ask the server")));
        }
    }
}
