//! The outcome of a call, as long as something sends it or keeps it.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, Instant};
use farcall_call::Channels;
use farcall_wire::{Argument, CallResult};

use super::{ClientKey, Value, Written};
use crate::state::{Call, OwnMemory, ResultFiles};

/// The outcome of a call, and where the arrays among it lie.
pub struct Finished {
    /// The call's id.
    pub id: CallId,
    /// The call itself; `None` where its outcome was read from the results folder.
    pub call: Option<Box<Call>>,
    /// What was read, then.
    pub files: Option<ResultFiles>,
    /// The value, where data is sent.
    pub value: Option<Arc<Value>>,
    /// What the call was, where the call itself is not here.
    pub written: Option<Box<Written>>,
    /// What the client is told.
    pub result: CallResult,
    /// Since when it waits to be taken.
    pub waits_since: Instant,
}

impl Finished {
    /// Memory of ours that it lies in.
    pub fn memories(&self) -> impl Iterator<Item = &OwnMemory> {
        let call = self.call.iter().flat_map(|call| call.memories());
        call.chain(self.files.iter().map(|files| &files.memory))
    }

    /// Whether it is sent and not kept as well.
    pub fn is_only_sent(self: &Arc<Finished>) -> bool {
        Arc::strong_count(self) == 1
    }

    /// Whether arrays follow the answer.
    pub fn sends_memory(&self) -> bool {
        self.result.results.iter().any(|argument| matches!(argument, Argument::Blocks(_)))
    }

    /// What it costs to keep it, about: in memory with all that lies beside its arrays there.
    pub fn bytes(&self) -> u64 {
        let inline = self.result.results.iter().map(inline_bytes);
        self.memories().map(|memory| memory.bytes).chain(inline).fold(OVERHEAD, u64::saturating_add)
    }

    /// The same in the results folder: the outcome alone.
    pub fn file_bytes(&self) -> u64 {
        let blocks = |argument: &Argument| {
            if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 }
        };
        let bytes = self
            .result
            .results
            .iter()
            .map(|argument| inline_bytes(argument).saturating_add(blocks(argument)));
        bytes.fold(OVERHEAD, u64::saturating_add)
    }
}

fn inline_bytes(argument: &Argument) -> u64 {
    match argument {
        Argument::Inline(bytes) => bytes.len() as u64,
        Argument::Texts(texts) => texts.iter().flatten().map(|text| text.len() as u64 + 16).sum(),
        _ => 0,
    }
}

/// What an entry takes beside its arrays, about.
pub const OVERHEAD: u64 = 1024;

/// What becomes of a connection's calls if it is lost.
#[derive(Default)]
pub struct Resuming {
    /// How long they are kept then.
    pub keep: Option<Duration>,
    /// How its client names itself.
    pub client: Option<ClientKey>,
    /// The last outcome on each channel, until the client shows that it has it: by a Window, or the
    /// next Open there.
    pub held: Channels<Arc<Finished>>,
}
