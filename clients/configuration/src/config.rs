//! The client configuration file of Ninf-G: its text, with all it includes, becomes a [`Config`] or
//! a list of mistakes.
//!
//! Attributes of all versions of Ninf-G are known. What has no effect here gives one warning; what
//! is wrong gives a mistake with its place and the name that was probably meant. Nothing here
//! touches the system: files come through a function.

mod check;
mod include;
mod launch;
mod mistake;
mod sections;
mod table;
mod text;
mod types;
mod value;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;

use check::{Values, check};
use mistake::{Remarks, meant, shown};
use table::SectionKind;
use text::Section;
use types::Types;

pub use launch::Launch;
pub use mistake::{Mistakes, Place, Remark};
pub use sections::{
    ArgumentTransfer, Client, Compress, ConnectRetry, Debug, FunctionInfo, InterfaceFiles, LogFile,
    LogLevel, NamedFile, Server, Surroundings,
};

/// What a configuration says.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Of this program.
    pub client: Client,
    /// Whether the file says any of that.
    pub has_client: bool,
    /// Servers, in the order of the text: default handles take the first that has their function.
    pub servers: Vec<Server>,
    /// What holds for one that no section names.
    server_default: Server,
    /// Functions of servers.
    pub functions: Vec<FunctionInfo>,
    /// Local files that describe functions.
    pub interface_files: Vec<InterfaceFiles>,
    /// What has no effect, to be said once.
    pub warnings: Vec<Remark>,
    /// What has none on programs in Java beside that, in one.
    pub java_warning: Option<Remark>,
}

impl Config {
    /// Reads a configuration from the system's files.
    ///
    /// # Errors
    /// `NotFound` and other errors of the file itself; `InvalidSource` with all [`Mistakes`] as its
    /// source.
    pub fn load(file: &Path, surroundings: &Surroundings) -> Result<Config> {
        Config::read(file, surroundings, &|path| plain_file::read(path, include::FILE_BYTES_MAX))
    }

    /// The same from files that `read` gives.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn read(
        file: &Path,
        surroundings: &Surroundings,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Config> {
        let mut remarks = Remarks::default();
        let sections = include::Reader::new(read, &mut remarks)
            .all(file)
            .map_err(|error| unreadable(file, error))?;
        let checked = Checked::of(&sections, file, &mut remarks);
        let mut config = checked.config(surroundings);
        config.java_warning = remarks.for_java();
        config.warnings = remarks.finish()?;
        Ok(config)
    }

    /// What holds where there is no configuration file at all.
    pub fn without_file(surroundings: &Surroundings) -> Config {
        Checked::of(&[], Path::new(""), &mut Remarks::default()).config(surroundings)
    }

    /// Adds what one more file says. What was known of a server, a function or a source of
    /// interfaces gives way to it, in its old place; new ones come after the old, and CLIENT, where
    /// the file has it, holds from now on.
    pub fn join(&mut self, read: Config) {
        let host = |server: &Server| (server.hostname.clone(), server.tag.clone(), server.port);
        replace_or_add(&mut self.servers, read.servers, |known, new| {
            (known.tag.is_some() && known.tag == new.tag && known.hostname == new.hostname)
                || host(known) == host(new)
        });
        replace_or_add(&mut self.functions, read.functions, |known, new| {
            (&known.hostname, &known.name) == (&new.hostname, &new.name)
        });
        replace_or_add(&mut self.interface_files, read.interface_files, |known, new| {
            known == new || (known.tag.is_some() && known.tag == new.tag)
        });
        if read.has_client {
            (self.client, self.has_client) = (read.client, true);
        }
    }

    /// The server with this tag; without one, the first with this host name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        let tagged = self.servers.iter().find(|server| server.tag.as_deref() == Some(name));
        tagged.or_else(|| self.servers.iter().find(|server| server.hostname == name))
    }

    /// A host that no section names.
    pub fn unnamed_server(&self, hostname: &str) -> Server {
        Server { hostname: hostname.to_owned(), ..self.server_default.clone() }
    }

    /// What is said of `function` on the host.
    pub fn function(&self, hostname: &str, function: &str) -> Option<&FunctionInfo> {
        self.functions.iter().find(|info| info.hostname == hostname && info.name == function)
    }
}

fn replace_or_add<T>(known: &mut Vec<T>, read: Vec<T>, is_same: impl Fn(&T, &T) -> bool) {
    for new in read {
        match known.iter_mut().find(|known| is_same(known, &new)) {
            Some(place) => *place = new,
            None => known.push(new),
        }
    }
}

fn unreadable(file: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument,
        io::ErrorKind::FileTooLarge => ErrorKind::LimitExceeded,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        _ => ErrorKind::System,
    };
    Error::new(kind, "read the configuration", error.to_string())
        .with("file", file.display())
        .fix("pass a file to grpc_initialize, or set NG_CONFIG_FILE")
}

/// All sections, each found right by itself.
struct Checked {
    by_kind: BTreeMap<&'static str, Vec<Values>>,
    nowhere: Place,
}

impl Checked {
    fn of(
        sections: &[(Section, &'static SectionKind)],
        file: &Path,
        remarks: &mut Remarks,
    ) -> Checked {
        let nowhere = Place { file: file.into(), line: 1, column: 1 };
        let mut checked = Checked { by_kind: BTreeMap::new(), nowhere };
        for (section, kind) in sections {
            let known = checked.by_kind.entry(kind.name).or_default();
            if let Some(first) = known.first().filter(|_| !kind.many) {
                let message =
                    format!("there are two sections {}, the first at {}", kind.name, first.place);
                remarks.mistake(
                    &section.name.place,
                    message,
                    Some("join the two sections".to_owned()),
                );
                continue;
            }
            known.push(check(section, kind, remarks));
        }
        checked.check_names(remarks);
        checked
    }

    fn all(&self, kind: &SectionKind) -> &[Values] {
        self.by_kind.get(kind.name).map_or(&[], Vec::as_slice)
    }

    /// The one section of this kind, or an empty one.
    fn one(&self, kind: &'static SectionKind) -> Values {
        self.all(kind).first().cloned().unwrap_or_else(|| {
            let name = text::Word { text: kind.name.to_owned(), place: self.nowhere.clone() };
            check(&Section { name, items: Vec::new() }, kind, &mut Remarks::default())
        })
    }

    /// Servers, completed with what holds for all.
    fn servers(&self) -> Vec<Values> {
        let default = self.one(&table::SERVER_DEFAULT);
        let completed = |values: &Values| {
            let mut values = values.clone();
            values.complete(&default);
            let mut launchers = self.all(&table::INVOKE_SERVER).iter();
            if let Some(launcher) =
                launchers.find(|one| one.text("type") == values.text("invoke_server"))
            {
                values.take("invoke_server_option", launcher, "option");
            }
            values
        };
        self.all(&table::SERVER).iter().map(completed).collect()
    }

    /// What no section can know by itself: names that occur twice, and names that refer to other
    /// sections.
    fn check_names(&self, remarks: &mut Remarks) {
        self.check_unique(&table::FUNCTION_INFO, &["hostname", "funcname"], remarks);
        self.check_unique(&table::INVOKE_SERVER, &["type"], remarks);
        self.check_unique(&table::PROXY, &["type"], remarks);
        self.check_unique(&table::INFORMATION_SOURCE, &["tag"], remarks);
        self.check_unique(&table::MDS_SERVER, &["hostname", "tag"], remarks);
        self.check_servers(remarks);
        self.check_files(remarks);
        self.check_types(remarks);
        if let Some(client) = self.all(&table::CLIENT).first() {
            check_none_alone(client, remarks);
        }
    }

    /// No two sections of a kind have the same values of these attributes.
    fn check_unique(&self, kind: &SectionKind, names: &[&'static str], remarks: &mut Remarks) {
        let mut known: Vec<Vec<Option<String>>> = Vec::new();
        for values in self.all(kind) {
            let key: Vec<Option<String>> = names.iter().map(|name| values.text(name)).collect();
            // A name that is missing was a mistake already.
            if key.first().is_some_and(Option::is_some) && known.contains(&key) {
                let shown: Vec<String> = key.iter().flatten().map(|name| shown(name)).collect();
                let message =
                    format!("a section {} for {} already exists", kind.name, shown.join(" "));
                remarks.mistake(
                    &values.place_of(names[0]),
                    message,
                    Some("remove one of the two".into()),
                );
            }
            known.push(key);
        }
    }

    /// One host has several sections only under different tags or ports, and no two servers have
    /// one tag.
    fn check_servers(&self, remarks: &mut Remarks) {
        let mut hosts: Vec<(String, Option<String>, Option<i64>)> = Vec::new();
        let mut tags: Vec<String> = Vec::new();
        for values in self.servers() {
            let tag = values.text("tag");
            if let Some(tag) = &tag {
                if tags.contains(tag) {
                    let message = format!("two servers have the tag {}", shown(tag));
                    remarks.mistake(
                        &values.place_of("tag"),
                        message,
                        Some("give each a different tag".into()),
                    );
                }
                tags.push(tag.clone());
            }
            for (host, place) in values.texts("hostname") {
                let key = (host, tag.clone(), values.number("port"));
                if hosts.contains(&key) {
                    let message = format!("a section SERVER for {} already exists", shown(&key.0));
                    remarks.mistake(
                        &place,
                        message,
                        Some("give each of them a different tag".into()),
                    );
                }
                hosts.push(key);
            }
            self.check_sources(&values, remarks);
        }
    }

    /// Tags of information sources exist.
    fn check_sources(&self, server: &Values, remarks: &mut Remarks) {
        let sources =
            self.all(&table::INFORMATION_SOURCE).iter().filter_map(|source| source.text("tag"));
        let tags: Vec<String> = sources.collect();
        for (tag, place) in server.texts("information_source_tag") {
            if !tags.contains(&tag) {
                let names: Vec<&str> = tags.iter().map(String::as_str).collect();
                let advice = meant(&tag, &names).filter(|_| !names.is_empty());
                let advice = advice
                    .or(Some(format!("add a section INFORMATION_SOURCE with tag {}", shown(&tag))));
                remarks.mistake(
                    &place,
                    format!("no INFORMATION_SOURCE has the tag {}", shown(&tag)),
                    advice,
                );
            }
        }
    }

    /// No interface file is named twice.
    fn check_files(&self, remarks: &mut Remarks) {
        let mut known: Vec<String> = Vec::new();
        for (name, place) in
            self.all(&table::LOCAL_LDIF).iter().flat_map(|values| values.texts("filename"))
        {
            if known.contains(&name) {
                let message = format!("the file {} is listed twice", shown(&name));
                remarks.mistake(&place, message, Some("remove one of the two".into()));
            }
            known.push(name);
        }
    }

    /// Types of launchers, proxies and information sources: known, or with a program of their own.
    /// None is used but NRF.
    fn check_types(&self, remarks: &mut Remarks) {
        const LAUNCHERS: [&str; 10] = [
            "GT4py",
            "GT2c",
            "SSH",
            "Condor",
            "NAREGISS",
            "GT4java",
            "UNICORE",
            "SSH_Condor",
            "Slurm",
            "SLURM",
        ];
        let types = |kind, names: &[&'static str]| Types::of(self.all(kind), names);
        let launchers = types(&table::INVOKE_SERVER, &LAUNCHERS);
        let proxies = types(&table::PROXY, &["GT", "SSH"]);
        let sources = types(&table::INFORMATION_SOURCE, &["NRF", "MDS4"]);
        for section in self.all(&table::INVOKE_SERVER) {
            launchers.check_launcher(section, "type", "option", remarks);
        }
        proxies.check_sections(self.all(&table::PROXY), table::PROXY.unused, remarks);
        let reason = "Farcall asks the servers for interfaces, or reads files of type NRF";
        sources.check_sections(self.all(&table::INFORMATION_SOURCE), reason, remarks);
        for section in self.all(&table::SERVER).iter().chain(self.all(&table::SERVER_DEFAULT)) {
            launchers.check_launcher(section, "invoke_server", "invoke_server_option", remarks);
            proxies.check_name(section, "communication_proxy", remarks);
        }
        for section in self.all(&table::MDS_SERVER) {
            let message = format!("MDS_SERVER has no effect: {}", table::MDS_SERVER.unused);
            remarks.warn_once(table::MDS_SERVER.name, &section.place, message);
        }
    }

    fn config(&self, surroundings: &Surroundings) -> Config {
        let sources = self.all(&table::INFORMATION_SOURCE).iter();
        let files = sources.filter(|source| source.text("type").as_deref() == Some("NRF"));
        let files = files.map(|source| InterfaceFiles::of(source, source.text("tag"), "source"));
        let ldif = self
            .all(&table::LOCAL_LDIF)
            .iter()
            .map(|values| InterfaceFiles::of(values, None, "filename"));
        Config {
            has_client: !self.all(&table::CLIENT).is_empty(),
            client: Client::of(&self.one(&table::CLIENT), surroundings),
            servers: self.servers().iter().flat_map(Server::all_of).collect(),
            server_default: Server::of(&self.one(&table::SERVER_DEFAULT)),
            functions: self.all(&table::FUNCTION_INFO).iter().map(FunctionInfo::of).collect(),
            interface_files: files.chain(ldif).collect(),
            warnings: Vec::new(),
            java_warning: None,
        }
    }
}

/// `none` of the signals, and no other beside it.
fn check_none_alone(client: &Values, remarks: &mut Remarks) {
    let signals = client.all("handling_signals");
    let none = signals.iter().find(|(value, _)| *value == value::Value::Number(0));
    if let Some((_, place)) = none.filter(|_| signals.len() > 1) {
        let advice = Some("write only none, or the names of signals".to_owned());
        remarks.mistake(place, "none is listed together with signals", advice);
    }
}

#[cfg(test)]
#[path = "config/effects_tests.rs"]
mod effects_tests;

#[cfg(test)]
#[path = "config/page_tests.rs"]
mod page_tests;

#[cfg(test)]
#[path = "config/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "config/mistakes_tests.rs"]
mod mistakes_tests;
