//! Launchers of Ninf-G that have a counterpart here: hosts that `ssh` reaches, and Slurm behind it.

use super::check::Values;
use super::mistake::{Remarks, shown};

/// The option of a launcher that counts.
const USER: &str = "ssh_user ";

/// How a host is reached that has no server of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// `None`: the one that `ssh` is configured for.
    pub user: Option<String>,
    /// What runs the routines there; `None`: the host itself.
    pub launcher: Option<&'static str>,
}

/// What a type of launchers is here; the outer `None` for one without a counterpart.
fn launcher(name: &str) -> Option<Option<&'static str>> {
    match name {
        "SSH" => Some(None),
        "Slurm" | "SLURM" => Some(Some("slurm")),
        _ => None,
    }
}

impl Launch {
    /// What a SERVER says.
    pub(crate) fn of(server: &Values) -> Option<Launch> {
        let launcher = launcher(&server.text("invoke_server")?)?;
        let options = server.texts("invoke_server_option").into_iter();
        let user = options
            .filter_map(|(option, _)| Some(option.strip_prefix(USER)?.trim().to_owned()))
            .next();
        Some(Launch { user, launcher })
    }

    /// The address of a server there.
    pub fn address(&self, host: &str) -> String {
        let user = self.user.as_ref().map_or(String::new(), |user| format!("{user}@"));
        let launcher = self.launcher.map_or(String::new(), |launcher| format!("/{launcher}"));
        format!("ssh://{user}{host}{launcher}")
    }
}

/// Whether a section's type has a counterpart.
pub(crate) fn is_known(section: &Values, attribute: &'static str) -> bool {
    section.text(attribute).is_some_and(|name| launcher(&name).is_some())
}

/// Says of options that they have no effect, and of which type's section what else has none.
pub(crate) fn check(
    section: &Values,
    attribute: &'static str,
    options: &'static str,
    remarks: &mut Remarks,
) {
    for (option, place) in section.texts(options) {
        let name = option.split(' ').next().unwrap_or_default();
        if !is_known(section, attribute) || !option.starts_with(USER) {
            let reason = "ssh uses its own configuration (~/.ssh/config); of a launcher's \
                options, only ssh_user is used";
            let message = format!("the option {} has no effect: {reason}", shown(name));
            remarks.warn_once(&format!("option {name}"), &place, message);
        }
    }
    let rest = ["path", "max_jobs", "log_filePath", "status_polling"];
    let is_section = attribute == "type";
    if let Some(name) = rest.into_iter().find(|name| is_section && !section.all(name).is_empty()) {
        let what = section.text("type").unwrap_or_default();
        let message =
            format!("{name} has no effect: for the type {}, your own ssh runs", shown(&what));
        remarks.warn_once(&format!("section {what}"), &section.place_of(name), message);
    }
}
