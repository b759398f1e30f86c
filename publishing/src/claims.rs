//! Whose a module's name is. Who may publish may not take away what others serve by a name, nor
//! what the manifest grants to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use farcall_base::{Error, ErrorKind, Result};
use farcall_rpc_server::Orderer;

/// A module that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The file that it came from.
    pub file: PathBuf,
    /// The principal that published it; none for the command line's.
    pub owner: Option<String>,
}

/// Modules that are published, and names that the manifest has said something of.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    published: BTreeMap<String, Claim>,
    mentioned: BTreeSet<String>,
}

impl Claims {
    /// Nothing is published yet.
    pub fn new(mentioned: impl IntoIterator<Item = String>) -> Claims {
        Claims { published: BTreeMap::new(), mentioned: mentioned.into_iter().collect() }
    }

    /// A module is published.
    pub fn insert(&mut self, module: String, claim: Claim) {
        self.published.insert(module, claim);
    }

    /// It is withdrawn, and its name is free.
    pub fn remove(&mut self, module: &str) {
        self.published.remove(module);
    }

    /// A module that is published.
    pub fn get(&self, module: &str) -> Option<&Claim> {
        self.published.get(module)
    }

    /// Names of all modules that are published.
    pub fn modules(&self) -> impl Iterator<Item = &String> {
        self.published.keys()
    }

    /// Refuses a name that is not this orderer's to publish or withdraw.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check(&self, module: &str, by: &Orderer) -> Result<()> {
        if by.administers {
            return Ok(());
        }
        let whose = match self.published.get(module).map(|claim| &claim.owner) {
            _ if self.mentioned.contains(module) => {
                "has its own entry in farcall.toml (modules.NAME)"
            }
            Some(Some(owner)) if *owner == by.principal => return Ok(()),
            Some(Some(_)) => "was published by another user",
            Some(None) => "was published when the server started",
            None => return Ok(()),
        };
        // Of modules that they may not call, they hear no more than that the name is taken.
        let message = format!(
            "\"{}\" may not change the module \"{}\": it {whose}",
            by.principal,
            module.escape_debug()
        );
        Err(Error::new(ErrorKind::PermissionDenied, "publish a module", message).fix(
            "rename the module, or ask an administrator of the server (administer = true in \
                access)",
        ))
    }
}

/// Which names a module may have that is made of somebody's file.
#[derive(Clone, Debug)]
pub enum Names {
    /// Those that are free for its publisher.
    Of(Claims, Orderer),
    /// The one that it has had, from this file: it is made again.
    Only(String, PathBuf),
}

impl Names {
    /// Refuses any other name. A module that has none yet is nobody's.
    ///
    /// # Errors
    /// `PermissionDenied`; `InvalidSource` for a file that has another module now.
    pub fn check(&self, module: &str) -> Result<()> {
        match self {
            _ if module.is_empty() => Ok(()),
            Names::Of(claims, by) => claims.check(module, by),
            Names::Only(name, _) if name == module => Ok(()),
            Names::Only(name, file) => {
                let message = format!("the file has the module \"{}\" now", module.escape_debug());
                Err(Error::new(ErrorKind::InvalidSource, "reload a module", message)
                    .with("file", file.display())
                    .fix(format!("farcall publish {}; farcall withdraw {name}", file.display())))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use farcall_services::directory::Visible;

    fn orderer(principal: &str, administers: bool) -> Orderer {
        Orderer { principal: principal.to_owned(), administers, visible: Visible::All }
    }

    #[test]
    fn names_are_their_publishers_the_command_lines_and_the_manifests() {
        let mut claims = Claims::new(["heat".to_owned()]);
        for (module, owner) in [("lapack", None), ("area", Some("anna"))] {
            let claim = Claim { file: "x.idl".into(), owner: owner.map(str::to_owned) };
            claims.insert(module.to_owned(), claim);
        }
        let may = |module: &str, by: &Orderer| claims.check(module, by).is_ok();
        let anna = orderer("anna", false);
        let bert = orderer("bert", false);
        let admin = orderer("carl", true);
        let allowed = ["heat", "lapack", "area", "new"]
            .map(|module| [&anna, &bert, &admin].map(|by| may(module, by)));
        assert_eq!(
            allowed,
            [[false, false, true], [false, false, true], [true, false, true], [true, true, true]]
        );
        let error = claims.check("heat", &anna).unwrap_err();
        assert!(
            error.kind() == ErrorKind::PermissionDenied
                && error.to_string().contains("administer = true"),
            "{error}"
        );
        claims.remove("area");
        assert!(claims.check("area", &bert).is_ok());
        assert!(Names::Of(claims, bert).check("").is_ok());
    }

    #[test]
    fn what_is_made_again_keeps_its_name() {
        let names = Names::Only("area".to_owned(), "x.idl".into());
        assert!(names.check("area").is_ok() && names.check("").is_ok());
        assert_eq!(names.check("heat").unwrap_err().kind(), ErrorKind::InvalidSource);
    }
}
