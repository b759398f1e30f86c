//! What the code of a module may use and do, as its process is told before it runs any of that
//! code.

use std::fmt::Write;

use farcall_base::{Error, ErrorKind, Result};

/// The environment variable with the rules of a process.
pub const RULES_VARIABLE: &str = "FARCALL_RULES";

/// The rules of one process; what a fork of it inherits. A number that is `None` is no limit.
///
/// As text they are lines `NAME VALUE`; lists have a line for each element. A path with a line
/// break is no path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Private memory of one process, in bytes.
    pub memory_bytes_max: Option<u64>,
    /// Processor time of one call, in seconds.
    pub processor_seconds_max: Option<u64>,
    /// Time of one call, in seconds: what holds a call to it is its server; what it has started
    /// ends with it.
    pub call_seconds_max: Option<u64>,
    /// Bytes of one file that is written.
    pub file_bytes_max: Option<u64>,
    /// Descriptors of one process.
    pub descriptors_max: Option<u64>,
    /// Processes and threads of the user, where no cgroup counts those of the module.
    pub tasks_of_user_max: Option<u64>,
    /// Whether sockets can be made.
    pub network: Network,
    /// Whether files that nobody granted can be opened.
    pub files: Files,
    /// Whose code it is, and so what it is kept from beside that.
    pub confinement: Confinement,
    /// Files and directories that can be read and executed.
    pub readable: Vec<String>,
    /// The same of what was found when the module was published, by paths without links: what has
    /// become a link is not opened.
    pub found: Vec<String>,
    /// Files that can be read, and not executed, by paths without links.
    pub data: Vec<String>,
    /// Directories whose names can be read, and nothing else.
    pub listed: Vec<String>,
    /// Files and directories that can be written as well.
    pub writable: Vec<String>,
    /// The working directory, writable, and where temporary files go.
    pub folder: Option<String>,
    /// Another directory that the process starts in.
    pub start_in: Option<String>,
    /// User and group to become.
    pub user: Option<(u32, u32)>,
    /// Files of cgroups to write one's number to, so that it is counted.
    pub cgroups: Vec<String>,
    /// What to do where a rule cannot be held.
    pub missing: Missing,
}

/// Whether sockets can be made. Those that a process inherits, and connected pairs of its own, work
/// either way; Unix sockets that have a name work in neither ([`Confinement`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// None can.
    Off,
    /// As the system lets.
    #[default]
    On,
}

/// Whose code a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Somebody's whom the server does not have to trust: no Unix sockets, no signals to others, no
    /// way out of its group.
    #[default]
    Module,
    /// The launcher of an MPI, which the manifest names: it may make process groups, and Unix
    /// sockets within a batch system. What it starts is confined before it loads anything.
    Launcher,
    /// The owner's own, on a server of the owner's own: it may do what the owner may, within the
    /// limits.
    Owner,
}

/// Which files can be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// The system's, to be read, and what is granted.
    Granted,
    /// As the system lets.
    #[default]
    All,
}

/// What to do where the system cannot hold a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Go without.
    #[default]
    Allowed,
    /// Run nothing.
    Refused,
}

impl Rules {
    /// The text for [`RULES_VARIABLE`].
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name} {value}");
        };
        let numbers = [
            ("memory", self.memory_bytes_max),
            ("processor", self.processor_seconds_max),
            ("call", self.call_seconds_max),
            ("file", self.file_bytes_max),
            ("descriptors", self.descriptors_max),
            ("tasks", self.tasks_of_user_max),
        ];
        for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?)))
        {
            line(name, &number.to_string());
        }
        let lists = [
            ("read", &self.readable),
            ("found", &self.found),
            ("data", &self.data),
            ("list", &self.listed),
            ("write", &self.writable),
            ("cgroup", &self.cgroups),
        ];
        lists.into_iter().for_each(|(name, list)| list.iter().for_each(|path| line(name, path)));
        self.folder.iter().for_each(|folder| line("folder", folder));
        self.start_in.iter().for_each(|folder| line("start", folder));
        self.user.iter().for_each(|(user, group)| line("user", &format!("{user} {group}")));
        let words = [
            ("network", self.network == Network::Off),
            ("files", self.files == Files::Granted),
            ("missing", self.missing == Missing::Refused),
            ("launcher", self.confinement == Confinement::Launcher),
            ("owner", self.confinement == Confinement::Owner),
        ];
        words.into_iter().filter(|(_, said)| *said).for_each(|(name, _)| line(name, ""));
        text
    }

    /// The rules that a text says. What it does not say is not limited.
    ///
    /// # Errors
    /// `InvalidArgument` for a line that is none: a rule that is not understood must not be left
    /// out.
    pub fn from_text(text: &str) -> Result<Rules> {
        let mut rules = Rules::default();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            rules.set(name, value).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    "read the rules of a process",
                    "unknown rule",
                )
                .with("rule", line)
            })?;
        }
        Ok(rules)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let number = || value.parse::<u64>().ok();
        match name {
            "memory" => self.memory_bytes_max = Some(number()?),
            "processor" => self.processor_seconds_max = Some(number()?),
            "call" => self.call_seconds_max = Some(number()?),
            "file" => self.file_bytes_max = Some(number()?),
            "descriptors" => self.descriptors_max = Some(number()?),
            "tasks" => self.tasks_of_user_max = Some(number()?),
            "read" => self.readable.push(value.to_string()),
            "found" => self.found.push(value.to_string()),
            "data" => self.data.push(value.to_string()),
            "list" => self.listed.push(value.to_string()),
            "write" => self.writable.push(value.to_string()),
            "cgroup" => self.cgroups.push(value.to_string()),
            "folder" => self.folder = Some(value.to_string()),
            "start" => self.start_in = Some(value.to_string()),
            "user" => {
                let (user, group) = value.split_once(' ')?;
                self.user = Some((user.parse().ok()?, group.parse().ok()?));
            }
            "network" => self.network = Network::Off,
            "files" => self.files = Files::Granted,
            "missing" => self.missing = Missing::Refused,
            "launcher" => self.confinement = Confinement::Launcher,
            "owner" => self.confinement = Confinement::Owner,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back_from_their_text() {
        let all = Rules {
            memory_bytes_max: Some(1 << 30),
            processor_seconds_max: Some(7),
            call_seconds_max: Some(8),
            file_bytes_max: Some(0),
            descriptors_max: Some(u64::MAX),
            tasks_of_user_max: Some(64),
            network: Network::Off,
            files: Files::Granted,
            confinement: Confinement::Owner,
            readable: vec!["/usr".into(), "/a folder with blanks".into()],
            found: vec!["/home/x/libx.so".into()],
            data: vec!["/home/x/x.h".into()],
            listed: vec!["/home/x".into()],
            writable: vec!["/tmp/x".into()],
            folder: Some("/tmp/farcall 1".into()),
            start_in: Some("/data/of mine".into()),
            user: Some((65534, 65534)),
            cgroups: vec!["/sys/fs/cgroup/pids/f/cgroup.procs".into()],
            missing: Missing::Refused,
        };
        for rules in [all, Rules::default()] {
            assert_eq!(Rules::from_text(&rules.to_text()).unwrap(), rules);
        }
    }

    #[test]
    fn a_rule_that_is_not_understood_is_not_left_out() {
        // An older program under a newer server, or a damaged variable.
        for text in [
            "gravity 9\n",
            "memory lots\n",
            "user 5\n",
            "memory -1\n",
            "file 18446744073709551616\n",
        ] {
            assert!(Rules::from_text(text).is_err(), "{text}");
        }
    }
}
