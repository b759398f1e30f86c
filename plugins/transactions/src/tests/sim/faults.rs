//! What goes wrong in a seed.

use farcall_base::{Random, SeededRandom};

use super::net::{MS, SECOND};

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A node is killed, with its server, and comes again after a while, if it does.
    KillNode(usize, Option<u64>),
    KillServer(usize, Option<u64>),
    /// A node and a server do not reach each other for so long.
    Cut(usize, usize, u64),
    /// Connections between the two are lost, and can be made again at once.
    Break(usize, usize),
    /// The store does not answer anybody for so long.
    StoreAway(u64),
    /// One node does not reach the store.
    CutStore(usize, u64),
    /// So many answers to a node are lost.
    Unanswered(usize, u64),
    /// The lease of a node ends while it runs.
    EndLease(usize),
    /// A value is gone from a server.
    Vanish(usize, u64),
    /// The client ends the transaction.
    ClientEnds,
    /// All works again, and at least one node is there.
    Heal,
}

/// When all works again.
pub const HEALED: u64 = 40 * SECOND;

/// What happens in a seed.
pub struct Plan {
    pub kind: Kind,
    pub nodes: usize,
    pub servers: usize,
    pub with_once: bool,
    /// Servers of nodes run no calls.
    pub are_leaders: bool,
    /// One of so many calls is refused.
    pub refuses: u64,
    /// Servers pull from one another.
    pub pulls: bool,
    /// The client does not come back.
    pub is_abandoned: bool,
    /// All calls have to return.
    pub is_strict: bool,
    pub faults: Vec<(u64, Fault)>,
}

/// What may go wrong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    NodesDie,
    ServersDie,
    BothDie,
    Store,
    Network,
    All,
}

const KINDS: [Kind; 8] = [
    Kind::Nothing,
    Kind::NodesDie,
    Kind::ServersDie,
    Kind::BothDie,
    Kind::Store,
    Kind::Network,
    Kind::All,
    Kind::All,
];
/// How many of these are tried.
const TRIED: u64 = 8;
/// Nodes, and servers beside these.
const NODES: u64 = 3;
const SERVERS: u64 = 4;

/// Draws the plan of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut random = SeededRandom::new(seed ^ 0x51ab);
    let mut draw = |below: u64| random.next() % below;
    let kind = KINDS[draw(TRIED) as usize];
    let nodes = 1 + draw(NODES) as usize;
    let servers = draw(SERVERS) as usize;
    let with_once = draw(2) == 0;
    let are_leaders = servers > 1 && draw(4) == 0;
    let refuses = if kind == Kind::All { [0, 0, 20][draw(3) as usize] } else { 0 };
    let pulls = draw(2) == 0;
    let is_abandoned = draw(8) == 0;
    let mut faults = vec![(HEALED, Fault::Heal)];
    let count = if kind == Kind::Nothing { 0 } else { 1 + draw(5) };
    for _ in 0..count {
        let within = [400 * MS, 2 * SECOND, 20 * SECOND][draw(3) as usize];
        let at = draw(within);
        let fault = fault(kind, nodes, servers, &mut draw);
        faults.push((at, fault));
    }
    let only_kills =
        matches!(kind, Kind::Nothing | Kind::NodesDie | Kind::ServersDie | Kind::BothDie);
    // Some server has to be there all the time that runs the calls.
    let is_strict = only_kills && (kind == Kind::Nothing || !with_once) && !are_leaders;
    Plan {
        kind,
        nodes,
        servers,
        with_once,
        are_leaders,
        refuses,
        pulls,
        is_abandoned,
        is_strict,
        faults,
    }
}

fn fault(kind: Kind, nodes: usize, servers: usize, draw: &mut impl FnMut(u64) -> u64) -> Fault {
    let node = draw(nodes as u64) as usize;
    let any = draw((nodes + servers) as u64) as usize;
    let server = if servers > 0 { nodes + draw(servers as u64) as usize } else { any };
    let while_ms = draw(8000);
    let returns = (draw(4) > 0).then_some(50 * MS + while_ms * MS);
    let time = while_ms * MS;
    match kind {
        Kind::NodesDie => Fault::KillNode(node, returns),
        Kind::ServersDie if servers > 0 => Fault::KillServer(server, returns),
        Kind::BothDie if servers > 0 && draw(2) == 0 => Fault::KillServer(server, returns),
        Kind::Nothing | Kind::ServersDie | Kind::BothDie => Fault::KillNode(node, returns),
        Kind::Store => match draw(5) {
            0 => Fault::StoreAway(time),
            1 => Fault::CutStore(node, time),
            2 => Fault::Unanswered(node, 1 + draw(3)),
            3 => Fault::EndLease(node),
            _ => Fault::KillNode(node, returns),
        },
        Kind::Network => match draw(4) {
            0 => Fault::Vanish(any, draw(64)),
            1 | 2 if server != node => Fault::Break(node, server),
            _ => Fault::Cut(node, if server == node { any } else { server }, time),
        },
        Kind::All => match draw(11) {
            0 | 1 => Fault::KillNode(node, returns),
            2 if servers > 0 => Fault::KillServer(server, returns),
            3 => Fault::Cut(node, server, time),
            4 => Fault::Break(node, server),
            5 => Fault::StoreAway(time),
            6 => Fault::CutStore(node, time),
            7 => Fault::Unanswered(node, 1 + draw(3)),
            8 => Fault::EndLease(node),
            9 => Fault::Vanish(any, draw(64)),
            10 if draw(3) == 0 => Fault::ClientEnds,
            _ => Fault::KillNode(node, returns),
        },
    }
}
