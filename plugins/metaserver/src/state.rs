//! What a metaserver knows: servers, what they publish, its own node, and the servers that it dials.
//!
//! - Every server in `servers` is a member of the placement under the same name; so is the own node
//!   once it has said how it is.
//! - `connections` has the grants of open connections, and no others for long.
//! - Nothing here waits, reads a clock or draws a number: these come with each event.

mod catalogue;
mod connections;
mod lessons;
mod links;
mod relay;
mod servers;
mod sites;

use std::collections::VecDeque;

use farcall_base::Instant;
use farcall_placement::policy::{self, FinishFirst};
use farcall_placement::{GrantId, Lesson, Placement};
use farcall_services::placement::{Asker, Request};
use farcall_wire::ServerReport;

pub use catalogue::{Catalogue, Offer, module_of};
pub use connections::{Connections, READERS_MAX, READS_FOR};
pub use lessons::Lessons;
pub use links::{DialLimits, LinkKind, LinkNumber, LinkState, Standing};
pub use relay::{Relay, RelayedStream, StreamEnd, StreamNumber, StreamPhase};
pub use servers::{KnownServer, Servers, Source};
pub use sites::Sites;

use crate::options::Settings;
use crate::step::Action;

/// A question of a client, as the driver numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionNumber(pub u64);

/// The own node.
#[derive(Debug, Default)]
pub struct Own {
    /// What others call it; empty until it has said where it listens.
    pub name: String,
    /// What it said last, with all that it publishes.
    pub report: Option<Box<ServerReport>>,
    /// When.
    pub at: Instant,
    /// When it was asked, while it has not answered.
    pub asked: Option<Instant>,
    /// When somebody asked last for what it takes part in.
    pub wanted: Option<Instant>,
}

/// A question that waits until the own node has said how it is.
#[derive(Debug)]
pub struct Parked {
    /// Which.
    pub number: QuestionNumber,
    /// Whose.
    pub asker: Asker,
    /// What.
    pub request: Request,
}

/// How the node is told what others publish.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    /// When it may be told again.
    pub(crate) at: Option<Instant>,
    /// Whether they publish anything, as was told last.
    pub(crate) has_told: bool,
}

/// All that a metaserver knows.
pub struct State {
    pub(crate) settings: Settings,
    pub(crate) placement: Placement,
    /// The upper half of numbers of grants, so that those of two metaservers never meet.
    grants: u64,
    pub(crate) sites: Sites,
    pub(crate) servers: Servers,
    pub(crate) catalogue: Catalogue,
    pub(crate) own: Own,
    pub(crate) links: Vec<LinkState>,
    pub(crate) relay: Relay,
    pub(crate) parked: VecDeque<Parked>,
    pub(crate) connections: Connections,
    /// What is to be written of what was learned.
    pub(crate) lessons: Lessons,
    pub(crate) telling: Telling,
    /// Whether others were there when somebody looked last, or have come since.
    pub(crate) has_others: bool,
    /// When servers were looked at last for those that are silent.
    pub(crate) looked_at: Instant,
    pub(crate) out: VecDeque<Action>,
}

impl State {
    /// Nobody is known yet. `random` tells the grants of this run from those of others.
    pub fn new(settings: Settings, random: u32) -> State {
        let policy = policy::by_name(&settings.placement).unwrap_or_else(|| Box::new(FinishFirst));
        let joins = settings.join.iter().map(|address| LinkState::new(LinkKind::Join, address));
        let members = settings.members.iter();
        let members = members.map(|address| LinkState::new(LinkKind::Member, address));
        State {
            placement: Placement::new(settings.limits(), policy),
            grants: u64::from(random.max(1)) << 32,
            sites: Sites::default(),
            servers: Servers::default(),
            catalogue: Catalogue::new(settings.interfaces_bytes_max),
            own: Own::default(),
            links: joins.chain(members).collect(),
            relay: Relay::default(),
            parked: VecDeque::new(),
            connections: Connections::default(),
            lessons: Lessons::default(),
            telling: Telling::default(),
            has_others: false,
            looked_at: Instant::default(),
            out: VecDeque::new(),
            settings,
        }
    }

    /// What an earlier run learned.
    pub fn restore(&mut self, lessons: &[Lesson]) {
        for lesson in lessons {
            self.placement.restore(lesson, |name| self.sites.of(name, "", ""));
        }
    }

    /// A grant's number for others.
    pub(crate) fn told(&self, grant: GrantId) -> u64 {
        grant.0 ^ self.grants
    }

    /// The grant that others name so; nothing real for those of another metaserver.
    pub(crate) fn grant(&self, told: u64) -> GrantId {
        GrantId(told ^ self.grants)
    }
}
