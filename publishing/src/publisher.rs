//! Publishes modules, and publishes them again, while the server runs. What takes as long as
//! compilers do is done in threads (making.rs), one for each order; what is served changes here, in
//! one.

mod given;
mod pieces;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result, nearest};
use farcall_rpc_server::access::{self, Entry};
use farcall_rpc_server::{Instruction, Orderer, RpcHandle};
use farcall_services::directory::{DirectoryHandle, Publication, Request, Response, Visible};
use farcall_services::mailbox::{NoMessage, Port, Receiver, Reply, Sender, mailbox};
use farcall_spawner_jobs::Launchers;
use farcall_wire::{Failure, ModuleReport, Order};

use crate::claims::{Claim, Claims, Names};
use crate::exposed::OwnFile;
use crate::inspection::Giver;
use crate::making::{Made, Maker, shortened};
use crate::python::Interpreters;
use crate::store::{self, Store};
use crate::waiting::{Waiting, Whose};
use given::{Given, Stays};
pub use given::{Remade, remade};
use pieces::Uploads;

/// Time that the directory has for one request.
const DIRECTORY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for all of an order, each compiler and each check in it.
const ORDER_TIME_MAX: Duration = Duration::from_secs(600);
/// Orders, and news of those under way, that wait to be looked at.
const EVENTS_MAX: usize = 128;

/// What is published, and from where.
pub struct Publisher {
    directory: DirectoryHandle,
    claims: Claims,
    interpreters: Interpreters,
    launchers: Launchers,
    /// What is not for modules.
    own: Arc<[OwnFile]>,
    followed: Option<Followed>,
    /// Tells the administrator of the server.
    notice: fn(&str),
    store: Store,
    uploads: Uploads,
    waiting: Waiting<Task>,
    under_way: BTreeMap<u64, (Task, Vec<(String, PathBuf)>)>,
}

/// Reads the table of rights of a manifest that has no mistakes.
pub type ReadTable = fn(&Path) -> Result<Vec<Entry>>;

/// Where the table of rights comes from, and goes.
struct Followed {
    manifest: PathBuf,
    read: ReadTable,
    rpc: RpcHandle,
    /// Whether there is a table now.
    tabled: bool,
}

/// An order that takes long.
struct Task {
    work: Work,
    reply: Reply<Vec<ModuleReport>>,
    giver: Weak<()>,
    by: Orderer,
}

/// What is to be made.
enum Work {
    /// The module of a file.
    Publish(Given),
    /// One that is published, again.
    Reload(String),
    /// All of them; and who may do what by then.
    ReloadAll(Vec<Entry>),
}

/// The same, found.
enum Wanted {
    File { file: String, was_sent: bool },
    Modules(Vec<(String, PathBuf)>),
}

/// What became of each module that was to be made, in their order.
type Outcomes = Vec<Result<Made>>;

enum Event {
    Instructed(Instruction),
    /// The order of this number has been worked on.
    Worked(u64, Result<Outcomes>),
}

/// A publisher that takes orders, until its server ends.
pub struct Running {
    /// Where orders go that are about modules.
    pub orders: Port<Instruction>,
    folder: Option<PathBuf>,
}

impl Drop for Running {
    fn drop(&mut self) {
        store::release(self.folder.take());
    }
}

impl Publisher {
    /// One that has published nothing; `notice` tells the administrator of the server what to know.
    pub fn new(
        directory: DirectoryHandle,
        interpreters: Interpreters,
        launchers: Launchers,
        own: Vec<OwnFile>,
        notice: fn(&str),
    ) -> Publisher {
        let claims = Claims::new(interpreters.inspector.modules().map(str::to_owned));
        let own = own.into();
        let waiting = Waiting::default();
        let under_way = BTreeMap::new();
        Publisher {
            directory,
            claims,
            interpreters,
            launchers,
            own,
            followed: None,
            notice,
            store: Store::default(),
            uploads: Uploads::default(),
            waiting,
            under_way,
        }
    }

    /// Has who may do what `read` from the manifest again when all is reloaded; `table` is what it
    /// says now.
    ///
    /// # Errors
    /// `System` when the manifest has no path.
    pub fn follow(
        &mut self,
        manifest: &Path,
        table: &[Entry],
        read: ReadTable,
        rpc: RpcHandle,
    ) -> Result<()> {
        let manifest = std::path::absolute(manifest)
            .map_err(|error| Error::system("find the configuration file", error))?;
        self.followed = Some(Followed { manifest, read, rpc, tabled: !table.is_empty() });
        Ok(())
    }

    /// Who may do what from now on. A manifest with mistakes changes nothing, whichever of its
    /// options they are in.
    fn grant_anew(&mut self) -> Result<Vec<Entry>> {
        let Some(followed) = &mut self.followed else { return Ok(Vec::new()) };
        let table = (followed.read)(&followed.manifest)?;
        if followed.tabled && table.is_empty() {
            return Err(table_gone(&followed.manifest));
        }
        followed.rpc.grant(table.clone())?;
        followed.tabled = !table.is_empty();
        Ok(table)
    }

    /// What the table says of modules that are not published.
    pub fn unknown_modules(&self, table: &[Entry]) -> Vec<String> {
        let unknown = access::unknown_modules(table, |module| self.claims.get(module).is_some());
        let launched = self.launchers.modules().filter(|module| self.claims.get(module).is_none());
        let launched =
            launched.map(|module| format!("a launcher is chosen for the module \"{module}\""));
        unknown
            .into_iter()
            .chain(launched)
            .map(|words| format!("{words}, which is not published yet"))
            .collect()
    }

    /// Publishes a module that was made from `file`, for its `owner`; none is the command line.
    pub fn publish(
        &mut self,
        file: &Path,
        owner: Option<String>,
        mut publication: Publication,
    ) -> Result<()> {
        let module = publication.module.clone();
        for part in &mut publication.parts {
            self.launchers.of(&module).clone_into(&mut part.executable.launcher);
        }
        self.ask(Request::Publish(publication))?;
        let file =
            std::path::absolute(file).map_err(|error| Error::system("publish a module", error))?;
        self.claims.insert(module, Claim { file, owner });
        Ok(())
    }

    /// Takes orders in a thread of its own.
    pub fn run(mut self) -> Result<Running> {
        let (sender, mut receiver): (_, Receiver<Event>) = mailbox(EVENTS_MAX)?;
        let running =
            Running { orders: sender.port(Event::Instructed), folder: self.store.folder() };
        let serve = move || loop {
            match receiver.receive_timeout(self.uploads.patience()) {
                Ok(Event::Instructed(instruction)) => self.obey(instruction),
                Ok(Event::Worked(number, outcomes)) => self.worked(number, outcomes),
                Err(NoMessage::Empty) => self.uploads.look(&mut self.store),
                Err(NoMessage::Closed) => return,
            }
            while let Some((number, task)) = self.waiting.begin() {
                self.begin(number, task, &sender);
            }
        };
        let thread = std::thread::Builder::new().name("publisher".to_owned()).spawn(serve);
        thread.map_err(|error| Error::system("start a thread", error))?;
        Ok(running)
    }

    /// Does what takes no time, and has the rest wait for its turn.
    fn obey(&mut self, instruction: Instruction) {
        let Instruction { order, reply, giver, by, files_bytes_max } = instruction;
        let work = match order {
            Order::Withdraw(module) => {
                return reply.answer(self.withdraw(&module, &by).map(|()| Vec::new()));
            }
            Order::Publish(file) => Work::Publish(Given::there(file, Stays::No)),
            Order::Piece(piece) => {
                let from = (&giver, by.principal.as_str());
                let taken = self.uploads.take(&mut self.store, piece, from, files_bytes_max);
                return reply.answer(taken.map(|()| Vec::new()));
            }
            Order::Files(sent) => match self.placed(sent, &by) {
                Ok(given) => Work::Publish(given),
                Err(error) => return reply.answer(Err(error)),
            },
            Order::Reload(Some(module)) => Work::Reload(module),
            Order::Reload(None) => match self.grant_anew() {
                Ok(table) => Work::ReloadAll(table),
                Err(error) => return reply.answer(Err(error)),
            },
            Order::Drain(_) | Order::Delete(_) | Order::EndJob(_) | Order::EndCalls(_) => {
                return reply.answer(Err(Error::internal(
                    "run a command",
                    "the command is not about modules",
                )));
            }
        };
        let whose = Whose { principal: by.principal.clone(), administers: by.administers };
        if let Err(task) = self.waiting.push(whose, Task { work, reply, giver, by }) {
            let message = "too many commands wait for compilers";
            let error = Error::new(ErrorKind::LimitExceeded, "run a command", message).retryable();
            task.reply.answer(Err(error.fix("try again when the earlier ones are done")));
        }
    }

    /// Begins what takes long, in a thread of its own.
    fn begin(&mut self, number: u64, task: Task, sender: &Sender<Event>) {
        match self.start(number, &task, sender) {
            Ok(modules) => drop(self.under_way.insert(number, (task, modules))),
            Err(error) => {
                self.waiting.end(number);
                task.reply.answer(Err(error));
            }
        }
    }

    /// Starts it, and gives the modules that it makes again, with their files.
    fn start(
        &self,
        number: u64,
        task: &Task,
        sender: &Sender<Event>,
    ) -> Result<Vec<(String, PathBuf)>> {
        let (wanted, modules) = match &task.work {
            Work::Publish(Given { file, placed, .. }) => {
                (Wanted::File { file: file.clone(), was_sent: placed.is_some() }, Vec::new())
            }
            Work::Reload(module) => self.again([module.clone()], &task.by.visible)?,
            Work::ReloadAll(_) => self.again(self.claims.modules().cloned(), &Visible::All)?,
        };
        let giver =
            Giver { there: Some(task.giver.clone()), until: Some(Instant::now() + ORDER_TIME_MAX) };
        let names = Some(Arc::new(Names::Of(self.claims.clone(), task.by.clone())));
        let interpreters = Interpreters { giver, names, ..self.interpreters.clone() };
        let was_sent = matches!(wanted, Wanted::File { was_sent: true, .. });
        let maker = Maker { interpreters, own: self.own.clone(), was_sent };
        let reply = sender.reply(move |outcomes| Event::Worked(number, outcomes))?;
        let work = move || {
            reply.answer(Ok(match &wanted {
                Wanted::File { file, .. } => match maker.publish(file) {
                    Ok(made) => made.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                },
                Wanted::Modules(modules) => {
                    modules.iter().map(|(module, file)| maker.reload(module, file)).collect()
                }
            }));
        };
        let thread = std::thread::Builder::new().name("making".to_owned()).spawn(work);
        thread.map(|_| modules).map_err(|error| Error::system("start a thread", error))
    }

    fn again(
        &self,
        modules: impl IntoIterator<Item = String>,
        visible: &Visible,
    ) -> Result<(Wanted, Vec<(String, PathBuf)>)> {
        let file =
            |module: String| Ok((module.clone(), self.claim_of(&module, visible)?.file.clone()));
        let modules = modules.into_iter().map(file).collect::<Result<Vec<_>>>()?;
        Ok((Wanted::Modules(modules.clone()), modules))
    }

    /// Publishes what was made, and tells the client that ordered it.
    fn worked(&mut self, number: u64, outcomes: Result<Outcomes>) {
        self.waiting.end(number);
        let Some((Task { work, reply, by, .. }, modules)) = self.under_way.remove(&number) else {
            return;
        };
        let told = outcomes.and_then(|outcomes| match work {
            Work::Publish(given) => {
                outcomes.into_iter().map(|made| self.publish_given(&given, made, &by)).collect()
            }
            Work::Reload(_) => modules
                .iter()
                .zip(outcomes)
                .map(|(old, made)| self.publish_again(old, made))
                .collect(),
            Work::ReloadAll(table) => Ok(self.publish_all_again(&modules, outcomes, &table)),
        });
        reply.answer(told);
    }

    /// Publishes one again, for the same user.
    fn publish_again(
        &mut self,
        (module, file): &(String, PathBuf),
        made: Result<Made>,
    ) -> Result<ModuleReport> {
        let made = made?;
        let owner = match self.claims.get(module).filter(|claim| claim.file == *file) {
            Some(claim) => claim.owner.clone(),
            None => {
                let message = format!(
                    "the module \"{module}\" was withdrawn, or published from another file, in \
                        the meantime"
                );
                return Err(Error::new(ErrorKind::NotFound, "reload a module", message)
                    .fix("see what is published now: farcall ls"));
            }
        };
        self.publish(&made.file, owner, made.publication)?;
        Ok(made.report)
    }

    /// What cannot be published again is served as before.
    fn publish_all_again(
        &mut self,
        modules: &[(String, PathBuf)],
        outcomes: Outcomes,
        table: &[Entry],
    ) -> Vec<ModuleReport> {
        let mut again = |(old, made): (&(String, PathBuf), Result<Made>)| {
            self.publish_again(old, made).unwrap_or_else(|error| ModuleReport {
                module: old.0.clone(),
                routines: 0,
                warnings: String::new(),
                failure: Some(Failure::from(&error)),
            })
        };
        let mut reports: Vec<ModuleReport> = modules.iter().zip(outcomes).map(&mut again).collect();
        // The order's answer has nothing but modules: the first one's says what is to be said of
        // all.
        let unknown = self.logged(self.unknown_modules(table));
        if let Some(first) = reports.first_mut() {
            first.warnings = shortened(format!("{unknown}{}", first.warnings));
        }
        reports
    }

    /// Warnings as one text, which the administrator of the server gets, too.
    fn logged(&self, warnings: Vec<String>) -> String {
        warnings.iter().for_each(|warning| (self.notice)(warning));
        warnings.iter().map(|warning| format!("{warning}\n")).collect()
    }

    fn withdraw(&mut self, module: &str, by: &Orderer) -> Result<()> {
        self.claim_of(module, &by.visible)?;
        self.claims.check(module, by)?;
        self.ask(Request::Withdraw { module: module.to_owned() })?;
        self.claims.remove(module);
        self.store.forget(module);
        Ok(())
    }

    /// Only modules that are `visible` to the client are named instead of one that is not
    /// published.
    fn claim_of(&self, module: &str, visible: &Visible) -> Result<&Claim> {
        self.claims.get(module).ok_or_else(|| {
            let names =
                || self.claims.modules().map(String::as_str).filter(|known| visible.shows(known));
            let near = nearest(module, names(), 1);
            let all = names().collect::<Vec<_>>().join(", ");
            let message = format!("no module \"{}\" is published", module.escape_debug());
            let error = Error::new(ErrorKind::NotFound, "find a module", message);
            match near.first() {
                Some(near) => error.fix(format!("did you mean {near}?")),
                None if all.is_empty() => error.fix("`farcall ls` lists all names"),
                None => error.fix(format!("there is: {all}")),
            }
        })
    }

    fn ask(&self, request: Request) -> Result<Response> {
        self.directory.ask_and_wait(request, DIRECTORY_TIMEOUT)
    }
}

/// A file that was cut off while it was written has no table either, and would open every module to
/// every certificate.
fn table_gone(manifest: &Path) -> Error {
    let message = "the table access is missing: without it every user can call every module; the \
        previous table stays in force";
    Error::new(ErrorKind::InvalidArgument, "read the configuration file", message)
        .with("file", manifest.display())
        .fix(
            "add it again; to let all users call everything: access = [{ who = [\"*\"], call = \
            [\"*\"] }]",
        )
}
