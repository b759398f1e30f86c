//! What callers write down of their calls, one line each, so that it is there whatever becomes of
//! them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use farcall_base::CallId;

/// A line that a caller writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It is about to make the call.
    Begun,
    /// The server has said that it keeps it.
    Kept(CallId),
    /// Its result is there, and right.
    Right,
    /// Its failure was reported.
    Failed(String),
    /// What must not be: a wrong result, no outcome in time, or an outcome that is gone.
    Broken(String),
}

/// What is known of one call.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub kept: Option<CallId>,
    /// The last of its outcomes.
    pub outcome: Option<Entry>,
}

/// The file of one caller, which those that come after it go on with; and one with a byte for each
/// outcome, whose length says how many there are.
pub struct Journal {
    lines: File,
    over: File,
}

impl Journal {
    pub fn open(path: &Path) -> Journal {
        let open = |path: &Path| File::options().create(true).append(true).open(path).unwrap();
        Journal { lines: open(path), over: open(&over(path)) }
    }

    /// One line in one write.
    pub fn write(&mut self, number: usize, entry: &Entry) {
        let line = match entry {
            Entry::Begun => format!("{number} begun\n"),
            Entry::Kept(id) => format!("{number} kept {id}\n"),
            Entry::Right => format!("{number} right\n"),
            Entry::Failed(why) => format!("{number} failed {}\n", why.replace('\n', "; ")),
            Entry::Broken(why) => format!("{number} broken {}\n", why.replace('\n', "; ")),
        };
        self.lines.write_all(line.as_bytes()).unwrap();
        if !matches!(entry, Entry::Begun | Entry::Kept(_)) {
            self.over.write_all(b".").unwrap();
        }
    }
}

fn over(path: &Path) -> PathBuf {
    path.with_extension("over")
}

/// How many outcomes a caller has written down.
pub fn count_over(path: &Path) -> usize {
    std::fs::metadata(over(path)).map_or(0, |file| file.len() as usize)
}

/// All that is in a caller's journal so far, by numbers of calls.
pub fn read(path: &Path) -> BTreeMap<usize, Record> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut records: BTreeMap<usize, Record> = BTreeMap::new();
    // What is after the last end of line is still being written.
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let mut words = line.splitn(3, ' ');
        let number = words.next().unwrap().parse().unwrap();
        let record = records.entry(number).or_default();
        match (words.next().unwrap(), words.next().unwrap_or_default()) {
            ("begun", _) => {}
            ("kept", id) => record.kept = Some(id.parse().unwrap()),
            ("right", _) => record.outcome = Some(Entry::Right),
            ("failed", why) => record.outcome = Some(Entry::Failed(why.into())),
            (_, why) => record.outcome = Some(Entry::Broken(why.into())),
        }
    }
    records
}
