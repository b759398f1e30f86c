//! Calls of farms, of which nobody else is told.

use std::collections::VecDeque;

use super::Caller;
use crate::announced::Audience;
use crate::application::Application;

impl<A: Application> Caller<A> {
    /// The numbers of all calls of a farm that have ended or have news, in order.
    pub fn take_farmed(&mut self, farm: Audience, told: &mut VecDeque<u64>) {
        self.announced.take_farmed(farm, told);
    }

    /// A farm is told of its calls from now on, or no more.
    pub fn tell_farm(&mut self, farm: Audience, is_told: bool) {
        self.announced.tell_farm(farm, is_told);
    }
}
