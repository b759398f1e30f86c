//! Processes that look into a module before it is published: under the rules of its executables, and not one of them.

use std::process::Command;
use std::sync::Arc;

use farcall_base::{ExecutableId, Result};
use farcall_interfaces::directory::{ExecutableImage, ImageKind};
use farcall_interfaces::spawner::SOCKET_VARIABLE;
use farcall_interfaces::spawner::rules::Files;
use farcall_kernel::Options;

use super::environment::prepare;
use super::rooms::Room;
use super::zygotes::Wanted;
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
    _room: Arc<Room>,
}

/// Folders and files that a module may open beside the system's and its working folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// To read; what it consists of is among them.
    pub readable: Vec<String>,
    /// To write.
    pub writable: Vec<String>,
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

    /// Modules of which the options say something of their own.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.settings.modules.keys().map(String::as_str)
    }

    /// What a module that has this image may open; nothing is granted where all is open anyway (`files = "all"`).
    pub fn grants(&self, module: &str, kind: ImageKind) -> Grants {
        let rules = self.settings.limits_of(module).rules(&image(kind));
        match rules.files {
            Files::All => Grants::default(),
            Files::Granted => Grants { readable: rules.readable, writable: rules.writable },
        }
    }

    /// A process of a module that has this image.
    ///
    /// # Errors
    /// When its working folder cannot be made, or its rules cannot be held.
    pub fn inspect(&self, module: &str, kind: ImageKind) -> Result<Inspection> {
        let line = Box::new(command_line(&self.settings, module, &image(kind))?);
        let room = Arc::new(Room::new(&line.limits)?);
        let mut command = Command::new(&line.program);
        let wanted = Wanted { executable: ExecutableId(0), command: line, room: room.clone(), meeting: None };
        prepare(&mut command, &wanted, &self.settings)?;
        // It has no connection.
        command.env_remove(SOCKET_VARIABLE);
        Ok(Inspection { command, _room: room })
    }
}

fn image(kind: ImageKind) -> ExecutableImage {
    ExecutableImage {
        kind,
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        launcher: String::new(),
        module_text: Arc::new([]),
    }
}
