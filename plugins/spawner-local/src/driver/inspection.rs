//! Processes that look into a module before it is published: under the rules of its executables,
//! and not one of them.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use farcall_base::{ExecutableId, Result};
use farcall_kernel::Options;
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::spawner::SOCKET_VARIABLE;
use farcall_services::spawner::rules::{Confinement, Files, Rules};
use farcall_services::spawner::system_files;

use super::environment::prepare;
use super::memory_cgroup::MemoryCgroup;
use super::rooms::{Room, passwd};
use super::zygotes::Wanted;
use crate::limits::find_user;
use crate::state::Settings;
use crate::step::command_line;

/// Prepares such processes by the manifest's options of this plugin.
#[derive(Clone, Debug, Default)]
pub struct Inspector {
    settings: Settings,
}

/// What is to be started, and the working folder that it has while this lives.
pub struct Inspection {
    /// Program, arguments, variables and process group; inputs and outputs are the caller's to set.
    pub command: Command,
    _memory: Option<MemoryCgroup>,
    _room: Arc<Room>,
}

/// What compilers of a module's code are held to, as long as this lives.
pub struct Hold {
    /// Their limits, user and cgroups; which files they may open is for whoever starts them to say.
    pub rules: Rules,
    /// A folder that this user may enter, and no other module's.
    pub folder: PathBuf,
    _memory: Option<MemoryCgroup>,
    _room: Room,
}

/// Which files a module may open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileGrants {
    /// Those that are granted.
    #[default]
    Granted,
    /// Whatever its user may (`files = "all"`).
    All,
    /// The same, and whoever started the server wants it so.
    Owner,
}

/// What a module may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// In which way.
    pub files: FileGrants,
    /// Files and folders that it may read, the system's and what it consists of among them.
    pub readable: Vec<String>,
    /// Those that it may write to, its working folder left out.
    pub writable: Vec<String>,
    /// Whether its user is another than the server's.
    pub has_own_user: bool,
}

/// A module that is to be looked into.
#[derive(Clone, Debug)]
pub struct Inspected<'a> {
    /// Its name.
    pub module: &'a str,
    /// What runs it.
    pub kind: ImageKind,
    /// The files that the loader opens for that.
    pub readable: Vec<String>,
    /// Folders in which an interpreter looks for names.
    pub listed: Vec<String>,
    /// Whose code it is.
    pub trust: Trust,
}

impl Inspector {
    /// One that reads the options.
    ///
    /// # Errors
    /// `InvalidSource` for options that cannot be read.
    pub fn new(options: &Options) -> Result<Inspector> {
        Ok(Inspector { settings: options.read()? })
    }

    /// The interpreter that the options name for a module.
    pub fn python(&self, module: &str) -> Option<String> {
        self.settings.limits_of(module).python().map(str::to_owned)
    }

    /// Whether all modules have a user, but for those of which the options say another.
    pub fn names_user_of_all(&self) -> bool {
        self.settings.limits_of("").user().is_some()
    }

    /// Whether modules are confined whoever published them.
    pub fn confines_all(&self) -> bool {
        self.settings.limits_of("").confines()
    }

    /// Modules of which the options say something of their own.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.settings.modules.keys().map(String::as_str)
    }

    /// What a module may open.
    pub fn grants(&self, inspected: Inspected<'_>) -> Grants {
        let limits = self.settings.limits_of(inspected.module);
        let rules = limits.rules(&image(inspected));
        let files = match (rules.confinement, rules.files) {
            (Confinement::Owner, _) => FileGrants::Owner,
            (_, Files::All) => FileGrants::All,
            (_, Files::Granted) => FileGrants::Granted,
        };
        let system = system_files::readable().map(str::to_owned);
        let own = system_files::installation().into_iter().map(|file| file.display().to_string());
        let readable = system.chain(own).chain(rules.readable).chain(rules.found).collect();
        let own_user = || find_user(limits.user()?, &passwd()).ok();
        let server = rustix::process::geteuid().as_raw();
        let has_own_user = own_user().is_some_and(|(user, _)| user != server);
        Grants { files, readable, writable: rules.writable, has_own_user }
    }

    /// What compilers of a module's code are held to: the limits of its executables, and the user.
    ///
    /// # Errors
    /// As [`Inspector::inspect`].
    pub fn hold(&self, module: &str) -> Result<Hold> {
        let limits = self.settings.limits_of(module).for_compilers();
        let room = Room::new(&limits)?;
        let (rules, memory) = room.held(&limits, &limits.compiler_rules(), 1)?;
        let folder = room.folder().to_path_buf();
        // They write where they are told to, and nowhere else of it.
        Ok(Hold { rules: Rules { folder: None, ..rules }, folder, _memory: memory, _room: room })
    }

    /// A process of a module that has this image.
    ///
    /// # Errors
    /// When its working folder cannot be made, or its rules cannot be held.
    pub fn inspect(&self, inspected: Inspected<'_>) -> Result<Inspection> {
        let line =
            Box::new(command_line(&self.settings, inspected.module, &image(inspected.clone()))?);
        let room = Arc::new(Room::new(&line.limits)?);
        let mut command = Command::new(&line.program);
        let wanted = Wanted {
            executable: ExecutableId(0),
            command: line,
            room: room.clone(),
            meeting: None,
        };
        let memory = prepare(&mut command, &wanted, &self.settings)?;
        // It has no connection.
        command.process_group(0).env_remove(SOCKET_VARIABLE);
        Ok(Inspection { command, _memory: memory, _room: room })
    }
}

fn image(inspected: Inspected<'_>) -> ExecutableImage {
    ExecutableImage {
        readable: inspected.readable,
        listed: inspected.listed,
        trust: inspected.trust,
        kind: inspected.kind,
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: Arc::new([]),
    }
}
