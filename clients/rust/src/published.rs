//! Files that go to a server to be published: an interface file or a Python file, and those beside
//! it that it refers to.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;
use farcall_wire::{
    ModuleReport, Order, PUBLISHED_FILES, PUBLISHED_PIECES, PublishedFile, PublishedFiles,
    PublishedPiece,
};

use crate::client::Client;

const OPERATION: &str = "publish files";
/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// What is sent of a file at a time, where it does not fit a message.
const PIECE_BYTES_MAX: usize = 512 << 10;
/// Files of one publication.
const FILES_MAX: usize = 1000;

/// Files that go to a server together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    files: Vec<PublishedFile>,
    /// What messages call the first one.
    known_as: Option<String>,
}

impl Published {
    /// A file of this host, and those that it refers to, as far as they lie in its folder or below.
    ///
    /// # Errors
    /// `NotFound`, `LimitExceeded`, `System`.
    pub fn of_file(file: &Path) -> Result<Published> {
        let content = read(file)?;
        Published::of_source(file, content)
    }

    /// The same of a text that is not saved yet, as if it were this file.
    ///
    /// # Errors
    /// As [`Published::of_file`].
    pub fn of_source(file: &Path, content: Vec<u8>) -> Result<Published> {
        let name = file.file_name().and_then(|name| name.to_str());
        let name =
            name.ok_or_else(|| failed(ErrorKind::InvalidArgument, "it has no name", file))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
        let mut files = vec![PublishedFile { name: name.to_owned(), content }];
        let mut next = 0;
        while let Some(file) = files.get(next) {
            let near = referred_to(&folder, file);
            let is_new = |name: &String| files.iter().all(|known| known.name != *name);
            let new: Vec<String> = near.into_iter().filter(is_new).collect();
            if files.len() + new.len() > FILES_MAX {
                let message = format!("it refers to more than {FILES_MAX} files");
                return Err(failed(ErrorKind::LimitExceeded, &message, &folder.join(name)));
            }
            for name in new {
                let content = read(&folder.join(&name))?;
                files.push(PublishedFile { name, content });
            }
            next += 1;
        }
        let known_as = std::path::absolute(file).ok();
        let known_as = known_as.and_then(|file| file.to_str().map(str::to_owned));
        Ok(Published { files, known_as })
    }

    /// The same, but messages call its first file by another path of this host: that which its
    /// source was taken from.
    pub fn known_as(self, file: &str) -> Published {
        Published { known_as: Some(file.to_owned()), ..self }
    }

    /// Their names, the one that is published first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }
}

impl Client {
    /// Whether the server takes files with the order to publish them.
    pub fn takes_files(&self) -> bool {
        self.session().has_feature(PUBLISHED_FILES)
    }

    /// Has the server publish files that go to it with the order, and, if they are to `stay`,
    /// publish them again whenever it is started again.
    ///
    /// # Errors
    /// As [`Client::administer`]; `LimitExceeded` for more than the server takes.
    pub fn publish(
        &self,
        published: Published,
        stay: bool,
        timeout: Duration,
    ) -> Result<Vec<ModuleReport>> {
        self.check_takes_files()?;
        let Published { files, known_as } = published;
        let publication = self.sent_before(&files, timeout)?;
        let files = if publication.is_none() { files } else { Vec::new() };
        let order = PublishedFiles { files, stays: stay, there: None, known_as, publication };
        self.administer(Order::Files(order), timeout)
    }

    /// Sends files in pieces that are too long for a message, and gives the name of their
    /// publication. Each piece is answered before the next goes, so that one is on its way.
    fn sent_before(&self, files: &[PublishedFile], timeout: Duration) -> Result<Option<[u8; 16]>> {
        let fits = self.check_fits(files);
        if fits.is_ok() {
            return Ok(None);
        }
        if !self.session().has_feature(PUBLISHED_PIECES) {
            return fits.map(|()| None);
        }
        let publication = self.session().random();
        let piece_bytes = (self.session().control_bytes_max() / 2).clamp(1, PIECE_BYTES_MAX);
        for PublishedFile { name, content } in files {
            // A file without content has one piece, too.
            let mut rest = content.as_slice();
            loop {
                let (piece, more) = rest.split_at(rest.len().min(piece_bytes));
                let content = piece.to_vec();
                let piece = PublishedPiece { publication, name: name.clone(), content };
                self.administer(Order::Piece(piece), timeout)?;
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(Some(publication))
    }

    /// Has the server publish a file of its own host, now and whenever it is started again.
    ///
    /// # Errors
    /// As [`Client::administer`].
    pub fn publish_there(&self, file: String, timeout: Duration) -> Result<Vec<ModuleReport>> {
        self.check_takes_files()?;
        let order = PublishedFiles {
            files: Vec::new(),
            stays: true,
            there: Some(file),
            known_as: None,
            publication: None,
        };
        self.administer(Order::Files(order), timeout)
    }

    fn check_takes_files(&self) -> Result<()> {
        if self.takes_files() {
            return Ok(());
        }
        let message = "this server publishes files of its own host only, and for its lifetime";
        Err(Error::new(ErrorKind::Unavailable, OPERATION, message)
            .with("server", self.address())
            .fix("start a newer version of Farcall there, or copy the files to its host"))
    }

    fn check_fits(&self, files: &[PublishedFile]) -> Result<()> {
        let bytes: usize = files.iter().map(|file| file.content.len()).sum();
        let limit = self.session().control_bytes_max();
        // Names and lengths take little.
        let around: usize = files.iter().map(|file| file.name.len() + 32).sum();
        if bytes + around + 256 <= limit {
            return Ok(());
        }
        let message = format!("the files have {bytes} bytes, and the server takes {limit} at once");
        Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
            .with("server", self.address())
            .fix(
                "copy them to the server's host and publish them by their path there, or raise \
                 control_bytes_max in its farcall.toml",
            ))
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    plain_file::read(file, FILE_BYTES_MAX).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::FileTooLarge => ErrorKind::LimitExceeded,
            _ => ErrorKind::System,
        };
        failed(kind, &error.to_string(), file)
    })
}

fn failed(kind: ErrorKind, message: &str, file: &Path) -> Error {
    Error::new(kind, OPERATION, message).with("file", file.display())
}

/// The files below the folder that a file names: what Python imports, and what stands in quotes in
/// an interface file or a C source.
fn referred_to(folder: &Path, file: &PublishedFile) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(&file.content) else { return Vec::new() };
    let beside = Path::new(&file.name).parent().unwrap_or(Path::new(""));
    let named = match file.name.ends_with(".py") {
        true => imported(folder, beside, text),
        false => quoted(text).map(|name| beside.join(name)).collect(),
    };
    let is_there = |name: &PathBuf| is_below(name) && folder.join(name).is_file();
    let plain = |name: PathBuf| {
        let parts = name.components().filter(|part| *part != Component::CurDir);
        parts.collect::<PathBuf>().to_str().map(str::to_owned)
    };
    let names: BTreeSet<String> = named.into_iter().filter(is_there).filter_map(plain).collect();
    names.into_iter().collect()
}

fn is_below(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// What stands in quotes, whole and by its words; `-lNAME` is a library of that name.
fn quoted(text: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let quotes = text.lines().flat_map(|line| line.split('"').skip(1).step_by(2));
    let words = |quote: &str| -> Vec<PathBuf> {
        let word = |word: &str| match word.strip_prefix("-l") {
            Some(library) => PathBuf::from(format!("lib{library}.so")),
            None => PathBuf::from(word),
        };
        [PathBuf::from(quote)].into_iter().chain(quote.split_whitespace().map(word)).collect()
    };
    quotes.flat_map(words).filter(|name| !name.as_os_str().is_empty())
}

/// The files of the modules that a Python source imports, whole packages with all of theirs.
fn imported(folder: &Path, beside: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for module in text.lines().filter_map(import_of).flatten() {
        // Modules are looked for beside the main file, and, with a dot, in their own package.
        let (base, name) = match module.strip_prefix('.') {
            Some(name) => (beside, name),
            None => (Path::new(""), module.as_str()),
        };
        let first = name.split('.').next().unwrap_or_default();
        if first.is_empty() {
            continue;
        }
        found.push(base.join(format!("{first}.py")));
        found.extend(package(folder, &base.join(first)));
    }
    found
}

/// The names in `import a.b, c as d` and `from a.b import c`.
fn import_of(line: &str) -> Option<Vec<String>> {
    let first = |words: &str| words.split_whitespace().next().unwrap_or_default().to_owned();
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("from ") {
        return Some(vec![first(rest)]);
    }
    let rest = line.strip_prefix("import ")?;
    Some(rest.split(',').map(first).collect())
}

/// Python's files of a package, and of those in it.
fn package(folder: &Path, name: &Path) -> Vec<PathBuf> {
    if !folder.join(name).join("__init__.py").is_file() {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut folders = VecDeque::from([name.to_path_buf()]);
    while let Some(next) = folders.pop_front().filter(|_| files.len() <= FILES_MAX) {
        let Ok(entries) = std::fs::read_dir(folder.join(&next)) else { continue };
        for entry in entries.flatten() {
            let path = next.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push_back(path),
                Ok(_) if path.extension().is_some_and(|ending| ending == "py") => files.push(path),
                _ => {}
            }
        }
    }
    files
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "published_tests.rs"]
mod tests;
