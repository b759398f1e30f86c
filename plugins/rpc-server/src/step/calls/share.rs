//! What a call takes of this host's processors, and whose turn it takes.

use farcall_base::{Error, ErrorKind};
use farcall_placement::queue::UserId;
use farcall_wire::Open;

use crate::counters::NameNumber;
use crate::state::{Action, Known, Share, Variant, processors_of};
use crate::step::Server;
use crate::step::calls::ranks;

impl Server {
    /// What a call takes of this host's processors: all that there are, where it wants more.
    pub(in crate::step) fn share_of(
        &mut self,
        whose: NameNumber,
        routine: &Known,
        variant: &Variant,
        open: &Open,
    ) -> Share {
        let user = UserId(whose.number());
        if !routine.module.executable.launcher.is_empty() {
            // What it takes there is its launcher's to count.
            return Share { user, ..Share::default() };
        }
        let wanted = processors_of(variant, ranks::processors(routine, open));
        let processors = wanted.min(self.state.queue.processors.max());
        let is_asked = variant.resources.cores.is_some();
        if processors < wanted && !is_asked && routine.is_news_to_log() {
            let error = too_many(&routine.name, wanted, processors);
            self.state.out.act(Action::Warn(Box::new(error)));
        }
        Share { user, processors, ..Share::default() }
    }
}

fn too_many(routine: &str, wanted: u32, processors: u32) -> Error {
    let message = format!("it wants {wanted} processors, and calls may have {processors} together");
    Error::new(ErrorKind::LimitExceeded, "run a routine", message)
        .with("routine", routine)
        .fix("correct Processors in its interface file, or raise processors_max in farcall.toml")
}
