//! What was learned, in a file that outlasts this program (spec/placement.md, section 11). Without
//! the file, and where it cannot be written, each start begins without experience.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use farcall_placement::{HEADING, Lesson, read_lessons};

/// Lines that are read.
const LESSONS_MAX: usize = 16_384;
/// Bytes that are read, at most: more is a file of somebody else's.
const READ_MAX: u64 = 64 << 20;
/// Bytes beyond which the file is written again with what is read of it.
const FILE_MAX: u64 = 8 << 20;

/// The file, if there is one.
#[derive(Default)]
pub struct LearnedFile {
    path: Option<PathBuf>,
}

impl LearnedFile {
    /// What an earlier run learned, and the file for what is learned from now on. A file of another
    /// version, or one that cannot be read, is left as it is.
    pub fn open(path: &str) -> (LearnedFile, Vec<Lesson>) {
        if path.is_empty() {
            return (LearnedFile::default(), Vec::new());
        }
        let path = PathBuf::from(path);
        match read(&path) {
            Some(lessons) => (LearnedFile { path: Some(path) }, lessons),
            None => (LearnedFile::default(), Vec::new()),
        }
    }

    /// Adds what was learned. A file that cannot be written to, as on a full disk, is written to no
    /// more.
    pub fn append(&mut self, lines: &str) {
        let Some(path) = &self.path else { return };
        let is_long = std::fs::metadata(path).is_ok_and(|file| file.len() > FILE_MAX);
        let is_there = !is_long || read(path).is_some();
        if !is_there || write(path, lines).is_none() {
            self.path = None;
        }
    }
}

/// Nothing for a file that is to be left alone.
fn read(path: &Path) -> Option<Vec<Lesson>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(READ_MAX).read_to_end(&mut bytes).ok()?;
    let (lessons, _) = read_lessons(&String::from_utf8_lossy(&bytes), LESSONS_MAX).ok()?;
    if bytes.len() as u64 > FILE_MAX {
        shorten(path, &lessons)?;
    }
    Some(lessons)
}

/// Writes the file again with these alone, in place of the one before at once.
fn shorten(path: &Path, lessons: &[Lesson]) -> Option<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let text: String = lessons.iter().map(Lesson::line).collect();
    let written = write(&new, &text).and_then(|()| std::fs::rename(&new, path).ok());
    if written.is_none() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// Appends in one write, so that lines of several writers alternate.
fn write(path: &Path, lines: &str) -> Option<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).ok()?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path).ok()?;
    let is_new = file.metadata().ok()?.len() == 0;
    let text = if is_new { format!("{HEADING}\n{lines}") } else { lines.to_owned() };
    file.write_all(text.as_bytes()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_placement::Work;

    use super::*;

    fn lesson(seconds: f64) -> Lesson {
        let work = Work { amount: 1e9, sizes: 7, threads: 1 };
        Lesson::Run { server: "tls://b:1".to_owned(), contract: [1; 32], work, seconds }
    }

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("farcall-learned-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_is_written_is_there_the_next_time() {
        let folder = folder("again");
        let path = folder.join("deep").join("learned");
        let name = path.to_str().unwrap();
        let (mut file, nothing) = LearnedFile::open(name);
        assert!(nothing.is_empty());
        file.append(&lesson(1.0).line());
        file.append(&lesson(2.0).line());
        assert_eq!(LearnedFile::open(name).1, [lesson(1.0), lesson(2.0)]);
        // A damaged line costs that line.
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replacen("run", "nur", 1))
            .unwrap();
        assert_eq!(LearnedFile::open(name).1, [lesson(2.0)]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_of_another_version_is_left_as_it_is() {
        let folder = folder("other");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("learned");
        std::fs::write(&path, "farcall learned 99\n").unwrap();
        let (mut file, lessons) = LearnedFile::open(path.to_str().unwrap());
        file.append(&lesson(1.0).line());
        assert!(lessons.is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "farcall learned 99\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_long_file_is_shortened_and_one_that_cannot_be_written_is_given_up() {
        let folder = folder("long");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("learned");
        let name = path.to_str().unwrap();
        let line = lesson(1.0).line();
        let lines = usize::try_from(FILE_MAX).unwrap() / line.len() + 10;
        std::fs::write(&path, format!("{HEADING}\n{}", line.repeat(lines))).unwrap();
        assert_eq!(LearnedFile::open(name).1.len(), LESSONS_MAX);
        let now = std::fs::metadata(&path).unwrap().len();
        assert_eq!(now, (HEADING.len() + 1 + LESSONS_MAX * line.len()) as u64);
        let (mut file, _) = LearnedFile::open(folder.to_str().unwrap());
        file.append(&line);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
