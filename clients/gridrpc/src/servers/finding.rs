//! Which server has a name, for clients that connect to it themselves.

use std::sync::Arc;

use farcall_client::{Client, Error, ErrorKind};

use super::{Place, Server, Servers, variable};
use crate::code::{Code, Failure, Outcome};
use crate::handles::telling;

impl Servers {
    /// The same for clients whose programs count on a private server where nothing is said.
    pub fn with_private_default(mut self) -> Servers {
        self.has_private_default = true;
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

    /// The address of the first server that has the routine or class, of those that a handle with
    /// this host and port may go to; empty for the server of the call that this process runs.
    pub fn address_for(
        &self,
        host: Option<&str>,
        port: i32,
        name: &str,
        of_class: bool,
    ) -> Outcome<String> {
        let mut failure: Option<Failure> = None;
        for server in self.named(host, port, name)? {
            match server.address_with(name, of_class) {
                Ok(address) => return Ok(address),
                Err(error) => failure = Some(telling(failure, error)),
            }
        }
        Err(self.explained(failure, name))
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
    fn address_with(self: &Arc<Server>, name: &str, of_class: bool) -> Outcome<String> {
        let connection = self.connect_to_bind(None)?;
        let client = &connection.client;
        let found = if of_class { has_class(client, name) } else { client.routine(name).map(drop) };
        let missing = if of_class { Code::ClassNotFound } else { Code::FunctionNotFound };
        found.map_err(|error| {
            self.note(&connection, &error);
            Failure::of_binding(&error, missing)
        })?;
        Ok(if self.is_of_a_call() { String::new() } else { client.address().to_owned() })
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
