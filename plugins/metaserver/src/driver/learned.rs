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
    /// Whether its last line has no end: the disk was full.
    is_cut: bool,
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
            Some(Content { lessons, is_cut }) => {
                (LearnedFile { path: Some(path), is_cut }, lessons)
            }
            None => (LearnedFile::default(), Vec::new()),
        }
    }

    /// Adds what was learned. A file that cannot be written to, as on a full disk, is written to no
    /// more.
    pub fn append(&mut self, lines: &str) {
        let Some(path) = &self.path else { return };
        let is_long = std::fs::metadata(path).is_ok_and(|file| file.len() > FILE_MAX);
        let is_there = !is_long || read(path).is_some();
        // What is cut off costs itself alone.
        let end = if std::mem::take(&mut self.is_cut) { "\n" } else { "" };
        if !is_there || write(path, &format!("{end}{lines}")).is_none() {
            self.path = None;
        }
    }
}

/// What a file holds.
#[derive(Default)]
struct Content {
    lessons: Vec<Lesson>,
    is_cut: bool,
}

/// Nothing for a file that is to be left alone.
fn read(path: &Path) -> Option<Content> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(Content::default());
        }
        Err(_) => return None,
    };
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(READ_MAX).read_to_end(&mut bytes).ok()?;
    let (lessons, _) = read_lessons(&String::from_utf8_lossy(&bytes), LESSONS_MAX).ok()?;
    let mut is_cut = bytes.last().is_some_and(|last| *last != b'\n');
    if bytes.len() as u64 > FILE_MAX {
        shorten(path, &lessons)?;
        is_cut = false;
    }
    Some(Content { lessons, is_cut })
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
    let written = file.write_all(text.as_bytes());
    if is_new && written.is_err() {
        // Half a heading would be that of another version, and the file never written to again.
        let _ = file.set_len(0);
    }
    written.ok()
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
    fn a_line_that_was_cut_off_costs_itself_alone() {
        let folder = folder("cut");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("learned");
        let cut = lesson(2.0).line();
        let text = format!("{HEADING}\n{}{}", lesson(1.0).line(), &cut[..cut.len() / 2]);
        std::fs::write(&path, text).unwrap();
        let name = path.to_str().unwrap();
        let (mut file, lessons) = LearnedFile::open(name);
        assert_eq!(lessons, [lesson(1.0)]);
        file.append(&lesson(3.0).line());
        file.append(&lesson(4.0).line());
        assert_eq!(LearnedFile::open(name).1, [lesson(1.0), lesson(3.0), lesson(4.0)]);
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
