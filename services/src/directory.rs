//! The directory service: which routines are published, and what a server must start to run them.
//!
//! A directory answers from what publishers told it; it reads no interface file and starts nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Resources, Result};
use farcall_idl::interface::{Interface, Routine};

use crate::mailbox::{Port, Reply, question};

/// The slot that a directory fills.
pub const SLOT: &str = "directory";

/// What can be asked of a directory.
#[derive(Clone, Debug)]
pub enum Request {
    /// Make a module's routines known; replaces an older version of the module at once and whole.
    /// Answer: [`Response::Published`].
    Publish(Publication),
    /// Forget a module. Answer: [`Response::Withdrawn`]; `NotFound` when it is not published.
    Withdraw {
        /// The module's name.
        module: String,
    },
    /// Modules that were published here before the server was started again, and are not any more:
    /// a client that asks for one is told so. Answer: [`Response::Noted`].
    Note(Vec<GoneModule>),
    /// Find one routine by `module/name`, by a bare name that is unique, or by an alias in either
    /// form. Answer: [`Response::Resolved`]; `NotFound` with the nearest names, `Ambiguous` with
    /// all full names.
    ///
    /// What others publish counts, too: then the answer is [`Response::Elsewhere`]. Of several
    /// contracts under one full name the one that most servers have is found, of equals the one
    /// with the lower hash; `module@HASH/name` finds another by the first digits of its hash.
    Resolve {
        /// The name as the caller wrote it.
        name: String,
        /// Modules that the asker may know of; all others are as if they were not published.
        visible: Visible,
        /// Whether the asker can call what others publish.
        reach: Reach,
    },
    /// Find what an executable is to be held for: a routine or a class, by its full name.
    /// Answer: [`Response::Held`]; `NotFound`, `InvalidArgument` for a method.
    Hold {
        /// `module/routine` or `module/Class`.
        name: String,
        /// As for [`Request::Resolve`].
        visible: Visible,
    },
    /// Every routine of this node. Answer: [`Response::Listing`].
    List,
    /// Every routine of this node and of others. Answer: [`Response::Union`].
    ListAll,
    /// Others publish these, and nothing else: what was known of them before is forgotten. The
    /// revision stays, which is of what this node publishes. Answer: [`Response::Noted`].
    Elsewhere(Vec<ElsewhereRoutine>),
    /// Tell when what is published differs from what it was at this revision; 0 is before
    /// everything. For whoever keeps answers. Answer: [`Response::Changed`], at once or later;
    /// `LimitExceeded` when too many wait.
    Watch {
        /// The revision that the asker knows.
        revision: u64,
    },
}

/// Which servers' routines somebody can call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// This node's: of several contracts under one name its own is found.
    #[default]
    Here,
    /// Those of all servers.
    Everywhere,
}

/// A routine that other servers publish.
#[derive(Clone, Debug)]
pub struct ElsewhereRoutine {
    /// Its interface.
    pub interface: Arc<Interface>,
    /// The interface in its canonical encoding.
    pub encoded: Arc<[u8]>,
    /// Hash of what changes a call.
    pub contract: [u8; 32],
    /// How many other servers publish it with this contract.
    pub servers: u32,
}

/// Modules that somebody may know of: answers, and what they suggest, come from these alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// Every module.
    #[default]
    All,
    /// These, published or not.
    Only(Arc<BTreeSet<String>>),
}

impl Visible {
    /// Whether the module is one of them.
    pub fn shows(&self, module: &str) -> bool {
        match self {
            Visible::All => true,
            Visible::Only(modules) => modules.contains(module),
        }
    }

    /// The same where letters may be of another case.
    pub fn shows_in_other_case(&self, module: &str) -> bool {
        match self {
            Visible::All => true,
            Visible::Only(modules) => {
                modules.iter().any(|known| known.eq_ignore_ascii_case(module))
            }
        }
    }
}

/// The answers.
#[derive(Clone, Debug)]
pub enum Response {
    /// The module is known from now on.
    Published(Arc<PublishedModule>),
    /// They are known from now on.
    Noted,
    /// The module is forgotten; calls that hold its routines may end in their own time.
    Withdrawn,
    /// The routine.
    Resolved(Arc<PublishedRoutine>),
    /// The routine, or all methods of the class.
    Held(Vec<Arc<PublishedRoutine>>),
    /// The routine, which only others publish.
    Elsewhere(Arc<ElsewhereRoutine>),
    /// All routines, sorted by full name.
    Listing(Vec<Arc<PublishedRoutine>>),
    /// All routines of this node, and those that only others publish: each sorted by full name.
    Union(Vec<Arc<PublishedRoutine>>, Vec<Arc<ElsewhereRoutine>>),
    /// Modules were published or withdrawn: earlier answers may be of the past. It comes before the
    /// publisher's own answer, so that whoever heard of a publication finds nobody who has not.
    Changed {
        /// The revision now.
        revision: u64,
    },
}

/// A module that is not published any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneModule {
    /// The module's name.
    pub module: String,
    /// The names of its routines, without aliases.
    pub routines: Vec<String>,
    /// The file that it came from, as its publisher named it.
    pub file: String,
}

/// A module as its publisher hands it over.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The module's name; empty for routines without a module.
    pub module: String,
    /// Its routines, by the programs that run them: most modules have one part, stub executables of
    /// Ninf-G are one each.
    pub parts: Vec<Part>,
}

impl Publication {
    /// The routines of all parts.
    pub fn all_routines(&self) -> impl Iterator<Item = &RoutineData> {
        self.parts.iter().flat_map(|part| &part.routines)
    }
}

/// Routines of a module, and the program that they share.
#[derive(Clone, Debug)]
pub struct Part {
    /// The routines; their names and aliases are unique in the whole module.
    pub routines: Vec<RoutineData>,
    /// What runs them.
    pub executable: ExecutableImage,
}

/// A routine with what was computed from it once, at publication.
#[derive(Clone, Debug)]
pub struct RoutineData {
    /// Interface and implementation.
    pub routine: Arc<Routine>,
    /// The interface in its canonical encoding: the bytes that travel to clients.
    pub encoded: Arc<[u8]>,
    /// Hash of what changes a call (spec/idl.md, section 6).
    pub contract: [u8; 32],
}

/// A routine that the directory knows.
#[derive(Clone, Debug)]
pub struct PublishedRoutine {
    /// Interface and implementation.
    pub routine: Arc<Routine>,
    /// The interface in its canonical encoding.
    pub encoded: Arc<[u8]>,
    /// Hash of what changes a call.
    pub contract: [u8; 32],
    /// Where it belongs, and what runs it.
    pub module: Arc<PublishedModule>,
}

/// A module that the directory knows.
#[derive(Clone, Debug)]
pub struct PublishedModule {
    /// Its name; empty for routines without a module.
    pub name: String,
    /// Grows with every publication on this node; two publications never share one, nor two parts
    /// of one. Executables of an older generation must not run routines of a newer one.
    pub generation: u64,
    /// The least generation of its publication: executables of those before are of the past.
    pub publication: u64,
    /// What runs its routines.
    pub executable: ExecutableImage,
}

/// What a spawner must start for a module, and what the started executable must be told.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutableImage {
    /// The program.
    pub kind: ImageKind,
    /// The files that the loader opens for it, by paths without links: all but those of the system.
    pub readable: Vec<String>,
    /// Folders in which an interpreter looks for names.
    pub listed: Vec<String>,
    /// Whose code it is.
    pub trust: Trust,
    /// Variables set for the executable, on top of the server's own environment.
    pub environment: Vec<(String, String)>,
    /// How it is started: empty or `normal`; `MPI`, `BLACS` as the interface file says.
    pub backend: String,
    /// Processes that run each call, of an image that MPI starts; 0 for as many as the spawner's
    /// settings say.
    pub ranks: u32,
    /// What each process is given.
    pub resources: Resources,
    /// Processes that the module may have at a time; 0: any number.
    pub executables_max: u32,
    /// What starts it elsewhere: a launcher's name, as `slurm`; empty: this host itself.
    pub launcher: String,
    /// The module's routines, encoded for the executable, which reads them from its connection.
    pub module_text: Arc<[u8]>,
}

/// Whose code a module is, as its server sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// It is confined: it may do what its routines need, and what the manifest grants.
    #[default]
    Confined,
    /// The owner of the server has published it, on a server of the owner's own: it may do what the
    /// owner may.
    Owner,
}

/// Which program runs a module's routines.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageKind {
    /// The generic host loads shared libraries and calls their symbols.
    GenericHost {
        /// Libraries in the order of the interface file: paths or names for the dynamic linker.
        libraries: Vec<String>,
    },
    /// A program linked for this module.
    Linked {
        /// Its absolute path.
        path: String,
    },
    /// An interpreter that runs the module's source.
    Interpreted {
        /// The interpreter's absolute path.
        program: String,
        /// What leads it to the source.
        arguments: Vec<String>,
        /// Files and folders that it reads: its own and the source's.
        readable: Vec<String>,
    },
}

/// A request on its way, with the address of its answer.
pub struct Question {
    /// What is asked.
    pub request: Request,
    /// Where the answer goes.
    pub reply: Reply<Response>,
}

/// Sends requests to the directory of this node.
#[derive(Clone)]
pub struct DirectoryHandle {
    port: Port<Question>,
}

impl DirectoryHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<Question>) -> Self {
        DirectoryHandle { port }
    }

    /// Asks; whatever happens, also a directory that is busy or gone, arrives at `reply`.
    pub fn ask(&self, request: Request, reply: Reply<Response>) {
        if let Err(refused) = self.port.try_send(Question { request, reply }) {
            refused.message.reply.answer(Err(refused.refusal.error("ask the directory")));
        }
    }

    /// Asks and waits: for start-up code and tests, never for a driver's thread.
    ///
    /// # Errors
    /// The directory's own; `TimedOut`.
    pub fn ask_and_wait(&self, request: Request, timeout: Duration) -> Result<Response> {
        let (reply, answer) = question()?;
        self.ask(request, reply);
        answer.wait(timeout)
    }
}
