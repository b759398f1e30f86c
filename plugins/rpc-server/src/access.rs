//! Who may do what: the table `access` of the manifest. Pure.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
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
    /// Names in certificates, `uid N`, `token`, or `*` for everybody who shows a certificate.
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
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The name in a certificate, `uid N`, `token` or `inherited`.
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
}

/// The rights of `principal` by the table: everything that any entry gives that names it.
///
/// Without any entry that names it, the server's own user may do everything; who shows a
/// certificate may call every module as long as the table is empty, and nothing once it is not.
pub fn rights(table: &[Entry], principal: &Principal) -> Rights {
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
    }
}

/// Refuses a certificate's name that stands for somebody else in the table, in the log, and where
/// memory is kept apart.
///
/// # Errors
/// `PermissionDenied`.
pub fn check_name(name: &str) -> Result<()> {
    let uid = name
        .strip_prefix("uid")
        .is_some_and(|rest| rest.trim().chars().all(|c| c.is_ascii_digit()));
    if !uid && ![ALL, "token", "inherited", STARTED_HERE, ""].contains(&name.trim()) {
        return Ok(());
    }
    let message =
        format!("the certificate's name is \"{name}\", which is reserved for another kind of user");
    Err(Error::new(ErrorKind::PermissionDenied, "accept a connection", message)
        .fix("get a certificate with the name of a person or a machine"))
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
                certificate (without blanks), \"*\" for all of these, \"uid 1000\", or \"token\""
            ));
        }
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

/// Whether a connection can have such a principal.
fn can_be_principal(who: &str) -> bool {
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
        }
    }

    /// What the same principal may do by another table.
    pub fn by(&self, table: &[Entry]) -> Rights {
        rights(table, &Principal { name: self.principal.clone(), owns_server: self.owns_server })
    }

    /// What a routine may do for them: call what they may call.
    pub fn to_call(&self) -> Rights {
        Rights { publishes: false, administers: false, ..self.clone() }
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

    fn refusal(&self, what: &str, entry: &str) -> Error {
        let principal = &self.principal;
        let message = format!("\"{principal}\" may not {what}");
        let fix = format!(
            "ask the server's administrator to add to the table access of rpc-server in \
            farcall.toml: {{ who = [\"{principal}\"], {entry} }}"
        );
        Error::new(ErrorKind::PermissionDenied, "check the user's rights", message).fix(fix)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn certificates_cannot_take_the_names_of_others() {
        for name in ["uid 0", "uid 1000", "uid", "uid1", "token", "inherited", "*", "", " token "] {
            assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::PermissionDenied, "{name}");
        }
        for name in ["anna", "uida", "tokens", "build server 3", "uid 0x"] {
            check_name(name).unwrap();
        }
    }

    fn table(text: &str) -> Vec<Entry> {
        let options = farcall_kernel::Options::from_text("farcall.toml", text).unwrap();
        crate::Options::read(&options).unwrap().access
    }

    fn of(table: &[Entry], name: &str, owns_server: bool) -> Rights {
        rights(table, &Principal { name: name.into(), owns_server })
    }

    /// Module a, module b, publish, administer.
    fn shown(rights: &Rights) -> [bool; 4] {
        [
            rights.may_call("a"),
            rights.may_call("b"),
            rights.publish().is_ok(),
            rights.administer().is_ok(),
        ]
    }

    #[test]
    fn without_a_table_users_call_and_the_owner_does_everything() {
        assert_eq!(shown(&of(&[], "anna", false)), [true, true, false, false]);
        assert_eq!(shown(&of(&[], "uid 1000", true)), [true; 4]);
    }

    #[test]
    fn entries_add_up_and_who_is_not_named_may_nothing() {
        let table = table(
            "access = [{ who = [\"anna\", \"bert\"], call = [\"a\"] }, { who = [\"anna\"], \
             publish = true }, { who = [\"carl\"], call = [\"*\"], administer = true }]",
        );
        assert_eq!(shown(&of(&table, "anna", false)), [true, false, true, false]);
        assert_eq!(shown(&of(&table, "bert", false)), [true, false, false, false]);
        assert_eq!(shown(&of(&table, "carl", false)), [true, true, false, true]);
        assert_eq!(shown(&of(&table, "dora", false)), [false; 4]);
        assert_eq!(shown(&of(&table, "token", true)), [true; 4], "the owner");
        // Another table, for those who are connected already.
        assert_eq!(shown(&of(&[], "anna", false).by(&table)), [true, false, true, false]);
        assert_eq!(shown(&of(&table, "dora", false).by(&[])), [true, true, false, false]);
        assert_eq!(shown(&of(&[], "uid 1000", true).by(&table)), [true; 4], "the owner stays one");
    }

    #[test]
    fn everybody_is_everybody_with_a_certificate() {
        let table = table(
            "access = [{ who = [\"*\"], call = [\"b\"] }, { who = [\"token\"], call = [\"a\"] }]",
        );
        assert_eq!(shown(&of(&table, "anna", false)), [false, true, false, false]);
        assert_eq!(shown(&of(&table, "uid 7", true)), [true; 4]);
        assert_eq!(
            shown(&of(&table, "token", true)),
            [true, false, false, false],
            "named, so the table decides"
        );
    }

    #[test]
    fn a_denial_names_principal_right_and_table() {
        let table = table("access = [{ who = [\"anna\"], call = [] }]");
        let anna = of(&table, "anna", false);
        let said = [
            anna.call("lapack").unwrap_err(),
            anna.publish().unwrap_err(),
            anna.administer().unwrap_err(),
        ];
        for (error, words) in said.iter().zip([
            ["\"anna\" may not call routines of module \"lapack\"", "call = [\"lapack\"] }"],
            ["\"anna\" may not publish", "publish = true }"],
            ["\"anna\" may not administer this server", "administer = true }"],
        ]) {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            let text = error.to_string();
            assert!(
                words.iter().all(|word| text.contains(word)) && text.contains("table access"),
                "{text}"
            );
        }
    }

    #[test]
    fn modules_that_nobody_publishes_are_named() {
        let table = table(
            "access = [{ who = [\"anna\"], call = [\"lapack\", \"*\"] }, { who = [\"bert\"], call \
                = [\"lapack\", \"epp\"] }]",
        );
        let unknown = unknown_modules(&table, |module| module == "lapack");
        assert_eq!(unknown, ["entry 2 of access names the module \"epp\""]);
    }

    #[test]
    fn tables_that_mean_nothing_are_refused_with_their_place() {
        let read = |text: &str| {
            let options = farcall_kernel::Options::from_text("farcall.toml", text).unwrap();
            crate::Options::read(&options).unwrap_err().to_string()
        };
        let error = read("calls_max = 9\naccess = [{ who = [], call = [\"a\"] }]");
        assert!(
            error.contains("entry 1 of access names no user") && error.contains("line: 2"),
            "{error}"
        );
        for who in [
            "uid x",
            "uid 01",
            "uid",
            "uid 4294967296",
            "b ert",
            " anna",
            "an*",
            "inherited",
            "token ",
        ] {
            let error = read(&format!("\naccess = [{{ who = [\"anna\", \"{who}\"] }}]"));
            assert!(error.contains(&format!("\"{who}\"")) && error.contains("line: 2"), "{error}");
            assert!(
                ["\"*\"", "\"uid 1000\"", "\"token\"", "certificate"]
                    .iter()
                    .all(|form| error.contains(form))
            );
        }
        for call in ["", "lapack/dgesv", "la pack", "lap*"] {
            let error = read(&format!("access = [{{ who = [\"a\"], call = [\"{call}\"] }}]"));
            assert!(error.contains("not a module name") && error.contains("line: 1"), "{error}");
        }
        assert_eq!(
            table(
                "access = [{ who = [\"anna@x.org\", \"uid 0\", \"*\", \"token\"], call = [\"*\"] }]"
            )
            .len(),
            1
        );
        let error = read("access = [{ who = [\"a\"], cal = [\"b\"] }]");
        assert!(error.contains("cal"), "{error}");
    }
}
