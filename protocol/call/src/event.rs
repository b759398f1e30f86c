//! What a connection tells its owner, and what the owner sends for it.

use farcall_base::ChannelId;
use farcall_wire::{CallResult, FrameHeader, Hello, Notice, Open, Reply, Request, Resume, Share};

/// News for the owner of a connection, in the order things happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The peer's Hello arrived and is acceptable.
    Ready(Box<Hello>),
    /// The peer asks; answer with [`crate::Connection::reply`].
    Requested(ChannelId, Request),
    /// The answer to our request.
    Replied(ChannelId, Reply),
    /// The peer opened a call. Its memory must be ready before this event's handler returns, or the
    /// call refused.
    Opened(ChannelId, Box<Open>),
    /// All argument data of a call is there.
    ArgumentsComplete(ChannelId),
    /// The opener wants the call to end.
    CancelRequested(ChannelId),
    /// The peer takes a call up again; answer with [`crate::Connection::agree`] and then with the
    /// outcome, or refuse it.
    Resumed(ChannelId, Box<Resume>),
    /// The peer has the call that we took up again; its outcome follows on this channel.
    Agreed(ChannelId, Box<Resume>),
    /// The peer says that it has the outcome of a call that is over: a Window on a channel that is
    /// not open.
    Acknowledged(ChannelId),
    /// The outcome of our call; its data may still come. Memory must be ready before the handler
    /// returns.
    Resulted(ChannelId, Box<CallResult>),
    /// Our call has ended: outcome and data are there. The channel's number is free again.
    Finished(ChannelId),
    /// News of our running call.
    Noticed(ChannelId, Notice),
    /// The peer shares memory; its descriptor came with the frame.
    Shared(Share),
    /// The peer takes shared memory back.
    Unshared(u32),
    /// The peer said goodbye; the error it gave, if any.
    Left(Option<farcall_wire::Failure>),
}

/// Whose data: what the opener sends, or what it gets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// From the opener.
    Arguments,
    /// To the opener.
    Results,
}

/// Where the next bytes of a data frame belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Call.
    pub channel: ChannelId,
    /// Direction.
    pub side: Side,
    /// Index of the parameter.
    pub slot: u16,
    /// Offset in the packed argument.
    pub offset: u64,
}

/// A frame to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Transmit {
    /// A control frame. `shares` names the segment whose descriptor must ride with it.
    Control {
        /// Header with kind, channel, flags and sequence; the length is the body's.
        header: FrameHeader,
        /// Body.
        body: Vec<u8>,
        /// Segment to attach.
        shares: Option<u32>,
    },
    /// A data frame: its body is `length` bytes of the argument from `place.offset` on.
    Data {
        /// Header, length set.
        header: FrameHeader,
        /// Where the bytes come from.
        place: Place,
    },
}
