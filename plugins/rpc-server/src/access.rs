//! Who may do what: the table `access` of the manifest. Pure.

pub mod claims;

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::hosts::{SERVER, is_same_host};
use farcall_services::directory::Visible;
use serde::Deserialize;

use crate::Orderer;

/// Stands for every module, and for everybody who shows a certificate.
const ALL: &str = "*";
/// Characters of a module's name in a refusal.
const NAME_SHOWN_MAX: usize = 80;

/// The principal of what this server has started, routines and what they start: no entry can name
/// it.
pub const STARTED_HERE: &str = "routine";

/// One entry of the table: what some principals may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Names in users' certificates, `uid N`, `token`, or `*` for every user who shows a
    /// certificate. Where they may join: `server:HOST`, `server:*` for every server, or `uid N`.
    pub who: Vec<String>,
    /// Modules whose routines they may call; `*` for all.
    #[serde(default)]
    pub call: Vec<String>,
    /// Whether they may publish and withdraw modules.
    #[serde(default)]
    pub publish: bool,
    /// Whether they may drain, reload and look at others' calls.
    #[serde(default)]
    pub administer: bool,
    /// Whether they may report to this server and listen to it, as servers that it places calls on.
    #[serde(default)]
    pub join: bool,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The name in a certificate, `uid N`, `token` or `inherited`; of a server's certificate
    /// `server:HOST`, which no other certificate's can be ([`check_name`]).
    pub name: String,
    /// Whether it is the server's own user (or root, or who can read that user's files): it could
    /// end the server and read its memory, so that refusing it anything would only be a show.
    /// Unless the table names it.
    pub owns_server: bool,
}

/// What a principal may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    principal: String,
    /// As [`Principal::owns_server`].
    owns_server: bool,
    /// Whose routines they may call.
    modules: Visible,
    publishes: bool,
    administers: bool,
    joins: bool,
}

/// The rights of `principal` by the table: everything that any entry gives that names it.
///
/// Without any entry that names it, the server's own user may do everything; who shows a user's
/// certificate may call every module as long as the table is empty, and nothing once it is not.
///
/// Another server may join where an entry says so that names it as a server, and nothing else,
/// whatever the table has for users; and no user may join, but for the server's own.
pub fn rights(table: &[Entry], principal: &Principal) -> Rights {
    if let Some(host) = host_of(&principal.name) {
        let joins = |entry: &Entry| entry.join && entry.who.iter().any(|who| names_host(who, host));
        return Rights {
            principal: principal.name.clone(),
            owns_server: false,
            modules: Visible::Only(Arc::default()),
            publishes: false,
            administers: false,
            joins: table.iter().any(joins),
        };
    }
    let names = |who: &String| who == &principal.name || (who == ALL && !principal.owns_server);
    let named: Vec<&Entry> = table.iter().filter(|entry| entry.who.iter().any(names)).collect();
    let unnamed = named.is_empty();
    let owner = unnamed && principal.owns_server;
    let all = owner
        || table.is_empty()
        || named.iter().any(|entry| entry.call.iter().any(|module| module == ALL));
    Rights {
        principal: principal.name.clone(),
        owns_server: principal.owns_server,
        modules: match all {
            true => Visible::All,
            false => Visible::Only(Arc::new(
                named.iter().flat_map(|entry| entry.call.iter().cloned()).collect(),
            )),
        },
        publishes: owner || named.iter().any(|entry| entry.publish),
        administers: owner || named.iter().any(|entry| entry.administer),
        joins: owner || (principal.owns_server && named.iter().any(|entry| entry.join)),
    }
}

/// The host of a server's principal; `None` for all others.
fn host_of(principal: &str) -> Option<&str> {
    principal.strip_prefix(SERVER)
}

/// Whether `who` of the table stands for the server on `host`.
fn names_host(who: &str, host: &str) -> bool {
    host_of(who).is_some_and(|named| named == ALL || is_same_host(named, host))
}

/// Refuses a name in a user's certificate that stands for somebody else in the table, in the log, and where
/// memory is kept apart.
///
/// # Errors
/// `PermissionDenied`.
pub fn check_name(name: &str) -> Result<()> {
    let uid = name
        .strip_prefix("uid")
        .is_some_and(|rest| rest.trim().chars().all(|c| c.is_ascii_digit()));
    let is_free = ![ALL, "token", "inherited", STARTED_HERE, ""].contains(&name.trim());
    if !uid && is_free && host_of(name.trim_start()).is_none() {
        return Ok(());
    }
    let message =
        format!("the certificate's name is \"{name}\", which is reserved for another kind of user");
    Err(Error::new(ErrorKind::PermissionDenied, "accept a connection", message)
        .fix("get a certificate with the name of a person or a machine"))
}

/// The principal of this name, for calls that go on while nobody of that name is connected: as the
/// connection was judged that proved it. `own_uid` is the server's; without it, any user is taken.
///
/// # Errors
/// `PermissionDenied` for a name that does not say who it is.
pub fn named(name: &str, own_uid: Option<u32>) -> Result<Principal> {
    let refused = |message: String| {
        Err(Error::new(ErrorKind::PermissionDenied, "keep a transaction", message))
    };
    let principal = |owns_server| Ok(Principal { name: name.to_owned(), owns_server });
    let uid = name.strip_prefix("uid ").and_then(|uid| uid.parse::<u32>().ok());
    match (uid, own_uid) {
        (Some(uid), Some(own)) if uid != own && uid != 0 => {
            refused(format!("this server serves only user {own}, not user {uid}"))
        }
        (Some(_), _) => principal(true),
        // A client that knows the token can read the files of the server's own user.
        (None, _) if name == "token" => principal(true),
        (None, _) if check_name(name).is_ok() => principal(false),
        (None, _) => refused(format!(
            "\"{name}\" does not say who it is, so that no server could judge later what it may do"
        ))
        .map_err(|error: Error| {
            error.fix("begin the transaction without keep, or from a program of its user")
        }),
    }
}

/// Refuses a table that cannot mean anything.
///
/// # Errors
/// What is wrong with it, for [`farcall_kernel::Options::wrong`].
pub fn check(table: &[Entry]) -> std::result::Result<(), String> {
    for (index, entry) in table.iter().enumerate() {
        let which = format!("entry {} of access", index + 1);
        if entry.who.is_empty() || entry.who.iter().any(String::is_empty) {
            return Err(format!("{which} names no user in who"));
        }
        if let Some(who) = entry.who.iter().find(|who| !can_be_principal(who)) {
            let who = who.escape_debug();
            return Err(format!(
                "{which} names \"{who}\" in who, which is not a user name: write a name as in a \
                certificate (without blanks), \"*\" for all of these, \"uid 1000\", \"token\", or \
                \"server:HOST\" for a server"
            ));
        }
        check_join(entry).map_err(|message| format!("{which} {message}"))?;
        if let Some(module) = entry.call.iter().find(|module| !can_be_module(module)) {
            let module = module.escape_debug();
            return Err(format!(
                "{which} names \"{module}\" in call, which is not a module name: write the name \
                of a module (not of a routine, and without blanks), or \"*\" for all"
            ));
        }
    }
    Ok(())
}

/// Servers join and do nothing else; users do all but join.
fn check_join(entry: &Entry) -> std::result::Result<(), String> {
    let is_server = |who: &&String| host_of(who).is_some();
    if let Some(server) = entry.who.iter().find(is_server)
        && (!entry.join || !entry.call.is_empty() || entry.publish || entry.administer)
    {
        return Err(format!(
            "names \"{server}\" in who: a server may join, and do nothing else: write an entry of \
                its own: {{ who = [\"{server}\"], join = true }}"
        ));
    }
    let own_user = |who: &str| who.starts_with("uid ");
    match entry.who.iter().find(|who| !is_server(who) && !own_user(who)) {
        Some(user) if entry.join => Err(format!(
            "gives join to \"{user}\", and only servers join: write \"server:HOST\" with the \
                first host of a server's certificate, \"server:*\" for every server of the \
                authority, or \"uid 1000\" for this server's own user"
        )),
        _ => Ok(()),
    }
}

/// What can stand behind `server:`.
fn can_be_host(host: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    host == ALL || (!host.is_empty() && host.chars().all(usable))
}

/// Whether a connection can have such a principal.
fn can_be_principal(who: &str) -> bool {
    if let Some(host) = host_of(who) {
        return can_be_host(host);
    }
    // As the server writes it.
    let uid = who
        .strip_prefix("uid ")
        .and_then(|number| Some(number.parse::<u32>().ok()?.to_string() == number));
    let is_unusual = |c: char| c.is_whitespace() || c.is_control() || c == '*';
    uid.unwrap_or_else(|| {
        who == ALL || who == "token" || (check_name(who).is_ok() && !who.contains(is_unusual))
    })
}

/// What the directory lets a module be called (plugins/directory), or all of them.
fn can_be_module(module: &str) -> bool {
    let is_unusual = |c: char| c.is_whitespace() || c.is_control() || c == '/' || c == '*';
    module == ALL || (!module.is_empty() && !module.contains(is_unusual))
}

/// Modules that the table names and `is_published` does not know: mistakes, or modules to come.
pub fn unknown_modules(table: &[Entry], is_published: impl Fn(&str) -> bool) -> Vec<String> {
    let named = |(index, entry): (usize, &Entry)| {
        let unknown = entry.call.iter().filter(|module| *module != ALL && !is_published(module));
        let words = |module: &String| {
            format!("entry {} of access names the module \"{module}\"", index + 1)
        };
        unknown.map(words).collect::<Vec<_>>()
    };
    table.iter().enumerate().flat_map(named).collect()
}

impl Rights {
    /// Of a peer that is the server itself: everything.
    pub fn all(principal: impl Into<String>) -> Rights {
        Rights {
            principal: principal.into(),
            owns_server: true,
            modules: Visible::All,
            publishes: true,
            administers: true,
            joins: true,
        }
    }

    /// What the same principal may do by another table.
    pub fn by(&self, table: &[Entry]) -> Rights {
        rights(table, &Principal { name: self.principal.clone(), owns_server: self.owns_server })
    }

    /// What a routine may do for them: call what they may call.
    pub fn to_call(&self) -> Rights {
        Rights { publishes: false, administers: false, joins: false, ..self.clone() }
    }

    /// As [`Principal::owns_server`].
    pub fn owns_server(&self) -> bool {
        self.owns_server
    }

    /// Whose they are.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Whether routines of the module may be called.
    pub fn may_call(&self, module: &str) -> bool {
        self.modules.shows(module)
    }

    /// Modules that answers to them may name: those that they may call.
    pub fn visible(&self) -> Visible {
        self.modules.clone()
    }

    /// Modules that they are told of when they ask how the server is: a server that may join calls
    /// none, and sends others to all.
    pub fn offered(&self) -> Visible {
        if self.joins { Visible::All } else { self.visible() }
    }

    /// What whoever carries out an order of theirs must know. Administrators are told of all
    /// modules anyway.
    pub fn orderer(&self) -> Orderer {
        Orderer {
            principal: self.principal.clone(),
            administers: self.administers,
            visible: if self.administers { Visible::All } else { self.visible() },
        }
    }

    /// The right to ask for `name`, decided by its module's name alone: before anybody looks
    /// whether there is such a routine, so that neither the answer nor the time that it takes
    /// tells.
    ///
    /// # Errors
    /// As [`Rights::call`].
    pub fn ask(&self, name: &str) -> Result<()> {
        let Some((module, _)) = name.split_once('/') else { return Ok(()) };
        // Of `module@HASH`, which names a version, the module counts.
        let without_version = module.rsplit_once('@').map_or(module, |(module, _)| module);
        let shows = |module| self.modules.shows_in_other_case(module);
        if shows(module) || shows(without_version) { Ok(()) } else { self.call(module) }
    }

    /// The right to call routines of the module.
    ///
    /// # Errors
    /// `PermissionDenied` with the principal, the right, and what to write into the table.
    pub fn call(&self, module: &str) -> Result<()> {
        if self.may_call(module) {
            return Ok(());
        }
        // As a stranger wrote it, who may have asked for no module at all.
        let module: String =
            module.chars().take(NAME_SHOWN_MAX).flat_map(char::escape_debug).collect();
        Err(self.refusal(
            &format!("call routines of module \"{module}\""),
            &format!("call = [\"{module}\"]"),
        ))
    }

    /// The right to publish and withdraw modules.
    ///
    /// # Errors
    /// As [`Rights::call`].
    pub fn publish(&self) -> Result<()> {
        if self.publishes { Ok(()) } else { Err(self.refusal("publish", "publish = true")) }
    }

    /// The right to drain and reload the server, and to look at others' calls.
    ///
    /// # Errors
    /// As [`Rights::call`].
    pub fn administer(&self) -> Result<()> {
        if self.administers {
            Ok(())
        } else {
            Err(self.refusal("administer this server", "administer = true"))
        }
    }

    /// The right to report to this server and to listen to it, as one that it places calls on.
    ///
    /// # Errors
    /// As [`Rights::call`].
    pub fn join(&self) -> Result<()> {
        if self.joins {
            return Ok(());
        }
        if host_of(&self.principal).is_some() {
            let message = format!("\"{}\" may not join this server", self.principal);
            return Err(denied(message).fix(self.to_join()));
        }
        if self.owns_server {
            return Err(self.refusal("join this server", "join = true"));
        }
        let principal = &self.principal;
        let message = format!("\"{principal}\" may not join this server: only servers join others");
        Err(denied(message).fix(
            "start the server that is to join with a server's certificate: farcall ca server HOST",
        ))
    }

    /// Whether they are a user's, who may ask, call and order within these rights; `what` is what
    /// they want to do. A server may join, and nothing else.
    ///
    /// # Errors
    /// `PermissionDenied` for a server.
    pub fn act_as_user(&self, what: &str) -> Result<()> {
        match host_of(&self.principal) {
            Some(_) => Err(self.server_refusal(what)),
            None => Ok(()),
        }
    }

    fn server_refusal(&self, what: &str) -> Error {
        let message = format!(
            "\"{}\" may not {what}: this is a server's certificate, with which a server can only \
                join this one",
            self.principal
        );
        let as_user = "use a user's certificate (farcall ca user NAME)";
        denied(message).fix(match self.joins {
            true => as_user.to_owned(),
            false => format!("{as_user}; to let the server join, {}", self.to_join()),
        })
    }

    /// What lets a server join.
    fn to_join(&self) -> String {
        format!(
            "ask the administrator of this server to add to the table access of rpc-server in \
                farcall.toml: {{ who = [\"{}\"], join = true }}",
            self.principal
        )
    }

    fn refusal(&self, what: &str, entry: &str) -> Error {
        if host_of(&self.principal).is_some() {
            return self.server_refusal(what);
        }
        let principal = &self.principal;
        let message = format!("\"{principal}\" may not {what}");
        let fix = format!(
            "ask the server's administrator to add to the table access of rpc-server in \
            farcall.toml: {{ who = [\"{principal}\"], {entry} }}"
        );
        denied(message).fix(fix)
    }
}

fn denied(message: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, "check the user's rights", message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
