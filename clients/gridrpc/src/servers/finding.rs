//! Which server has a name, for clients of other languages, which make calls of their own there.

use std::sync::Arc;
use std::time::Duration;

use farcall_client::{Client, Error, ErrorKind};

use super::{Place, Server, Servers, lock, variable};
use crate::attributes::HandleAttributes;
use crate::code::{Code, Failure, Outcome};
use crate::connecting::Connection;
use crate::handles::telling;
use crate::log;

/// A server that has a name, for a client of another language.
pub struct Found {
    /// Its place among those that are known, which stays.
    place: usize,
    /// The connection to it.
    pub connection: Arc<Connection>,
    /// What holds for calls there.
    terms: HandleAttributes,
}

impl Found {
    /// All of it but the connection itself, as JSON.
    pub fn json(&self) -> String {
        let Found { place, connection, terms } = self;
        let notes = connection.log.is_wanted();
        let key = connection.key;
        let prints = connection.prints;
        let terms = terms.json_members();
        format!(
            "{{\"place\":{place},\"connection\":{key},{terms},\"prints\":{prints},\
             \"notes\":{notes}}}"
        )
    }
}

impl Servers {
    /// The same for clients of other languages (Java's), whose programs count on a private server
    /// where nothing is said. Those of C alone have an effect of all of it.
    pub fn with_private_default(mut self) -> Servers {
        self.has_private_default = true;
        if let Some(warning) = &lock(&self.config).java_warning {
            log::warn_once(&warning.to_string());
        }
        self
    }

    /// Where handles go that no section says anything of.
    pub(super) fn default_place(&self) -> Place {
        if self.has_private_default && variable("FARCALL_SERVER").is_none() {
            Place::Here
        } else {
            Place::Default
        }
    }

    /// The first server that has the routine or class, of those that a handle with these attributes
    /// may go to, and what holds for its calls.
    pub fn find(&self, wanted: &HandleAttributes, name: &str, of_class: bool) -> Outcome<Found> {
        let mut failure: Option<Failure> = None;
        for server in self.named(wanted.host.as_deref(), wanted.port, name)? {
            let function = self.function(&server, name);
            let terms = wanted.completed(server.section.as_ref(), function.as_ref());
            match server.connection_with(name, of_class, terms.start_limit()) {
                Ok(connection) => return Ok(self.found(&server, connection, terms)),
                Err(error) => failure = Some(telling(failure, error)),
            }
        }
        Err(self.explained(failure, name))
    }

    fn found(
        &self,
        server: &Arc<Server>,
        connection: Arc<Connection>,
        terms: HandleAttributes,
    ) -> Found {
        let known = lock(&self.known);
        let place = known.iter().position(|known| Arc::ptr_eq(known, server)).unwrap_or_default();
        Found { place, connection, terms }
    }

    /// Writes a line to the log of what goes to the server at this place and comes from it.
    pub fn note(&self, place: usize, line: &str) {
        let server = lock(&self.known).get(place).cloned();
        if let Some(server) = server {
            server.communication().write(|| line.to_owned());
        }
    }

    /// Why no server has the name: what they said, and what is wrong with stub executables of this
    /// host.
    pub fn explained(&self, said: Option<Failure>, name: &str) -> Failure {
        let nowhere = || Failure::new(Code::ServerNotFound, "the configuration names no server");
        let mut failure = said.unwrap_or_else(nowhere);
        if let Some(missing) = self.missing_stub(name) {
            failure.words = format!("{}; {missing}", failure.words);
        }
        failure
    }
}

impl Server {
    fn connection_with(
        self: &Arc<Server>,
        name: &str,
        of_class: bool,
        limit: Option<Duration>,
    ) -> Outcome<Arc<Connection>> {
        let connection = self.connect_to_bind(limit)?;
        let client = &connection.client;
        let found = if of_class { has_class(client, name) } else { client.routine(name).map(drop) };
        let missing = if of_class { Code::ClassNotFound } else { Code::FunctionNotFound };
        found.map_err(|error| {
            self.note(&connection, &error);
            Failure::of_binding(&error, missing)
        })?;
        Ok(connection)
    }
}

/// A server tells of a class that it has not when an object is to be made: who only asks looks at
/// the names of methods, `module/Class.method`.
fn has_class(client: &Client, name: &str) -> farcall_client::Result<()> {
    let is_it = |class: &str| class == name || class.rsplit('/').next() == Some(name);
    let methods = client.routines()?;
    let mut classes = methods.iter().filter_map(|method| method.name().split_once('.'));
    if classes.any(|(class, _)| is_it(class)) {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::NotFound,
        "find a class",
        format!("no class \"{name}\" is published"),
    );
    Err(error.with("server", client.address()).fix("`farcall ls` lists all names"))
}
