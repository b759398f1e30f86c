//! Which servers a server knows, and where it would place a call.

use std::time::Duration;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::evaluate::Values;
use farcall_idl::infer::{Arguments, Given, complete_sizes};
use farcall_idl::scalar::ScalarValue;
use farcall_placement::Demand;
use farcall_system::host_name::host_name;
use farcall_wire::{
    PLACEMENT, PlaceQuestion, PlacedServer, Reply, ReportAnswer, Request, ServerReport, ServerState,
};

use super::Client;
use crate::argument::Argument;
use crate::client::CallOptions;
use crate::data::{Target, target};
use crate::marshal::with_given;
use crate::routine::Routine;
use crate::view::Server;

/// Arrays of a call that is only explained: as much as there may be.
const CALL_BYTES_MAX: Bytes = Bytes(u64::MAX >> 1);

/// What a call would need on each server.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// All servers, the best first; those that cannot be chosen last.
    pub servers: Vec<PlacedServer>,
    /// What the call asks for.
    pub demand: Demand,
    /// Sizes that were not given and are taken to be 1.
    pub assumed: Vec<String>,
}

impl Explanation {
    /// Seconds from a call to its results at a server: waiting and sending overlap.
    pub fn total_s(server: &PlacedServer) -> f64 {
        server.send_s.max(server.wait_s) + server.run_s + server.return_s
    }
}

/// Scalars of a call, by parameter number.
struct Scalars(Vec<Option<ScalarValue>>);

impl Scalars {
    fn value(&self, parameter: u16, element: u64) -> Option<ScalarValue> {
        self.0.get(usize::from(parameter)).copied().flatten().filter(|_| element == 0)
    }
}

impl Values for Scalars {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        self.value(parameter, element)?.integer()
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.value(parameter, element)?.float()
    }

    fn complex(&self, parameter: u16, element: u64) -> Option<(f64, f64)> {
        self.value(parameter, element)?.complex()
    }

    fn length(&self, _: u16) -> Option<u64> {
        None
    }
}

impl Client {
    /// The servers that the server knows, itself first.
    ///
    /// # Errors
    /// `Unavailable` for a server that tells of none, `TimedOut`.
    pub fn servers(&self, timeout: Duration) -> Result<Vec<ServerState>> {
        match self.ask_placement(&Request::Servers(host_name(), String::new()), timeout)? {
            Reply::Servers(mut servers) => {
                if let Some(roll) = self.view().roll() {
                    roll.complete_states(&mut servers);
                }
                Ok(servers)
            }
            _ => Err(unexpected()),
        }
    }

    /// Where a call of these sizes would run, and what it would need on each server. `given` has
    /// one entry for each parameter that a caller passes; arrays may be left out.
    ///
    /// # Errors
    /// `InvalidArgument` for sizes that the interface does not allow; as [`Client::servers`].
    pub fn explain(
        &self,
        routine: &Routine,
        given: &[Given<'_>],
        timeout: Duration,
    ) -> Result<Explanation> {
        let interface = routine.interface();
        let (Arguments { scalars, .. }, assumed) = complete_sizes(interface, given)?;
        let demand = Demand::of(interface, &Scalars(scalars), CALL_BYTES_MAX)?;
        let question = PlaceQuestion {
            name: interface.full_name(),
            contract: routine.contract.hash,
            sizes: demand.sizes,
            amount: demand.amount(),
            processors: demand.processors.unwrap_or(1),
            bytes_in: demand.bytes_in,
            bytes_out: demand.bytes_out,
            host: host_name(),
            calls: 1,
            explains: true,
            ..PlaceQuestion::default()
        };
        match self.ask_placement(&Request::Place(Box::new(question.clone())), timeout)? {
            Reply::Placed(mut answer) => {
                self.view().ask_leading(&question, &mut answer);
                if let Some(roll) = self.view().roll() {
                    roll.complete_placed(&mut answer.servers);
                }
                let name = |index: &usize| interface.parameters[*index].name.clone();
                let assumed = assumed.iter().map(name).collect();
                Ok(Explanation { servers: answer.servers, demand, assumed })
            }
            _ => Err(unexpected()),
        }
    }

    /// Says how a server is that this process knows; what its metaserver still wants to know.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to join; as [`Client::servers`].
    pub fn report(&self, report: ServerReport, timeout: Duration) -> Result<ReportAnswer> {
        match self.ask_placement(&Request::Report(Box::new(report)), timeout)? {
            Reply::Reported(answer) => Ok(answer),
            _ => Err(unexpected()),
        }
    }

    /// The same of a call with these arguments, one per parameter; arrays may be left out where
    /// their sizes are given. Waits for as long as the client's timeout.
    ///
    /// # Errors
    /// As [`Client::explain`].
    pub fn explain_call(
        &self,
        routine: &Routine,
        arguments: &[Argument<'_>],
    ) -> Result<Explanation> {
        let timeout = self.session().patience();
        let mut explanation = with_given(&routine.contract, arguments, |given, _| {
            self.explain(routine, given, timeout)
        })?;
        let options = CallOptions::default();
        if let Target::There(server) = target(self, &routine.contract, arguments, &options)? {
            bind_to(&mut explanation.servers, &server, self.view().is_home(&server));
        }
        Ok(explanation)
    }

    fn ask_placement(&self, request: &Request, timeout: Duration) -> Result<Reply> {
        let told = |error: Error| error.with("server", self.address());
        if !self.session().has_feature(PLACEMENT) {
            let message = "this server knows no other servers";
            let error = Error::new(ErrorKind::Unavailable, "ask for servers", message);
            return Err(told(error.fix("start a newer version of Farcall")));
        }
        match self.session().ask_for(request, None, timeout).map_err(told)? {
            Some(Reply::Failed(failure)) => Err(told(Error::from(failure))),
            Some(reply) => Ok(reply),
            None => Err(told(Error::new(ErrorKind::TimedOut, "ask for servers", "no answer"))),
        }
    }
}

/// A call runs where its data is.
fn bind_to(servers: &mut [PlacedServer], holder: &Server, is_home: bool) {
    for placed in servers.iter_mut() {
        let is_there = if is_home { placed.is_self } else { placed.name == *holder.name };
        if is_there {
            placed.calls = u32::from(!placed.excluded);
            continue;
        }
        placed.calls = 0;
        if !placed.excluded {
            placed.excluded = true;
            placed.note = format!("data of the call is at {}", holder.name);
        }
    }
    servers.sort_by_key(|placed| placed.excluded);
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Protocol, "ask for servers", "it sent the wrong kind of answer")
}
