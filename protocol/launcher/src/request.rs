//! Requests, cut out of what a driver writes (spec/launcher.md, sections 2 and 3).

use crate::job::Job;

/// Longest line, with its end.
pub const LINE_BYTES_MAX: usize = 32 << 10;
/// Most lines of one `JOB_CREATE`, ...
pub const ATTRIBUTES_MAX: usize = 4096;
/// ... and most bytes.
pub const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Longest id of a request or job.
pub const ID_BYTES_MAX: usize = 64;

/// What a driver asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What this launcher can do.
    QueryFeatures,
    /// A job, or what is wrong with it.
    JobCreate(String, Box<Result<Job, String>>),
    /// How a job is.
    JobStatus(String),
    /// A job is to end.
    JobDestroy(String),
    /// All jobs are to end, and the launcher.
    Exit,
    /// None of these: what is wrong with it.
    Wrong(String),
}

/// A `JOB_CREATE` that has not ended.
struct Open {
    id: String,
    job: Job,
    lines: usize,
    bytes: usize,
    /// What was wrong first.
    wrong: Option<String>,
}

/// Cuts bytes into requests.
#[derive(Default)]
pub struct Requests {
    rest: Vec<u8>,
    /// A line that is too long goes by.
    skips: bool,
    open: Option<Open>,
}

impl Requests {
    /// Takes what was read.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Vec<Request> {
        let mut requests = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(self.rest.len());
            self.skips |= piece.len() > room;
            self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                let line = if std::mem::take(&mut self.skips) {
                    Err(format!("a line has more than {LINE_BYTES_MAX} bytes"))
                } else {
                    text(line)
                };
                requests.extend(self.line(line));
            }
        }
        requests
    }

    fn line(&mut self, line: Result<String, String>) -> Option<Request> {
        let Some(open) = &mut self.open else { return self.request(line) };
        match line {
            Ok(line) if line == "JOB_CREATE_END" => return self.end(),
            Ok(line) => open.take(&line),
            Err(wrong) => open.is_wrong(wrong),
        }
        None
    }

    fn request(&mut self, line: Result<String, String>) -> Option<Request> {
        let line = match line {
            Ok(line) => line,
            Err(wrong) => return Some(Request::Wrong(wrong)),
        };
        let (name, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let id = rest.trim();
        match name {
            "" if rest.is_empty() => None,
            "QUERY_FEATURES" if id.is_empty() => Some(Request::QueryFeatures),
            "EXIT" if id.is_empty() => Some(Request::Exit),
            "JOB_CREATE" => {
                let wrong = (!is_id(id)).then(|| format!("JOB_CREATE: {WRONG_ID}"));
                self.open = Some(Open {
                    id: id.to_owned(),
                    job: Job::default(),
                    lines: 0,
                    bytes: 0,
                    wrong,
                });
                None
            }
            "JOB_STATUS" | "JOB_DESTROY" if !is_id(id) => {
                Some(Request::Wrong(format!("{name}: {WRONG_ID}")))
            }
            "JOB_STATUS" => Some(Request::JobStatus(id.to_owned())),
            "JOB_DESTROY" => Some(Request::JobDestroy(id.to_owned())),
            _ => Some(Request::Wrong(format!("unknown request {}", shown(name)))),
        }
    }

    fn end(&mut self) -> Option<Request> {
        let open = self.open.take()?;
        let job = open.wrong.map_or_else(|| open.job.check(), Err);
        Some(Request::JobCreate(open.id, Box::new(job)))
    }
}

impl Open {
    fn take(&mut self, line: &str) {
        self.lines += 1;
        self.bytes += line.len();
        if self.lines > ATTRIBUTES_MAX || self.bytes > REQUEST_BYTES_MAX {
            let most = format!("{ATTRIBUTES_MAX} lines and {REQUEST_BYTES_MAX} bytes");
            self.is_wrong(format!("a job has more than {most}"));
        } else if !line.is_empty() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            if let Err(wrong) = self.job.take(name, value) {
                self.is_wrong(wrong);
            }
        }
    }

    fn is_wrong(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }
}

const WRONG_ID: &str = "an id of 1 to 64 letters, digits, '.', '_' and '-' is required";

fn is_id(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.chars().all(letter)
}

/// A line without its end.
fn text(mut line: Vec<u8>) -> Result<String, String> {
    line.pop();
    if line.ends_with(b"\r") {
        line.pop();
    }
    let line = String::from_utf8(line).map_err(|_| "a line is not UTF-8".to_owned())?;
    if line.contains(['\0', '\r']) {
        Err("a line contains a NUL or CR".to_owned())
    } else {
        Ok(line)
    }
}

fn shown(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(bytes: &[u8]) -> Vec<Request> {
        Requests::default().handle_bytes(bytes)
    }

    fn wrong(attribute: &str) -> String {
        let text =
            format!("JOB_CREATE 1\r\nexecutable_path /bin/x\r\n{attribute}\r\nJOB_CREATE_END\r\n");
        match requests(text.as_bytes()).pop() {
            Some(Request::JobCreate(_, job)) => job.expect_err("it is wrong"),
            other => panic!("{other:?}"),
        }
    }

    const WHOLE: &str = "QUERY_FEATURES\r\nJOB_CREATE r.1\nexecutable_path /bin/a b\nargument  \
                         x\nargument\ncount 3\nenvironment A=b=c\nunknown thing\nmax_time \
                         5\nmax_wall_time 0\n\nJOB_CREATE_END\nJOB_STATUS 7\n\nJOB_DESTROY \
                         7\nEXIT\n";

    #[test]
    fn lines_end_as_they_like_and_come_in_pieces() {
        let whole = requests(WHOLE.as_bytes());
        let mut pieces = Requests::default();
        let again: Vec<Request> =
            WHOLE.bytes().flat_map(|byte| pieces.handle_bytes(&[byte])).collect();
        assert_eq!(again, whole);
        assert_eq!(whole.len(), 5);
        let Request::JobCreate(id, job) = &whole[1] else { panic!("{whole:?}") };
        let job = job.as_ref().as_ref().unwrap();
        assert_eq!(
            (id.as_str(), job.program.path.as_str(), job.shape.count),
            ("r.1", "/bin/a b", 3)
        );
        // One blank ends the name; all others are the value's.
        assert_eq!(job.program.arguments, [" x", ""]);
        assert_eq!(
            (job.program.environment[0].1.as_str(), job.resources.minutes_max),
            ("b=c", Some(5))
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_the_next_request_is_heard() {
        for (attribute, words) in [
            ("count 0", "count: a number from 1 to 100000"),
            ("count 1000000", "count: "),
            ("count -1", "count: "),
            ("staging yes", "staging: true or false"),
            ("backend pvm", "backend: normal or mpi"),
            ("environment A", "environment: NAME=VALUE"),
            ("environment 1A=x", "environment: NAME=VALUE"),
            ("environment A$(x)=x", "environment: NAME=VALUE"),
            ("queue_name --wrap=evil", "queue_name: one word"),
            ("hostname -oProxyCommand=evil", "hostname: one word"),
            ("option script.sh", "option: one option"),
            ("executable_path relative", "absolute path"),
            ("argument a\0b", "NUL"),
            ("argument a\rb", "CR"),
            ("ranks 99999\ncount 3", "count times ranks"),
        ] {
            assert!(wrong(attribute).contains(words), "{attribute}: {}", wrong(attribute));
        }
        let said = requests(
            b"JOB_CREATE \nJOB_CREATE_END\nSING\nJOB_STATUS a b\nJOB_STATUS\n\xff\nEXIT\n",
        );
        assert_eq!(said.len(), 6, "{said:?}");
        assert_eq!(said.last(), Some(&Request::Exit));
    }

    #[test]
    fn lines_and_jobs_without_end_are_bounded() {
        let mut endless = Requests::default();
        for _ in 0..100 {
            assert!(endless.handle_bytes(&[b'x'; 4096]).is_empty());
            assert!(endless.rest.len() <= LINE_BYTES_MAX);
        }
        assert!(matches!(
            &endless.handle_bytes(b"\nEXIT\n")[..],
            [Request::Wrong(_), Request::Exit]
        ));
        let many =
            format!("JOB_CREATE 1\n{}JOB_CREATE_END\n", "argument x\n".repeat(ATTRIBUTES_MAX + 1));
        assert!(
            matches!(&requests(many.as_bytes())[..], [Request::JobCreate(_, job)] if job.is_err())
        );
    }

    #[test]
    fn noise_never_breaks_it() {
        let mut random = farcall_base::SeededRandom::new(7);
        for round in 0..farcall_golden::fuzz_rounds(2000) {
            let mut bytes = WHOLE.as_bytes().to_vec();
            for _ in 0..1 + round % 8 {
                let at = farcall_base::Random::next(&mut random) as usize % bytes.len();
                bytes[at] = farcall_base::Random::next(&mut random) as u8;
            }
            let mut cut = Requests::default();
            for piece in bytes.chunks(1 + round as usize % 50) {
                let _ = cut.handle_bytes(piece);
            }
        }
    }
}
