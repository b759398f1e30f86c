//! What an executable is given of what its calls ask for (spec/call.md, section 12): more than the
//! manifest lets a module have, or than this host has, is refused with the figure. Pure.

use farcall_base::{Bytes, Error, ErrorKind, Resources, Result};
use farcall_services::spawner::{beyond, counted};
use serde::Deserialize;

use crate::limits::{Limits, MEMORY_LEAST};
use crate::state::Executable;

/// What to do where a host has too little.
const ELSEWHERE: &str = "ask for less, or have a launcher start the module where there is more";

/// The ids of GPUs that the server may give away, as the manifest says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a number of GPUs, a list of their ids, \"visible\" or \"job\"")]
pub(crate) enum Gpus {
    /// So many, numbered from 0.
    Count(u32),
    /// These, as CUDA_VISIBLE_DEVICES would name them.
    Ids(Vec<String>),
    /// Those that this process sees.
    Word(GpusWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GpusWord {
    /// What CUDA_VISIBLE_DEVICES says; none without it.
    Visible,
    /// The same in a job: without the variable, the batch system has not said which they are, and
    /// an executable sees all that the job sees.
    Job,
}

/// What this host has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) processors: u32,
    pub(crate) memory: Bytes,
    pub(crate) gpus: Vec<String>,
    /// Whether a batch system has given it what its job may use: that is not counted again, and GPUs
    /// may have no names.
    pub(crate) is_in_job: bool,
}

impl Default for Host {
    /// One that nobody has looked at bounds nothing.
    fn default() -> Host {
        let memory = Bytes(u64::MAX);
        Host { processors: u32::MAX, memory, gpus: Vec::new(), is_in_job: false }
    }
}

impl Gpus {
    /// The ids, where `visible` is what CUDA_VISIBLE_DEVICES says.
    pub(crate) fn ids(&self, visible: Option<&str>) -> Vec<String> {
        match self {
            Gpus::Count(count) => (0..*count).map(|id| id.to_string()).collect(),
            Gpus::Ids(ids) => ids.clone(),
            Gpus::Word(_) => {
                let ids = visible.unwrap_or_default().split(',').map(str::trim);
                // CUDA takes what stands before the first wrong one.
                ids.take_while(|id| is_id(id)).map(str::to_owned).collect()
            }
        }
    }

    /// What is wrong with it.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        const MOST: u32 = 1024;
        match self {
            Gpus::Count(count) if *count > MOST => {
                Err(format!("gpus is {count}: set at most {MOST}"))
            }
            Gpus::Ids(ids) => match ids.iter().find(|id| !is_id(id)) {
                Some(id) => Err(format!("{id:?} is not the id of a GPU")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// A number, or `GPU-` and `MIG-` with what follows.
fn is_id(id: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || "-_/:.".contains(c);
    !id.is_empty() && !id.starts_with('-') && id.len() <= 128 && id.chars().all(usable)
}

impl Limits {
    /// These for calls that ask for something.
    pub(crate) fn given(self, asked: &Resources, host: &Host) -> Result<Limits> {
        let limits = match asked.cores {
            Some(cores) => self.with_cores(cores, host)?,
            None => self,
        };
        match asked.memory {
            Some(memory) => limits.with_memory(memory, host),
            None => Ok(limits),
        }
    }

    fn with_cores(self, cores: u32, host: &Host) -> Result<Limits> {
        if let Some(most) = self.cores_max().filter(|most| cores > *most) {
            let bound = format!("limits.cores_max is {most}");
            let fix = "ask for fewer, or raise limits.cores_max in farcall.toml";
            return Err(beyond(counted(cores, "core"), bound, fix));
        }
        if cores > host.processors {
            let bound = format!("the processors of this host are {}", host.processors);
            return Err(beyond(counted(cores, "core"), bound, ELSEWHERE));
        }
        Ok(self.with_threads(cores.into()))
    }

    fn with_memory(self, memory: Bytes, host: &Host) -> Result<Limits> {
        let refused =
            |bound: String, fix| Err(beyond(format!("{memory} of memory were"), bound, fix));
        if memory.0 < MEMORY_LEAST {
            let least = Bytes(MEMORY_LEAST);
            return refused(format!("no executable starts with less than {least}"), "ask for more");
        }
        if let Some(most) = self.memory_bytes_max().filter(|most| memory.0 > *most) {
            let fix = "ask for less, or raise limits.memory_bytes_max in farcall.toml";
            return refused(format!("limits.memory_bytes_max is {most}"), fix);
        }
        if memory > host.memory {
            return refused(format!("this host has {}", host.memory), ELSEWHERE);
        }
        Ok(self.with_memory_bytes(memory.0))
    }
}

impl Host {
    /// The GPUs of one more executable of so many processes; none where nobody names any.
    pub(crate) fn gpus_for<'a>(
        &self,
        asked: &Resources,
        processes: u32,
        running: impl Iterator<Item = &'a Executable>,
    ) -> Result<Vec<String>> {
        let wanted = asked.gpus.unwrap_or(0).saturating_mul(processes.max(1));
        if wanted == 0 || (self.is_in_job && self.gpus.is_empty()) {
            return Ok(Vec::new());
        }
        let count = self.gpus.len();
        let fix = "ask for fewer, set gpus in the options of spawner-local in farcall.toml to the \
            GPUs of this host, or have a launcher start the module where there are some";
        if wanted as usize > count {
            let bound = match count {
                0 => "this server has none".to_owned(),
                _ => format!("the GPUs of this server are {count}"),
            };
            return Err(beyond(counted(wanted, "GPU"), bound, fix));
        }
        let taken: Vec<&String> = running.flat_map(|one| &one.gpus).collect();
        let free = self.gpus.iter().filter(|id| !taken.contains(id));
        let own: Vec<String> = free.take(wanted as usize).cloned().collect();
        if own.len() == wanted as usize {
            return Ok(own);
        }
        let left = count - taken.len();
        let message =
            format!("{} requested, and {left} of {count} are free", counted(wanted, "GPU"));
        Err(Error::new(ErrorKind::LimitExceeded, "start an executable", message)
            .fix("try again when an object or a call that has one has ended")
            .retryable())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_kernel::Options;

    use super::*;

    fn host() -> Host {
        let gpus = vec!["0".to_owned(), "1".to_owned()];
        Host { processors: 4, memory: Bytes(8 << 30), gpus, is_in_job: false }
    }

    fn asked(text: &str) -> Resources {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_asked_for_is_a_limit() {
        let limits = Limits::standard().given(&asked("cores=3, memory=1 GB"), &host()).unwrap();
        assert_eq!((limits.threads(8, 2), limits.threads_are_set()), (3, true));
        assert_eq!(limits.memory_bytes_max(), Some(1 << 30));
        assert_eq!(Limits::standard().given(&asked(""), &host()).unwrap(), Limits::standard());
    }

    #[test]
    fn more_than_there_is_is_refused_with_the_figure() {
        let text = "memory_bytes_max = 1073741824\ncores_max = 2";
        let small = || Options::from_text("farcall.toml", text).unwrap().read::<Limits>().unwrap();
        for (text, limits, words) in [
            (
                "cores=5",
                Limits::standard(),
                "5 cores were requested, and the processors of this host are 4",
            ),
            ("cores=3", small(), "3 cores were requested, and limits.cores_max is 2"),
            (
                "memory=2 GB",
                small(),
                "2 GiB of memory were requested, and limits.memory_bytes_max is 1073741824",
            ),
            (
                "memory=9 GB",
                Limits::standard(),
                "9 GiB of memory were requested, and this host has 8 GiB",
            ),
            ("memory=1 MB", Limits::standard(), "no executable starts with less than 16 MiB"),
        ] {
            let error = limits.given(&asked(text), &host()).unwrap_err();
            assert!(error.to_string().contains(words), "{text}: {error}");
            assert!(error.advice().is_some(), "{text}");
        }
    }

    #[test]
    fn gpus_are_named_or_counted_or_seen() {
        let ids = |gpus: Gpus, visible| gpus.ids(visible).join(" ");
        assert_eq!(ids(Gpus::Count(2), Some("7")), "0 1");
        assert_eq!(ids(Gpus::Word(GpusWord::Visible), Some("1, GPU-ab,-1,3")), "1 GPU-ab");
        assert_eq!(ids(Gpus::Word(GpusWord::Job), None), "");
        assert!(Gpus::Ids(vec!["0,1".to_owned()]).check().is_err());
        assert!(Gpus::Count(2000).check().is_err());
    }

    #[test]
    fn gpus_that_nobody_has_are_refused() {
        let none = Host { gpus: Vec::new(), ..host() };
        let refused = |host: &Host, text: &str, processes| {
            host.gpus_for(&asked(text), processes, [].into_iter()).unwrap_err().to_string()
        };
        assert!(
            refused(&none, "gpus=1", 1).contains("1 GPU was requested, and this server has none")
        );
        assert!(
            refused(&host(), "gpus=1", 3)
                .contains("3 GPUs were requested, and the GPUs of this server are 2")
        );
        let nameless = Host { is_in_job: true, ..none };
        assert_eq!(
            nameless.gpus_for(&asked("gpus=1"), 1, [].into_iter()).unwrap(),
            Vec::<String>::new()
        );
        assert_eq!(host().gpus_for(&asked("gpus=2"), 1, [].into_iter()).unwrap(), ["0", "1"]);
    }
}
