//! What the manifest lets modules use and do: for all of them, and what differs for one. Pure.

use std::path::Path;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::interface::is_parallel;
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::spawner::rules::{Confinement, Files, Missing, Network, Rules};
use farcall_services::spawner::{ExecutableLimits, RANKS_MAX, ranks};
use serde::Deserialize;

/// What a process needs to start at all (tests/tests/limits.rs starts one with each): its own heap,
/// stack and what the loader copies of its libraries' data; libraries that reserve memory for each
/// thread need more.
pub(crate) const MEMORY_LEAST: u64 = 16 << 20;
/// A page: less stops what a process writes while it starts.
const FILE_LEAST: u64 = 4096;
/// A process starts with its connection, its outputs and what its libraries open.
const DESCRIPTORS_LEAST: u64 = 32;
/// An executable, and the process that it is forked from.
const TASKS_LEAST: u64 = 2;
/// What a compiler of C++ needs for a template or two, and its linker for what it makes.
const COMPILER_MEMORY_LEAST: u64 = 1 << 30;
const COMPILER_FILE_LEAST: u64 = 1 << 30;
/// A compiler starts a few programs one after the other, and a linker threads, one for each
/// processor.
const COMPILER_TASKS_LEAST: u64 = 64;
/// More than any machine has processors: OpenMP and its like give up their process beyond.
const THREADS_MOST: u64 = 65_536;

/// In `start_in`, the folder that the executable or library itself lies in.
const OWN_FOLDER: &str = ".";

/// Which files a module may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FilesWord {
    Granted,
    All,
}

/// The keys of `limits` and of each of `modules`; options.toml says what they mean. What a module
/// leaves out is as for all of them, and what those leave out has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    memory_bytes_max: Option<u64>,
    processor_seconds_max: Option<u64>,
    call_seconds_max: Option<u64>,
    tasks_max: Option<u64>,
    file_bytes_max: Option<u64>,
    descriptors_max: Option<u64>,
    network: Option<bool>,
    files: Option<FilesWord>,
    readable: Option<Vec<String>>,
    writable: Option<Vec<String>>,
    start_in: Option<String>,
    user: Option<String>,
    threads: Option<u64>,
    ranks: Option<u32>,
    ranks_max: Option<u32>,
    cores_max: Option<u32>,
    pin: Option<bool>,
    required: Option<bool>,
    confine: Option<bool>,
    python: Option<String>,
}

impl Limits {
    /// What is written in options.toml.
    pub(crate) fn standard() -> Limits {
        Limits {
            memory_bytes_max: Some(0),
            processor_seconds_max: Some(0),
            call_seconds_max: Some(0),
            tasks_max: Some(4096),
            file_bytes_max: Some(16 << 30),
            descriptors_max: Some(1024),
            network: Some(false),
            files: Some(FilesWord::Granted),
            readable: Some(Vec::new()),
            writable: Some(Vec::new()),
            start_in: Some(String::new()),
            user: Some(String::new()),
            threads: Some(0),
            ranks: Some(0),
            ranks_max: Some(RANKS_MAX),
            cores_max: Some(0),
            pin: Some(false),
            required: Some(false),
            confine: Some(false),
            python: Some(String::new()),
        }
    }

    /// These, completed by others.
    pub(crate) fn over(&self, other: &Limits) -> Limits {
        let own = self.clone();
        let other = other.clone();
        Limits {
            memory_bytes_max: own.memory_bytes_max.or(other.memory_bytes_max),
            processor_seconds_max: own.processor_seconds_max.or(other.processor_seconds_max),
            call_seconds_max: own.call_seconds_max.or(other.call_seconds_max),
            tasks_max: own.tasks_max.or(other.tasks_max),
            file_bytes_max: own.file_bytes_max.or(other.file_bytes_max),
            descriptors_max: own.descriptors_max.or(other.descriptors_max),
            network: own.network.or(other.network),
            files: own.files.or(other.files),
            readable: own.readable.or(other.readable),
            writable: own.writable.or(other.writable),
            start_in: own.start_in.or(other.start_in),
            user: own.user.or(other.user),
            threads: own.threads.or(other.threads),
            ranks: own.ranks.or(other.ranks),
            ranks_max: own.ranks_max.or(other.ranks_max),
            cores_max: own.cores_max.or(other.cores_max),
            pin: own.pin.or(other.pin),
            required: own.required.or(other.required),
            confine: own.confine.or(other.confine),
            python: own.python.or(other.python),
        }
    }

    /// Refuses what no process could run under, and paths that cannot be passed on: the key, and
    /// what is wrong with it.
    pub(crate) fn check(&self) -> std::result::Result<(), (&'static str, String)> {
        let python: Vec<String> =
            self.python.iter().filter(|python| !python.is_empty()).cloned().collect();
        let start_in =
            self.start_in.iter().filter(|folder| !matches!(folder.as_str(), "" | OWN_FOLDER));
        let start_in: Vec<String> = start_in.cloned().collect();
        let lists = [
            ("readable", self.readable.as_ref()),
            ("writable", self.writable.as_ref()),
            ("start_in", Some(&start_in)),
            ("python", Some(&python)),
        ];
        for (name, path) in lists
            .iter()
            .flat_map(|(name, list)| list.iter().copied().flatten().map(move |path| (*name, path)))
        {
            if !Path::new(path).is_absolute() || path.contains(['\n', '\0']) {
                return Err((name, format!("{path:?} is not an absolute path")));
            }
        }
        let least = [
            ("memory_bytes_max", self.memory_bytes_max, MEMORY_LEAST),
            ("file_bytes_max", self.file_bytes_max, FILE_LEAST),
            ("descriptors_max", self.descriptors_max, DESCRIPTORS_LEAST),
            ("tasks_max", self.tasks_max, TASKS_LEAST),
        ];
        for (name, number, least) in least {
            if let Some(number) = number.filter(|number| *number != 0 && *number < least) {
                let message = format!(
                    "{name} is {number}, which is too small to start an executable: set at least \
                    {least}, or 0 for no limit"
                );
                return Err((name, message));
            }
        }
        match self.threads.filter(|threads| *threads > THREADS_MOST) {
            Some(threads) => {
                Err(("threads", format!("threads is {threads}: set at most {THREADS_MOST}, or 0")))
            }
            None => Ok(()),
        }
    }

    /// The rules of a process that runs `image`; what the driver finds out (folder, cgroups, users)
    /// is added by it.
    pub(crate) fn rules(&self, image: &ExecutableImage) -> Rules {
        let list = |paths: &Option<Vec<String>>| paths.clone().unwrap_or_default();
        let found = image.readable.iter().chain(interpreted(image)).cloned().collect();
        let parallel = is_parallel(&image.backend);
        let owner = self.trusts(image);
        Rules {
            memory_bytes_max: limited(self.memory_bytes_max),
            processor_seconds_max: limited(self.processor_seconds_max),
            call_seconds_max: limited(self.call_seconds_max),
            file_bytes_max: limited(self.file_bytes_max),
            descriptors_max: limited(self.descriptors_max),
            network: if owner || self.network == Some(true) || parallel {
                Network::On
            } else {
                Network::Off
            },
            files: if owner || self.files == Some(FilesWord::All) {
                Files::All
            } else {
                Files::Granted
            },
            confinement: match owner {
                true => Confinement::Owner,
                false if parallel => Confinement::Launcher,
                false => Confinement::Module,
            },
            readable: list(&self.readable),
            found,
            listed: image.listed.clone(),
            writable: list(&self.writable),
            start_in: self.start_in(image),
            missing: if self.required == Some(true) { Missing::Refused } else { Missing::Allowed },
            ..Rules::default()
        }
    }

    /// Whether a module's code may do what the server's owner may.
    fn trusts(&self, image: &ExecutableImage) -> bool {
        image.trust == Trust::Owner && !self.confines()
    }

    /// Whether also the owner's own code is confined.
    pub(crate) fn confines(&self) -> bool {
        self.confine == Some(true)
    }

    /// The folder that a process starts in, where that is not its working folder.
    fn start_in(&self, image: &ExecutableImage) -> Option<String> {
        match self.start_in.as_deref().unwrap_or_default() {
            "" => None,
            OWN_FOLDER => own_folder(image),
            folder => Some(folder.to_owned()),
        }
    }

    /// What compilers of its code are held to: the same, but for what no compiler could work with.
    pub(crate) fn for_compilers(&self) -> Limits {
        let at_least = |number: Option<u64>, least: u64| {
            number.map(|number| if number == 0 { 0 } else { number.max(least) })
        };
        Limits {
            memory_bytes_max: at_least(self.memory_bytes_max, COMPILER_MEMORY_LEAST),
            tasks_max: at_least(self.tasks_max, COMPILER_TASKS_LEAST),
            file_bytes_max: at_least(self.file_bytes_max, COMPILER_FILE_LEAST),
            ..self.clone()
        }
    }

    /// The rules of such a compiler; what it may read is for whoever starts it to say.
    pub(crate) fn compiler_rules(&self) -> Rules {
        Rules {
            memory_bytes_max: limited(self.memory_bytes_max),
            file_bytes_max: limited(self.file_bytes_max),
            network: Network::Off,
            files: Files::Granted,
            missing: if self.required == Some(true) { Missing::Refused } else { Missing::Allowed },
            ..Rules::default()
        }
    }

    /// Memory of one process.
    pub(crate) fn memory_bytes_max(&self) -> Option<u64> {
        limited(self.memory_bytes_max)
    }

    /// Processes and threads of a module.
    pub(crate) fn tasks_max(&self) -> Option<u64> {
        limited(self.tasks_max)
    }

    /// The name or numbers of the user to be; none for the server's own.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref().filter(|user| !user.is_empty())
    }

    /// Threads of one executable: as many as the processors give each of `executables` that run at
    /// a time.
    pub(crate) fn threads(&self, processors: usize, executables: usize) -> u64 {
        let share = processors / executables.clamp(1, processors.max(1));
        limited(self.threads).unwrap_or(share.max(1) as u64)
    }

    /// Processes that run a call of MPI's, of which its caller or its interface asks for `asked`; 0
    /// if they do not.
    pub(crate) fn ranks(&self, asked: u32) -> Result<u32> {
        let most = self.ranks_max.filter(|most| *most > 0).unwrap_or(u32::MAX);
        ranks(asked, self.ranks.unwrap_or(0), most)
    }

    /// Cores that a call may ask for, where that is bounded.
    pub(crate) fn cores_max(&self) -> Option<u32> {
        self.cores_max.filter(|most| *most > 0)
    }

    /// The same for so many threads.
    pub(crate) fn with_threads(self, threads: u64) -> Limits {
        Limits { threads: Some(threads), ..self }
    }

    /// The same for so much memory of one process.
    pub(crate) fn with_memory_bytes(self, bytes: u64) -> Limits {
        Limits { memory_bytes_max: Some(bytes), ..self }
    }

    /// The interpreter of its Python source, if one is named.
    pub(crate) fn python(&self) -> Option<&str> {
        self.python.as_deref().filter(|python| !python.is_empty())
    }

    /// Whether the number of threads was asked for, and not worked out.
    pub(crate) fn threads_are_set(&self) -> bool {
        limited(self.threads).is_some()
    }

    /// Whether each executable has processors of its own.
    pub(crate) fn pin(&self) -> bool {
        self.pin == Some(true)
    }

    /// What the server must know.
    pub(crate) fn for_server(&self) -> ExecutableLimits {
        ExecutableLimits {
            memory_max: limited(self.memory_bytes_max).map(Bytes),
            call_seconds_max: limited(self.call_seconds_max),
            threads_are_free: !self.threads_are_set() && !self.pin(),
            takes_calls_until: None,
        }
    }
}

/// 0 is no limit.
fn limited(number: Option<u64>) -> Option<u64> {
    number.filter(|number| *number > 0)
}

/// Where an executable lies, or the first library.
fn own_folder(image: &ExecutableImage) -> Option<String> {
    let file = match &image.kind {
        ImageKind::Linked { path } => path,
        ImageKind::GenericHost { libraries } => libraries.first()?,
        ImageKind::Interpreted { .. } => return None,
    };
    let folder = Path::new(file).parent().filter(|folder| folder.is_absolute())?;
    Some(folder.display().to_string())
}

/// What an interpreter says that it reads.
fn interpreted(image: &ExecutableImage) -> &[String] {
    match &image.kind {
        ImageKind::Interpreted { readable, .. } => readable,
        ImageKind::GenericHost { .. } | ImageKind::Linked { .. } => &[],
    }
}

/// A user and its group in the text of /etc/passwd, or as `UID:GID`.
pub(crate) fn find_user(user: &str, passwd: &str) -> Result<(u32, u32)> {
    let numbers = user
        .split_once(':')
        .and_then(|(user, group)| Some((user.parse().ok()?, group.parse().ok()?)));
    let named = || {
        let line = passwd
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields[0] == user)?;
        Some((line.get(2)?.parse().ok()?, line.get(3)?.parse().ok()?))
    };
    numbers.or_else(named).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidSource,
            "start a module as another user",
            format!("there is no user \"{user}\""),
        )
        .fix("use a user of /etc/passwd, or write \"UID:GID\"")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_module_differs_where_it_says_so() {
        let all = Limits { memory_bytes_max: Some(1), network: Some(true), ..Limits::default() };
        let one = Limits { memory_bytes_max: Some(2), ..Limits::default() };
        let both = one.over(&all).over(&Limits::standard());
        assert_eq!(
            (both.memory_bytes_max, both.network, both.tasks_max),
            (Some(2), Some(true), Some(4096))
        );
    }

    #[test]
    fn processes_start_where_the_manifest_says() {
        let image = |kind| ExecutableImage {
            readable: Vec::new(),
            listed: Vec::new(),
            trust: Trust::Confined,
            kind,
            environment: Vec::new(),
            backend: String::new(),
            ranks: 0,
            resources: Default::default(),
            launcher: String::new(),
            executables_max: 0,
            module_text: std::sync::Arc::new([]),
        };
        let linked = image(ImageKind::Linked { path: "/home/anna/stubs/_stub_heat".into() });
        let start = |word: &str| {
            Limits { start_in: Some(word.to_owned()), ..Limits::standard() }.rules(&linked).start_in
        };
        assert_eq!((start(""), start("/data")), (None, Some("/data".to_owned())));
        assert_eq!(start("."), Some("/home/anna/stubs".to_owned()));
        let wrong = Limits { start_in: Some("data".into()), ..Limits::standard() };
        assert_eq!(wrong.check(), Err(("start_in", "\"data\" is not an absolute path".to_owned())));
    }

    #[test]
    fn threads_share_the_processors() {
        let limits = Limits::standard();
        let shares: Vec<u64> =
            [(8, 2), (8, 64), (8, 0), (2, 3), (0, 0)].map(|(p, e)| limits.threads(p, e)).into();
        assert_eq!(shares, [4, 1, 8, 1, 1]);
        assert_eq!(Limits { threads: Some(3), ..limits }.threads(8, 64), 3);
    }

    #[test]
    fn compilers_have_what_they_need_and_no_more_than_the_module() {
        let small = Limits {
            memory_bytes_max: Some(MEMORY_LEAST),
            tasks_max: Some(2),
            ..Limits::standard()
        };
        let small = small.for_compilers();
        assert_eq!(
            (small.memory_bytes_max(), small.tasks_max()),
            (Some(COMPILER_MEMORY_LEAST), Some(COMPILER_TASKS_LEAST))
        );
        let large =
            Limits { memory_bytes_max: Some(4 << 30), tasks_max: Some(0), ..Limits::standard() }
                .for_compilers();
        assert_eq!((large.memory_bytes_max(), large.tasks_max()), (Some(4 << 30), None));
        let rules = large.compiler_rules();
        assert_eq!((rules.files, rules.network), (Files::Granted, Network::Off));
    }

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(find_user("nobody", passwd).unwrap(), (65534, 65533));
        assert_eq!(find_user("1000:100", passwd).unwrap(), (1000, 100));
        for wrong in ["nobod", "broken", "1000", "1000:", "-1:5", ""] {
            assert!(find_user(wrong, passwd).is_err(), "{wrong}");
        }
    }
}
