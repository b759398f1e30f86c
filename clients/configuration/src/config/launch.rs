//! Launchers of Ninf-G that have a counterpart here: hosts that `ssh` reaches, and Slurm behind it.

use super::check::Values;
use super::mistake::{Remarks, shown};

/// Options of Ninf-G's launcher SSH that have no effect, beside those that count.
#[cfg(test)]
pub(crate) const UNUSED: [&str; 12] = [
    "ssh_remoteTempdir",
    "ssh_submitCommand",
    "ssh_statusCommand",
    "ssh_deleteCommand",
    "ssh_MPIcommand",
    "ssh_MPIoption",
    "ssh_MPInumberOfProcessorsOption",
    "ssh_MPImachinefileOption",
    "ssh_SGEparallelEnvironment",
    "ssh_PBSprocessorsPerNode",
    "ssh_PBSrsh",
    "ssh_relayNode",
];

/// The options of a launcher that count.
const USER: &str = "ssh_user";
const COMMAND: &str = "ssh_command";
const OPTION: &str = "ssh_option";
const SHELL: &str = "ssh_remoteSh";
pub(crate) const KNOWN: [&str; 4] = [USER, COMMAND, OPTION, SHELL];

/// How a host is reached that has no server of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// `None`: the one that `ssh` is configured for.
    pub user: Option<String>,
    /// What runs the routines there; `None`: the host itself.
    pub launcher: Option<&'static str>,
    /// The port of the host's sshd; `None`: the one that `ssh` is configured for.
    pub port: Option<u16>,
    /// The program that is run in the place of `ssh`.
    pub command: Option<String>,
    /// Its options, in order.
    pub options: Vec<String>,
    /// The shell that it runs there.
    pub shell: Option<String>,
}

/// The value of an option of this name.
fn value(option: &str, name: &str) -> Option<String> {
    let rest = option.strip_prefix(name)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim().to_owned()).filter(|rest| !rest.is_empty())
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
        let options = server.texts("invoke_server_option");
        let all = |name| options.iter().filter_map(move |(option, _)| value(option, name));
        Some(Launch {
            user: all(USER).next(),
            launcher,
            port: server
                .number("port")
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port > 0),
            command: all(COMMAND).next(),
            options: all(OPTION).collect(),
            shell: all(SHELL).next(),
        })
    }

    /// The address of a server there.
    pub fn address(&self, host: &str) -> String {
        let user = self.user.as_ref().map_or(String::new(), |user| format!("{user}@"));
        let launcher = self.launcher.map_or(String::new(), |launcher| format!("/{launcher}"));
        let port = self.port.map_or(String::new(), |port| format!(":{port}"));
        format!("ssh://{user}{host}{port}{launcher}")
    }
}

/// The launcher that a SERVER names, if it has no counterpart here: a jobmanager of Globus, or what
/// starts executables by a type.
pub(crate) fn foreign(server: &Values) -> Option<String> {
    let typed = server.text("invoke_server").filter(|name| launcher(name).is_none());
    typed.or_else(|| server.text("jobmanager"))
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
        if !is_known(section, attribute) || !KNOWN.contains(&name) {
            let reason = "of a launcher's options, ssh_user, ssh_command, ssh_option and \
                ssh_remoteSh are used; all else is ssh's own configuration (~/.ssh/config)";
            let message = format!("the option {} has no effect: {reason}", shown(name));
            remarks.warn_once(&format!("option {name}"), &place, message);
        }
    }
    // A type without a counterpart has no effect, and with it nothing of its section.
    if attribute == "type" && is_known(section, attribute) {
        check_section(section, remarks);
    }
}

/// Says what of a launcher's section has no effect, in one.
fn check_section(section: &Values, remarks: &mut Remarks) {
    let mut written = ["path", "max_jobs", "log_filePath", "status_polling"]
        .into_iter()
        .filter(|name| !section.all(name).is_empty());
    let Some(first) = written.next() else { return };
    let others: Vec<&str> = written.collect();
    let what = section.text("type").unwrap_or_default();
    let verb = if others.is_empty() { "has" } else { "have" };
    let names = [&[first], others.as_slice()].concat().join(", ");
    let message =
        format!("{names} {verb} no effect: for the type {}, your own ssh runs", shown(&what));
    remarks.warn_once(&format!("section {what}"), &section.place_of(first), message);
}
