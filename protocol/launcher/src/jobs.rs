//! The jobs that a driver knows, and what it is told of them (spec/launcher.md, section 5).

use std::collections::{BTreeMap, VecDeque};

use farcall_base::printable;

use crate::action::Action;
use crate::request::Request;

/// Most jobs that are not over.
pub const JOBS_MAX: usize = 10_000;
/// Jobs that are over and can still be asked for.
const OVER_MAX: usize = 10_000;
/// Longest text of a notice, in letters.
const TEXT_MAX: usize = 1000;

/// How a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    Active,
    Done,
    Failed,
}

impl Status {
    pub fn is_final(self) -> bool {
        matches!(self, Status::Done | Status::Failed)
    }

    fn name(self) -> &'static str {
        match self {
            Status::Pending => "PENDING",
            Status::Active => "ACTIVE",
            Status::Done => "DONE",
            Status::Failed => "FAILED",
        }
    }
}

/// What is said, and of which jobs.
#[derive(Default)]
pub struct Jobs {
    table: BTreeMap<String, (Status, String)>,
    /// Which are over, the oldest first.
    over: VecDeque<String>,
    pub actions: VecDeque<Action>,
}

impl Jobs {
    /// The answer to a request that all launchers answer alike; gives back any other.
    pub fn answer(&mut self, request: Request, features: &[&str]) -> Option<Request> {
        match request {
            Request::QueryFeatures => self.features(features),
            Request::JobStatus(id) => {
                let shown =
                    self.table.get(&id).map(|(status, text)| line("S", &[status.name(), text]));
                self.reply(shown.unwrap_or_else(|| unknown(&id)));
            }
            Request::Wrong(why) => self.reply(line("F", &[&why])),
            Request::JobCreate(_, job) if job.is_err() => {
                let why = job.err().unwrap_or_default();
                self.reply(line("F", &[&why]));
            }
            Request::JobCreate(..) if self.open() >= JOBS_MAX => {
                self.reply(format!("F there are {JOBS_MAX} jobs already: cancel some of them"));
            }
            Request::JobDestroy(id) if !self.table.contains_key(&id) => self.reply(unknown(&id)),
            Request::JobDestroy(id) if self.status(&id).is_some_and(Status::is_final) => {
                self.reply("S".to_owned())
            }
            other => return Some(other),
        }
        None
    }

    fn features(&mut self, features: &[&str]) {
        let requests = ["QUERY_FEATURES", "JOB_CREATE", "JOB_STATUS", "JOB_DESTROY", "EXIT"];
        self.reply("SM".to_owned());
        self.reply("protocol_version 2.0".to_owned());
        features.iter().for_each(|feature| self.reply(format!("feature {feature}")));
        requests.iter().for_each(|request| self.reply(format!("request {request}")));
        self.reply("REPLY_END".to_owned());
    }

    pub fn reply(&mut self, line: String) {
        self.actions.push_back(Action::Reply(line));
    }

    /// A line for people, in the driver's log.
    pub fn remark(&mut self, text: &str) {
        self.actions.push_back(Action::Notice(line("#", &[text])));
    }

    /// A job that was asked for is there.
    pub fn created(&mut self, request: &str, id: &str) {
        self.table.insert(id.to_owned(), (Status::Pending, String::new()));
        self.actions.push_back(Action::Notice(format!("CREATE_NOTIFY {request} S {id}")));
    }

    /// It will not be there.
    pub fn refused(&mut self, request: &str, why: &str) {
        self.actions.push_back(Action::Notice(line("CREATE_NOTIFY", &[request, "F", why])));
    }

    /// A request asks for more slots than one job can have: `most` are fine.
    pub fn request_too_large(&mut self, request: &str, most: u32, why: &str) {
        self.too_large(&["request", request], most, why);
    }

    /// The same of a job that waits.
    pub fn job_too_large(&mut self, id: &str, most: u32, why: &str) {
        self.too_large(&["job", id], most, why);
    }

    fn too_large(&mut self, which: &[&str; 2], most: u32, why: &str) {
        let notice = line("SIZE_NOTIFY", &[which[0], which[1], &most.to_string(), why]);
        self.actions.push_back(Action::Notice(notice));
    }

    /// A request is not given up, though there is no job yet.
    pub fn delayed(&mut self, request: &str, why: &str) {
        self.actions.push_back(Action::Notice(line("DELAY_NOTIFY", &[request, why])));
    }

    /// Says so where anything has changed; what is over stays as it is.
    pub fn update(&mut self, id: &str, status: Status, text: &str) {
        let Some(known) = self.table.get_mut(id) else { return };
        if known.0.is_final() || (known.0 == status && known.1 == text) {
            return;
        }
        *known = (status, text.to_owned());
        self.actions.push_back(Action::Notice(line("STATUS_NOTIFY", &[id, status.name(), text])));
        if status.is_final() {
            self.over.push_back(id.to_owned());
            if self.over.len() > OVER_MAX {
                self.over.pop_front().and_then(|oldest| self.table.remove(&oldest));
            }
        }
    }

    /// Whatever is said of it next is said, changed or not.
    pub fn say_again(&mut self, id: &str) {
        if let Some((_, text)) = self.table.get_mut(id) {
            text.clear();
        }
    }

    pub fn status(&self, id: &str) -> Option<Status> {
        self.table.get(id).map(|(status, _)| *status)
    }

    /// What was said of it last.
    pub fn text(&self, id: &str) -> &str {
        self.table.get(id).map_or("", |(_, text)| text)
    }

    fn open(&self) -> usize {
        self.table.len() - self.over.len()
    }
}

fn unknown(id: &str) -> String {
    format!("F there is no job {id}")
}

/// One line, whatever is in its words.
fn line(begin: &str, words: &[&str]) -> String {
    let mut line = begin.to_owned();
    for word in words.iter().filter(|word| !word.is_empty()) {
        line.push(' ');
        let word: String = word.split_whitespace().collect::<Vec<_>>().join(" ");
        line.extend(printable(&word).chars().take(TEXT_MAX));
    }
    line
}
