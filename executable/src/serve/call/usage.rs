//! How a call's routine uses arrays: those that it only writes, values that nobody may change, and
//! results whose memory becomes such a value (data that stays at the server).

use std::sync::Arc;

use farcall_base::Result;
use farcall_idl::interface::{Interface, Mode, Parameter};
use farcall_link::memory::Region;
use farcall_wire::{Argument, Open, gives_up};

use super::{PendingCall, Place, Segments};

/// The arrays of a call that are no plain copies.
pub(super) struct Usage {
    /// Those that the routine writes and does not read, by parameter.
    pub(super) unread: Vec<usize>,
    /// Values that its routine may write to: it gets copies of the pages.
    copied: Vec<Arc<dyn Region>>,
    /// Segments that this process unmaps before it answers.
    gives_up: Vec<u32>,
}

impl Usage {
    pub(super) fn of(interface: &Interface, open: &Open) -> Usage {
        Usage {
            unread: unread(interface, open),
            copied: Vec::new(),
            gives_up: gives_up(open.attributes.as_deref()),
        }
    }

    /// A value lies where the routine may write.
    pub(super) fn is_copied(&mut self, region: Arc<dyn Region>) {
        self.copied.push(region);
    }

    /// The routine runs from now on.
    pub(super) fn open_copies(&self) -> Result<()> {
        self.copied.iter().try_for_each(|region| region.open_copy())
    }

    /// It has returned.
    pub(super) fn close_copies(&self) {
        self.copied.iter().for_each(|region| region.close_copy());
    }
}

impl PendingCall {
    /// Takes the results out of segments that are given up: nothing here can write to them any more.
    pub fn give_up(&mut self, segments: &mut Segments) {
        for (place, wanted) in self.places.iter_mut().zip(&self.wanted) {
            let is_given_up = |segment: &u32| self.usage.gives_up.contains(segment);
            if matches!(wanted, Argument::Shared(segment, ..) if is_given_up(segment)) {
                *place = Place::None;
            }
        }
        self.usage.gives_up.iter().for_each(|segment| segments.remove(*segment));
    }
}

/// INOUT arrays that were left out.
fn unread(interface: &Interface, open: &Open) -> Vec<usize> {
    let is_unread = |(_, (parameter, argument)): &(usize, (&Parameter, &Argument))| {
        parameter.mode == Mode::InOut && **argument == Argument::Absent
    };
    let all = interface.parameters.iter().zip(&open.arguments).enumerate();
    all.filter(is_unread).map(|(index, _)| index).collect()
}
