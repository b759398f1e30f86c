//! How many bytes of a call's arrays have moved: worked out when somebody asks, so that nobody else
//! pays for it.

use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_link::packing::Packing;

use super::Session;
use super::flight::Flight;

/// Bytes of a call's arrays that travel through its connection. Those in memory that both ends
/// share do not, nor do those that are short enough to lie in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes of arguments that have left this process.
    pub sent: u64,
    /// Bytes of all arguments that leave it.
    pub to_send: u64,
    /// Bytes of results that have come.
    pub received: u64,
    /// Bytes of all results that come; 0 until the routine has ended.
    pub to_receive: u64,
}

impl Session {
    /// How far the arrays of a call are; `None` when it is over, or not under way yet.
    pub fn transfer(&self, number: u64) -> Option<Transfer> {
        let core = self.lock();
        let Some(flight) = core.caller.open_call(number)?.transfer().long() else {
            return Some(Transfer::default());
        };
        let sending = flight.data.sending.iter().map(|(slot, packing)| (*slot, packing));
        let (to_send, unmade) = sum(&flight.data.layout, sending);
        let (to_receive, missing) =
            sum(layout_after(flight), flight.receiving.iter().map(arriving));
        let (files, unread) =
            flight.data.files.iter().fold((0, 0), |sum, file| added(sum, file.progress()));
        let (to_send, unmade) = added((to_send, unmade), (files, unread));
        let (to_receive, missing) = added((to_receive, missing), flight.files.progress());
        // Frames wait behind those of other calls: what of the queue is this call's own is not
        // known, at most all of it.
        let unsent = (unmade + core.link.bytes_queued() as u64).min(to_send);
        Some(Transfer {
            sent: to_send - unsent,
            to_send,
            received: to_receive - missing,
            to_receive,
        })
    }
}

fn added(sum: (u64, u64), more: (u64, u64)) -> (u64, u64) {
    (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1))
}

fn layout_after(flight: &Flight) -> &CallLayout {
    flight.after.as_ref().unwrap_or(&flight.data.layout)
}

fn arriving<'a, T>((slot, (packing, _)): (&u16, &'a (Packing, T))) -> (usize, &'a Packing) {
    (usize::from(*slot), packing)
}

/// Bytes of these parameters' arrays, and of these those that are left.
fn sum<'a>(
    layout: &CallLayout,
    packings: impl Iterator<Item = (usize, &'a Packing)>,
) -> (u64, u64) {
    packings.fold((0, 0), |(all, left), (slot, packing)| match &layout.parameters[slot] {
        ParameterLayout::Array(array) => (all + array.transfer_bytes, left + packing.left()),
        _ => (all, left),
    })
}
