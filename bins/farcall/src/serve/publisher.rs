//! Publishes modules, and publishes them anew, while the server runs: compiling and linking take a thread of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result, nearest};
use farcall_idl::Diagnostics;
use farcall_interfaces::directory::{DirectoryHandle, Publication, Request, Response, Visible};
use farcall_interfaces::mailbox::{NoMessage, Port, Receiver, mailbox};
use farcall_kernel::{Manifest, Node};
use farcall_rpc_server::access::{self, Entry};
use farcall_rpc_server::{Instruction, RpcHandle};
use farcall_spawner_jobs::Launchers;
use farcall_wire::{Failure, ModuleReport, Order};

use super::{plugins, server_options};
use crate::exposed::{OwnFile, exposed, is_own, refusal};
use crate::output::notice;
use crate::publish::publication;
use crate::python::Interpreters;
use crate::shipped;

/// Time that the directory has for one request.
const DIRECTORY_TIMEOUT: Duration = Duration::from_secs(30);
/// Orders that wait at a time: each may take as long as a compiler.
const ORDERS_MAX: usize = 16;
/// What is sent of the compiler's words, at most: a template's can be longer than a message may be.
const WORDS_MAX: usize = 64 << 10;

/// What is published, and from where.
pub struct Publisher {
    directory: DirectoryHandle,
    files: BTreeMap<String, PathBuf>,
    interpreters: Interpreters,
    launchers: Launchers,
    /// What is not for modules.
    own: Vec<OwnFile>,
    followed: Option<Followed>,
}

/// Where the table of rights comes from, and goes.
struct Followed {
    manifest: PathBuf,
    rpc: RpcHandle,
    /// Whether there is a table now.
    tabled: bool,
}

impl Publisher {
    /// One that has published nothing.
    pub fn new(
        directory: DirectoryHandle,
        interpreters: Interpreters,
        launchers: Launchers,
        own: Vec<OwnFile>,
    ) -> Publisher {
        Publisher { directory, files: BTreeMap::new(), interpreters, launchers, own, followed: None }
    }

    /// Reads who may do what from the manifest again when all is reloaded; `table` is what it says now.
    pub fn follow(&mut self, manifest: &Path, table: &[Entry], rpc: RpcHandle) -> Result<()> {
        let manifest = std::path::absolute(manifest).map_err(|error| Error::system("find the manifest", error))?;
        self.followed = Some(Followed { manifest, rpc, tabled: !table.is_empty() });
        Ok(())
    }

    /// Who may do what from now on. A manifest with mistakes changes nothing, whichever of its options they are in.
    fn grant_anew(&mut self) -> Result<Vec<Entry>> {
        let Some(followed) = &mut self.followed else { return Ok(Vec::new()) };
        let manifest = Manifest::load(&followed.manifest)?.completed(&plugins());
        Node::check(&manifest, &plugins())?;
        let table = server_options(&manifest)?.access;
        if followed.tabled && table.is_empty() {
            return Err(table_gone(&followed.manifest));
        }
        followed.rpc.grant(table.clone())?;
        followed.tabled = !table.is_empty();
        Ok(table)
    }

    /// What the table says of modules that are not published.
    pub fn unknown_modules(&self, table: &[Entry]) -> Vec<String> {
        let unknown = access::unknown_modules(table, |module| self.files.contains_key(module));
        let launched = self.launchers.modules().filter(|module| !self.files.contains_key(*module));
        let launched = launched.map(|module| format!("a launcher is chosen for the module \"{module}\""));
        unknown.into_iter().chain(launched).map(|words| format!("{words}, which is not published (yet?)")).collect()
    }

    /// Publishes a module that was made from `file`.
    pub fn publish(&mut self, file: &Path, mut publication: Publication) -> Result<()> {
        let module = publication.module.clone();
        for part in &mut publication.parts {
            self.launchers.of(&module).clone_into(&mut part.executable.launcher);
        }
        self.ask(Request::Publish(publication))?;
        let file = std::path::absolute(file).map_err(|error| Error::system("publish a module", error))?;
        self.files.insert(module, file);
        Ok(())
    }

    /// Takes orders in a thread of its own until nobody can send any.
    pub fn run(mut self) -> Result<Port<Instruction>> {
        let (sender, mut receiver): (_, Receiver<Instruction>) = mailbox(ORDERS_MAX)?;
        let serve = move || loop {
            match receiver.receive_timeout(Duration::MAX) {
                Ok(Instruction { order, reply, giver, visible }) => {
                    self.interpreters.giver = Some(giver);
                    reply.answer(self.obey(order, &visible));
                }
                Err(NoMessage::Empty) => {}
                Err(NoMessage::Closed) => return,
            }
        };
        let thread = std::thread::Builder::new().name("publisher".to_owned()).spawn(serve);
        thread.map_err(|error| Error::system("start a thread", error))?;
        Ok(sender.port(|instruction| instruction))
    }

    fn obey(&mut self, order: Order, visible: &Visible) -> Result<Vec<ModuleReport>> {
        match order {
            Order::Publish(file) => self.publish_file(&file).map(|report| vec![report]),
            Order::Withdraw(module) => self.withdraw(&module, visible).map(|()| Vec::new()),
            Order::Reload(Some(module)) => self.reload(&module, visible).map(|report| vec![report]),
            Order::Reload(None) => {
                let table = self.grant_anew()?;
                let mut reports = self.reload_all();
                // The order's answer has nothing but modules: the first one's says what is to be said of all.
                let unknown = logged(self.unknown_modules(&table));
                if let Some(first) = reports.first_mut() {
                    first.warnings = shortened(format!("{unknown}{}", first.warnings));
                }
                Ok(reports)
            }
            Order::Drain(_) | Order::Delete(_) | Order::EndJob(_) => {
                Err(Error::internal("carry out an order", "it is not about modules"))
            }
        }
    }

    fn publish_file(&mut self, name: &str) -> Result<ModuleReport> {
        let file = shipped::named(Path::new(name));
        if !file.is_absolute() {
            return Err(Error::new(
                ErrorKind::NotFound,
                "publish a module",
                format!("\"{}\" is no path from the root, and no file that comes with Farcall", name.escape_debug()),
            )
            .fix(format!("name a file on the server's host, or one of {}", shipped::names())));
        }
        if is_own(&file, &self.own) {
            let message = format!("{} is a file of the server's own, and no interface", file.display());
            return Err(Error::new(ErrorKind::PermissionDenied, "publish a module", message).fix("name another file"));
        }
        self.check_name(&file)?;
        let (publication, warnings) = publication(&file, &self.interpreters).map_err(explained)?;
        check_exposed(&publication, &self.interpreters, &self.own)?;
        let report = report(&publication, warnings);
        self.publish(&file, publication)?;
        Ok(report)
    }

    /// A mistake is shown with its line: so a publisher names files that are interfaces by their names, and no others, on a
    /// server that is for others.
    fn check_name(&self, file: &Path) -> Result<()> {
        if self.interpreters.publisher != crate::python::Publisher::Anybody || names_interface(file) {
            return Ok(());
        }
        let message = format!("{} is no interface by its name", file.display());
        Err(Error::new(ErrorKind::InvalidSource, "publish a module", message)
            .fix("name it FILE.idl, or FILE.py for Python; a link is what it leads to"))
    }

    fn withdraw(&mut self, module: &str, visible: &Visible) -> Result<()> {
        self.file_of(module, visible)?;
        self.ask(Request::Withdraw { module: module.to_owned() })?;
        self.files.remove(module);
        Ok(())
    }

    /// From the file that it came from: libraries are looked for, and executables linked, as if it were new.
    fn reload(&mut self, module: &str, visible: &Visible) -> Result<ModuleReport> {
        let file = self.file_of(module, visible)?.clone();
        let (publication, warnings) = publication(&file, &self.interpreters).map_err(explained)?;
        if publication.module != module {
            let message = format!("the file has the module \"{}\" now", publication.module);
            return Err(Error::new(ErrorKind::InvalidSource, "reload a module", message)
                .with("file", file.display())
                .fix(format!("farcall publish {}; farcall withdraw {module}", file.display())));
        }
        check_exposed(&publication, &self.interpreters, &self.own)?;
        let report = report(&publication, warnings);
        self.publish(&file, publication)?;
        Ok(report)
    }

    /// What cannot be published anew is served as before.
    fn reload_all(&mut self) -> Vec<ModuleReport> {
        let modules: Vec<String> = self.files.keys().cloned().collect();
        let reload = |module: String| {
            self.reload(&module, &Visible::All).unwrap_or_else(|error| ModuleReport {
                module,
                routines: 0,
                warnings: String::new(),
                failure: Some(Failure::from(&error)),
            })
        };
        modules.into_iter().map(reload).collect()
    }

    /// Only modules that are `visible` to whoever asks are named instead of one that is not published.
    fn file_of(&self, module: &str, visible: &Visible) -> Result<&PathBuf> {
        self.files.get(module).ok_or_else(|| {
            let names = || self.files.keys().map(String::as_str).filter(|known| visible.shows(known));
            let near = nearest(module, names(), 1);
            let all = names().collect::<Vec<_>>().join(", ");
            let message = format!("no module \"{}\" is published", module.escape_debug());
            let error = Error::new(ErrorKind::NotFound, "find a module", message);
            match near.first() {
                Some(near) => error.fix(format!("did you mean {near}?")),
                None if all.is_empty() => error.fix("`farcall ls` lists what there is"),
                None => error.fix(format!("there is: {all}")),
            }
        })
    }

    fn ask(&self, request: Request) -> Result<Response> {
        self.directory.ask_and_wait(request, DIRECTORY_TIMEOUT)
    }
}

/// Refuses a module that could open files of the server's own.
///
/// # Errors
/// `PermissionDenied`, with the first of them.
pub fn check_exposed(publication: &Publication, interpreters: &Interpreters, own: &[OwnFile]) -> Result<()> {
    let module = &publication.module;
    let parts = publication.parts.iter().map(|part| interpreters.grants(module, &part.executable));
    let mut all: Vec<String> = parts.flat_map(|grants| exposed(&format!("module {module}"), &grants, own)).collect();
    // Programs of one module may do the same, but for their own files.
    all.dedup();
    refusal(&all).map_or(Ok(()), Err)
}

/// Whether a file is an interface, Python's, a list of stub executables or one of these, or source code, by its own name and by
/// that of what it leads to.
fn names_interface(file: &Path) -> bool {
    const ENDINGS: [&str; 18] = [
        "idl", "py", "nrf", "ngdef", "ldif", "c", "cc", "cpp", "cxx", "f", "for", "f77", "f90", "f95", "h", "so", "o",
        "a",
    ];
    let fits = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        name.starts_with("_stub_") || (!name.starts_with('.') && ENDINGS.contains(&ending))
    };
    fits(file) && file.canonicalize().map_or(true, |real| fits(&real))
}

/// A file that was cut off while it was written has no table either, and would open every module to every certificate.
fn table_gone(manifest: &Path) -> Error {
    let message = "the table access is gone: without it every user could call every module; the one before stays";
    Error::new(ErrorKind::InvalidArgument, "read the manifest", message)
        .with("file", manifest.display())
        .fix("write it again; if all users are to call everything: access = [{ who = [\"*\"], call = [\"*\"] }]")
}

/// Warnings as one text, which whoever runs the server gets, too.
fn logged(warnings: Vec<String>) -> String {
    warnings.iter().for_each(|warning| notice(warning));
    warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn report(publication: &Publication, warnings: String) -> ModuleReport {
    ModuleReport {
        module: publication.module.clone(),
        routines: u32::try_from(publication.all_routines().count()).unwrap_or(u32::MAX),
        warnings: shortened(warnings),
        failure: None,
    }
}

/// A compiler's mistakes lie beside the error, and would not travel.
fn explained(error: Error) -> Error {
    let diagnostics = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Diagnostics>());
    match diagnostics {
        Some(diagnostics) => {
            Error::new(error.kind(), "publish a module", shortened(format!("the file has mistakes\n{diagnostics}")))
        }
        None => error,
    }
}

fn shortened(mut words: String) -> String {
    if words.len() > WORDS_MAX {
        let end = (0..=WORDS_MAX).rev().find(|at| words.is_char_boundary(*at)).unwrap_or(0);
        words.truncate(end);
        words.push_str("\n… and more");
    }
    words
}
