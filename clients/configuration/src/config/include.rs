//! Files that include files: all sections in the order of the text, within bounds, and no file
//! within itself.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::check::check;
use super::mistake::{Place, Remarks, meant, shown};
use super::table::{INCLUDE, SECTIONS, SectionKind};
use super::text::{Section, sections};

/// Longest file.
pub(crate) const FILE_BYTES_MAX: u64 = 4 << 20;
/// How deep files may include files.
const DEPTH_MAX: usize = 16;
/// How many files there may be in all, so that a few that include one another twice do not become a
/// million.
const FILES_MAX: usize = 256;

/// Reads a file of at most [`FILE_BYTES_MAX`] bytes: the system, or a test.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Reads files and what they include.
pub(crate) struct Reader<'a> {
    pub read: ReadFile<'a>,
    pub remarks: &'a mut Remarks,
    /// The file that is read, and those that include it.
    open: Vec<PathBuf>,
    count: usize,
    /// What was found so far.
    sections: Vec<(Section, &'static SectionKind)>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(read: ReadFile<'a>, remarks: &'a mut Remarks) -> Reader<'a> {
        Reader { read, remarks, open: Vec::new(), count: 0, sections: Vec::new() }
    }

    /// All sections of `file`, and of what it includes at the place where it does.
    ///
    /// # Errors
    /// When `file` itself cannot be read.
    pub(crate) fn all(mut self, file: &Path) -> io::Result<Vec<(Section, &'static SectionKind)>> {
        let bytes = (self.read)(file)?;
        self.file(file.to_path_buf(), &bytes);
        Ok(self.sections)
    }

    fn file(&mut self, path: PathBuf, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let name: Arc<Path> = path.as_path().into();
        if text.contains('\0') {
            let place = Place { file: name, line: 1, column: 1 };
            self.remarks.mistake(
                &place,
                "it is not text",
                Some("name a configuration file".into()),
            );
            return;
        }
        self.count += 1;
        self.open.push(plain(&path));
        for section in sections(&name, &text, self.remarks) {
            self.section(section);
        }
        self.open.pop();
    }

    fn section(&mut self, section: Section) {
        let name = section.name.text.as_str();
        match SECTIONS.iter().find(|kind| kind.name == name) {
            Some(kind) if kind.name == INCLUDE.name => self.include(&section),
            Some(kind) => self.sections.push((section, kind)),
            None => {
                let names: Vec<&str> = SECTIONS.iter().map(|kind| kind.name).collect();
                let message = format!("there is no section {}", shown(name));
                self.remarks.mistake(&section.name.place, message, meant(name, &names));
            }
        }
    }

    fn include(&mut self, section: &Section) {
        let values = check(section, &INCLUDE, self.remarks);
        for (name, place) in values.texts("filename") {
            if let Err((message, advice)) = self.included(&name, &place) {
                self.remarks.mistake(&place, message, Some(advice.to_owned()));
            }
        }
    }

    fn included(&mut self, name: &str, place: &Place) -> Result<(), (String, &'static str)> {
        let path = beside(&place.file, Path::new(name));
        if self.open.contains(&plain(&path)) {
            return Err((
                format!("{} includes itself", shown(name)),
                "remove one of the INCLUDE sections",
            ));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err((
                format!("INCLUDE is nested more than {DEPTH_MAX} levels deep"),
                "use fewer levels",
            ));
        }
        if self.count >= FILES_MAX {
            return Err((
                format!("more than {FILES_MAX} files are included"),
                "combine some of them",
            ));
        }
        let bytes = (self.read)(&path).map_err(|error| {
            let message = format!("cannot read {}: {error}", path.display());
            (message, "relative names start at the directory of the including file")
        })?;
        self.file(path, &bytes);
        Ok(())
    }
}

/// `name` as seen from the folder that `file` is in.
pub(crate) fn beside(file: &Path, name: &Path) -> PathBuf {
    file.parent().map_or_else(|| name.to_path_buf(), |folder| folder.join(name))
}

/// The same path without detours, so that a file is known again. Links may still lead in circles:
/// the depth is bounded.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
