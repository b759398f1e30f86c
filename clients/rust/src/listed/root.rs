//! Begins a list: the private server, the connections, and a first wait for who is there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{Reply, Request, StateQuestion};

use super::arriving::Roll;
use super::attending::attend;
use super::way::{SharedHost, Way};
use super::{HERE, Listed, ServerList, terminal};
use crate::address::Address;
use crate::client::Client;
use crate::dial::{self, ConnectOptions, Patience};
use crate::private::{PrivateServer, ServeOptions};
use crate::standard_streams::keep_standard_streams;
use crate::view::{Dialing, Server, View, is_gone, places};

/// How a private server is told that it is a list's: with this host among the servers, or without.
pub const OF_LIST: &str = "--of-list";
const NOWHERE: &str = "nowhere";
/// Servers that are tried which end while they are connected to.
const ATTEMPTS_MAX: u32 = 5;
const ENDING_PAUSE: Duration = Duration::from_millis(50);
/// More than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// Uses a list of servers as one.
///
/// # Errors
/// `Unreachable` where none of them can be used; as [`PrivateServer::start`].
pub fn begin(list: &ServerList, options: &ConnectOptions) -> Result<Client> {
    keep_standard_streams();
    check_settings(list, options)?;
    let until = Instant::now() + options.timeout.min(FOR_EVER);
    let roll = Arc::new(Roll::new(ways(list, options), list.has_here));
    let (view, server) = if options.shares_here {
        (shared_view(list, options, &roll)?, None)
    } else {
        let server = start(list, options)?;
        (placing_view(list, options, &server.address().parse()?, roll.clone())?, Some(server))
    };
    let client = Client::of(view.clone(), list.name().to_owned(), server);
    for index in 0..list.servers.len() {
        attend(&view, &roll, index)?;
    }
    roll.wait_for_all(until)?;
    if list.has_here {
        learn_own(&view, &roll);
    }
    Ok(client)
}

/// What this host publishes.
fn learn_own(view: &View, roll: &Roll) {
    let question = Request::State(StateQuestion::default());
    // Without an answer, nothing is told of versions of its own.
    if let Ok(Some(Reply::State(report))) = view.home_session().ask(&question, None) {
        roll.versions.publishes(HERE, report.offers.as_deref().unwrap_or_default());
    }
}

/// The same of the private server of this terminal, which may be about to end.
fn shared_view(list: &ServerList, options: &ConnectOptions, roll: &Arc<Roll>) -> Result<Arc<View>> {
    let mut attempt = 1;
    loop {
        let socket = terminal::running(list, &options.here)?;
        match placing_view(list, options, &Address::Unix(socket), roll.clone()) {
            Err(error) if is_gone(&error) && attempt < ATTEMPTS_MAX => {
                attempt += 1;
                std::thread::sleep(ENDING_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// Whether this host is one of the servers, as the private server is told it.
pub fn where_to(list: &ServerList) -> &'static str {
    if list.has_here { HERE } else { NOWHERE }
}

fn start(list: &ServerList, options: &ConnectOptions) -> Result<PrivateServer> {
    let mut here = options.here.clone();
    here.arguments.extend([OF_LIST.to_owned(), where_to(list).to_owned()]);
    let timeout = here.timeout.or(Some(options.timeout));
    PrivateServer::start(&ServeOptions { timeout, ..here })
}

/// The view of a client of the private server.
fn placing_view(
    list: &ServerList,
    options: &ConnectOptions,
    root: &Address,
    roll: Arc<Roll>,
) -> Result<Arc<View>> {
    let compression = dial::given_compression()?;
    let plain = ConnectOptions { secret: None, far: Default::default(), ..options.clone() };
    let reached = dial::reach(root, &plain, compression)?;
    let patience =
        Patience { greeting: options.timeout, answers: options.timeout, until: options.until };
    let (session, address) = dial::greet(reached, patience, compression, 1)?;
    if let Some(heartbeat) = options.heartbeat {
        session.set_heartbeat(heartbeat);
    }
    if !places(&session) {
        let message = "the private server is of a version that knows no other servers";
        return Err(Error::new(ErrorKind::Version, "connect", message)
            .with("server", address)
            .fix("set FARCALL_PROGRAM to the farcall program of this version"));
    }
    let dialing = Dialing { options: options.clone(), home: None, roll: Some(roll) };
    let name = if list.has_here { HERE } else { list.name() };
    Ok(View::new(session, name, dialing))
}

/// Settings are for hosts that `ssh` reaches, and files for this one.
fn check_settings(list: &ServerList, options: &ConnectOptions) -> Result<()> {
    let is_far = |listed: &Listed| matches!(listed.address, Address::Ssh(_));
    let refused = |message: &'static str, fix: &'static str| {
        let error = Error::new(ErrorKind::InvalidArgument, "connect", message);
        Err(error.with("servers", list).fix(fix))
    };
    if !options.far.is_empty() && !list.servers.iter().any(is_far) {
        return refused(
            "account, partition and the other settings are for a host that ssh reaches",
            "list ssh://HOST/slurm, or leave them out",
        );
    }
    if !options.here.files.is_empty() && !list.has_here {
        return refused(
            "files are published by this host, which is not one of the servers",
            "add here to the list",
        );
    }
    Ok(())
}

/// The servers, and how each is reached.
fn ways(list: &ServerList, options: &ConnectOptions) -> Vec<Arc<Server>> {
    let mut hosts: BTreeMap<(String, Option<u16>), Arc<SharedHost>> = BTreeMap::new();
    let has_tls = list.has_certificates();
    let way = |listed: &Listed| {
        let host = match &listed.address {
            Address::Ssh(ssh) => {
                hosts.entry((ssh.destination.clone(), ssh.port)).or_default().clone()
            }
            _ => Arc::default(),
        };
        // One file shows who we are: a certificate where a server of the list wants one.
        let is_for_it = match &listed.address {
            Address::Tls { .. } => true,
            Address::Tcp { .. } => !has_tls,
            _ => false,
        };
        let far = match &listed.address {
            Address::Ssh(_) => options.far.clone(),
            _ => Default::default(),
        };
        let secret = options.secret.clone().filter(|_| is_for_it);
        let options = ConnectOptions { secret, far, ..options.clone() };
        Arc::new(Server::listed(&listed.name, Way::new(&listed.address, options, host)))
    };
    list.servers.iter().map(way).collect()
}
