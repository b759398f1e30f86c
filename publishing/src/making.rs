//! Makes modules of files that somebody publishes: judges the file, compiles it, checks what it can
//! reach. It takes as long as compilers do, in a thread of its own for each order, and changes
//! nothing of what is served.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::Diagnostics;
use farcall_services::directory::Publication;
use farcall_system::plain_file;
use farcall_wire::ModuleReport;

use crate::claims::Names;
use crate::exposed::{OwnFile, exposed, is_own, refusal};
use crate::module::{publication, publications};
use crate::python::{Interpreters, Publisher};
use crate::shared_data::shared_data_note;
use crate::shipped;
use crate::source::Source;

/// What is sent of the compiler's words, at most: a template's can be longer than a message may be.
const WORDS_MAX: usize = 64 << 10;

/// What makes modules for one order.
pub struct Maker {
    /// Which interpreters there are, for whom they run, and which names the order may use.
    pub interpreters: Interpreters,
    /// What is not for modules.
    pub own: Arc<[OwnFile]>,
    /// Whether its publisher sent the file, who has seen it then.
    pub was_sent: bool,
}

/// A module that can be published.
pub struct Made {
    /// The file that it came from.
    pub file: PathBuf,
    /// The module.
    pub publication: Publication,
    /// What its publisher is told.
    pub report: ModuleReport,
}

impl Maker {
    /// Makes the modules of a file that is named by whoever publishes it: one, but for lists of stub
    /// executables.
    ///
    /// # Errors
    /// What is wrong with the file, or with naming it.
    pub fn publish(&self, name: &str) -> Result<Vec<Made>> {
        let file = shipped::named(Path::new(name));
        if !file.is_absolute() {
            return Err(Error::new(
                ErrorKind::NotFound,
                "publish a module",
                format!(
                    "\"{}\" is neither an absolute path nor a file that comes with Farcall",
                    name.escape_debug()
                ),
            )
            .fix(format!("pass a file on the server's host, or one of {}", shipped::names())));
        }
        let source = self.opened(&file)?;
        // The files of one that was sent have one place, which one module can have.
        let all = if self.was_sent {
            publication(&source, None, &self.interpreters).map(|one| vec![one])
        } else {
            publications(&source, &self.interpreters)
        };
        let all = all.map_err(explained)?;
        all.into_iter().map(|one| self.checked(&file, &source, one)).collect()
    }

    /// Makes a module again from the file that it came from: libraries are looked for, and
    /// executables linked, as if it were new.
    ///
    /// # Errors
    /// As [`Maker::publish`].
    pub fn reload(&self, module: &str, file: &Path) -> Result<Made> {
        let names = Some(Arc::new(Names::Only(module.to_owned(), file.to_path_buf())));
        let interpreters = Interpreters { names, ..self.interpreters.clone() };
        let maker = Maker { interpreters, own: self.own.clone(), was_sent: false };
        let source = maker.opened(file)?;
        let made = publication(&source, Some(module), &maker.interpreters).map_err(explained)?;
        maker.checked(file, &source, made)
    }

    /// The file is opened once: what is judged is what is read, whatever its publisher puts into
    /// its place.
    fn opened(&self, file: &Path) -> Result<Source> {
        let source = Source::open(file)?;
        if is_own(source.file(), source.real(), &self.own) {
            let message =
                format!("{} is a file of the server, not an interface file", file.display());
            return Err(Error::new(ErrorKind::PermissionDenied, "publish a module", message)
                .fix("name another file"));
        }
        self.check_name(&source)?;
        self.check_place(&source)?;
        Ok(source)
    }

    fn checked(
        &self,
        file: &Path,
        source: &Source,
        (publication, warnings): (Publication, String),
    ) -> Result<Made> {
        check_exposed(&publication, &self.interpreters, &self.own)?;
        let notes = shared_data_note(&publication, source);
        let gap = if warnings.is_empty() || warnings.ends_with('\n') { "" } else { "\n" };
        let report = report(&publication, format!("{warnings}{gap}{notes}"));
        Ok(Made { file: file.to_path_buf(), publication, report })
    }

    /// A mistake is shown with its line: so a publisher names files that are interfaces by their
    /// names, and no others, on a server that is for others.
    fn check_name(&self, source: &Source) -> Result<()> {
        let is_named = || names_interface(source.path()) && names_interface(source.real());
        if self.interpreters.publisher != Publisher::Anybody || is_named() {
            return Ok(());
        }
        let message =
            format!("{} does not have the name of an interface file", source.named().display());
        Err(Error::new(ErrorKind::InvalidSource, "publish a module", message).fix(
            "name it FILE.idl, or FILE.py for Python; for a link, the name of its target counts",
        ))
    }
}

impl Maker {
    /// Its lines are shown, and its code runs, with what the server's user can read: so whoever may
    /// publish and no more names files that everybody can read.
    fn check_place(&self, source: &Source) -> Result<()> {
        let may_all = match self.interpreters.names.as_deref() {
            Some(Names::Of(_, by)) => by.administers,
            Some(Names::Only(..)) | None => true,
        };
        if may_all
            || self.was_sent
            || shipped::is_shipped(source.path())
            || plain_file::is_public(source.real())
        {
            return Ok(());
        }
        let message = format!("{} is not readable for all users", source.named().display());
        Err(Error::new(ErrorKind::PermissionDenied, "publish a module", message).fix(
            "make it readable and its directories accessible for all users (chmod o+r, o+x), or \
                 ask an administrator to publish it",
        ))
    }
}

/// Refuses a module that could open files of the server's own.
///
/// # Errors
/// `PermissionDenied`, with the first of them.
pub fn check_exposed(
    publication: &Publication,
    interpreters: &Interpreters,
    own: &[OwnFile],
) -> Result<()> {
    let module = &publication.module;
    let parts = publication.parts.iter().map(|part| interpreters.grants(module, &part.executable));
    let mut all: Vec<String> =
        parts.flat_map(|grants| exposed(&format!("module {module}"), &grants, own)).collect();
    // Programs of one module may do the same, but for their own files.
    all.dedup();
    refusal(&all).map_or(Ok(()), Err)
}

/// Whether a file is called as an interface, Python's, a list of stub executables or one of these,
/// or source code.
fn names_interface(path: &Path) -> bool {
    const ENDINGS: [&str; 18] = [
        "idl", "py", "nrf", "ngdef", "ldif", "c", "cc", "cpp", "cxx", "f", "for", "f77", "f90",
        "f95", "h", "so", "o", "a",
    ];
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    name.starts_with("_stub_") || (!name.starts_with('.') && ENDINGS.contains(&ending))
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
    let diagnostics =
        std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Diagnostics>());
    match diagnostics {
        Some(diagnostics) => Error::new(
            error.kind(),
            "publish a module",
            shortened(format!("the file has mistakes\n{diagnostics}")),
        ),
        None => error,
    }
}

/// Words that are not too long to travel.
pub fn shortened(mut words: String) -> String {
    if words.len() > WORDS_MAX {
        let end = (0..=WORDS_MAX).rev().find(|at| words.is_char_boundary(*at)).unwrap_or(0);
        words.truncate(end);
        words.push_str("\n… and more");
    }
    words
}
