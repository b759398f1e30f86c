//! What one job may have, as the site's configuration says it: the partition's limits, and those
//! of the account and the quality of service where there is an accounting. What is not understood
//! limits nothing: Slurm says it then.

use std::time::Duration;

use farcall_base::Instant;

use crate::action::Outcome;
use crate::batch::answers::Fit;
use crate::job::{Job, Resources};

/// Time for which answers hold.
const FRESH: Duration = Duration::from_secs(600);
/// Jobs that would fill what may be used: so others' jobs leave room for some of them, and each
/// begins as soon as a few processors are free.
const BLOCKS: u32 = 8;

/// Which of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Partitions,
    Associations,
    Qualities,
}

/// What was answered, and when.
#[derive(Default)]
pub struct Limits {
    partitions: Vec<Partition>,
    associations: Vec<Association>,
    qualities: Vec<Quality>,
    /// Questions without an answer yet.
    open: usize,
    asked: Option<Instant>,
}

#[derive(Debug, Default)]
struct Partition {
    name: String,
    is_default: bool,
    quality: String,
    processors: u32,
    nodes: u32,
    nodes_max: Option<u32>,
    processors_by_node_max: Option<u32>,
    minutes_max: Option<u32>,
    /// Where its site counts them.
    gpus: Option<u32>,
}

/// Limits of one job, and of a group, which no job of it can exceed either.
#[derive(Clone, Debug, Default)]
struct Bounds {
    processors: Option<u32>,
    nodes: Option<u32>,
    minutes: Option<u32>,
}

#[derive(Debug)]
struct Association {
    account: String,
    partition: String,
    quality: String,
    bounds: Bounds,
}

#[derive(Debug)]
struct Quality {
    name: String,
    bounds: Bounds,
}

impl Limits {
    /// Whether nobody has asked yet, or long ago. Questions are counted as asked then.
    pub fn are_due(&mut self, now: Instant, questions: usize) -> bool {
        let is_due = self.open == 0 && self.asked.is_none_or(|at| now.since(at) >= FRESH);
        if is_due {
            self.asked = Some(now);
            self.open = questions;
        }
        is_due
    }

    /// Whether an answer is awaited.
    pub fn are_awaited(&self) -> bool {
        self.open > 0
    }

    /// One of them was answered; a question that failed leaves what is known.
    pub fn answered(&mut self, question: Question, outcome: &Outcome) {
        self.open = self.open.saturating_sub(1);
        if outcome.status != Some(0) {
            return;
        }
        let lines = outcome.output.lines().map(str::trim);
        match question {
            Question::Partitions => self.partitions = lines.filter_map(partition).collect(),
            Question::Associations => self.associations = lines.filter_map(association).collect(),
            Question::Qualities => self.qualities = lines.filter_map(quality).collect(),
        }
    }

    /// What fits a job; `None` where nothing is known. Of several partitions, the largest counts.
    pub fn fit(&self, job: &Job) -> Option<Fit> {
        let each = job.resources.processors_by_task();
        let is_of_one_node = job.resources.slot.gpus.is_some() && !job.shape.is_mpi();
        let usable = self.usable(&job.resources);
        let sized = usable.into_iter().map(|partition| {
            let by_node = partition.by_node();
            let bounds = self.bounds(partition, &job.resources);
            let nodes = bounds.nodes.unwrap_or(u32::MAX).min(partition.nodes);
            let processors = nodes.saturating_mul(by_node).min(partition.processors);
            let processors = bounds.processors.unwrap_or(u32::MAX).min(processors);
            let by_node = (by_node / each).min(partition.tasks_by_gpus(&job.resources));
            let tasks = (processors / each).min(partition.gpu_tasks(&job.resources));
            (if is_of_one_node { tasks.min(by_node) } else { tasks }, by_node, &partition.name)
        });
        let (tasks_max, by_node, name) = sized.max_by_key(|(tasks, ..)| *tasks)?;
        let block = tasks_max.div_ceil(BLOCKS).min(by_node).max(1);
        Some(Fit { tasks_max, block, place: format!("partition {name}") })
    }

    /// The longest time of a job, in minutes.
    pub fn minutes_max(&self, resources: &Resources) -> Option<u32> {
        let of_each = self.usable(resources).into_iter().map(|partition| {
            let own = self.bounds(partition, resources).minutes;
            least(own, partition.minutes_max).unwrap_or(u32::MAX)
        });
        of_each.max().filter(|minutes| *minutes < u32::MAX)
    }

    /// Partitions that a job may begin in.
    fn usable(&self, resources: &Resources) -> Vec<&Partition> {
        let named = resources.partition();
        let is_usable = |partition: &&Partition| match &named {
            Some(names) => names.split(',').any(|name| name == partition.name),
            None => partition.is_default,
        };
        self.partitions.iter().filter(is_usable).filter(|one| one.processors > 0).collect()
    }

    /// What account, partition and quality of service allow there, the least of all.
    fn bounds(&self, partition: &Partition, resources: &Resources) -> Bounds {
        let account = resources.project.as_deref();
        let is_own = |one: &&Association| {
            account.is_none_or(|account| account == one.account)
                && (one.partition.is_empty() || one.partition == partition.name)
        };
        let own: Vec<&Association> = self.associations.iter().filter(is_own).collect();
        // Which of several is the default account is not said here.
        let own = own.first().filter(|_| own.len() == 1);
        let quality = resources.quality().or_else(|| own.map(|one| one.quality.clone()));
        let is_in_force = |one: &&Quality| {
            one.name == partition.quality || quality.as_deref() == Some(one.name.as_str())
        };
        let qualities = self.qualities.iter().filter(is_in_force).map(|one| &one.bounds);
        let all = own.map(|one| &one.bounds).into_iter().chain(qualities);
        all.fold(Bounds::default(), |sum, one| Bounds {
            processors: least(sum.processors, one.processors),
            nodes: least(sum.nodes, one.nodes),
            minutes: least(sum.minutes, one.minutes),
        })
        .and_nodes(partition.nodes_max)
    }
}

impl Bounds {
    fn and_nodes(self, nodes: Option<u32>) -> Bounds {
        Bounds { nodes: least(self.nodes, nodes), ..self }
    }

    /// Of a job, of its group, and the time.
    fn read(job: &str, group: &str, time: &str) -> Bounds {
        Bounds {
            processors: least(tres(job, "cpu"), tres(group, "cpu")),
            nodes: least(tres(job, "node"), tres(group, "node")),
            minutes: minutes(time),
        }
    }
}

impl Partition {
    /// Processors of a node that a job may have.
    fn by_node(&self) -> u32 {
        let all = self.processors.div_ceil(self.nodes.max(1));
        self.processors_by_node_max.unwrap_or(u32::MAX).min(all).max(1)
    }

    /// Tasks that have their GPUs on one node, at least one if there are so many at all: nodes may
    /// differ. Any number where nobody counts GPUs.
    fn tasks_by_gpus(&self, resources: &Resources) -> u32 {
        match (self.gpus, resources.slot.gpus) {
            (Some(all), Some(each)) => (all.div_ceil(self.nodes.max(1)) / each).max(1),
            _ => u32::MAX,
        }
    }

    /// The same on all nodes.
    fn gpu_tasks(&self, resources: &Resources) -> u32 {
        match (self.gpus, resources.slot.gpus) {
            (Some(all), Some(each)) => all / each,
            _ => u32::MAX,
        }
    }
}

impl Resources {
    /// The partitions that are named, by the setting or by an option.
    fn partition(&self) -> Option<String> {
        self.queue_name.clone().or_else(|| self.option_of("--partition", "-p"))
    }

    fn quality(&self) -> Option<String> {
        self.option_of("--qos", "-q")
    }

    /// Processors of each task.
    pub fn processors_by_task(&self) -> u32 {
        if let Some(cores) = self.slot.cores {
            return cores;
        }
        let given = self.option_of("--cpus-per-task", "-c");
        given.and_then(|count| count.parse().ok()).unwrap_or(1).max(1)
    }

    /// The value of an option; options are one word each.
    fn option_of(&self, long: &str, short: &str) -> Option<String> {
        let value = |option: &String| {
            let long = option.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            long.or_else(|| option.strip_prefix(short)).map(str::to_owned)
        };
        self.options.iter().rev().find_map(value)
    }
}

fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

/// A line of `scontrol`: words of the form `Name=value`.
fn partition(line: &str) -> Option<Partition> {
    let value = |name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
    };
    let number = |name: &str| value(name).parse().ok();
    let name = Some(value("PartitionName")).filter(|name| !name.is_empty())?.to_owned();
    Some(Partition {
        name,
        is_default: value("Default") == "YES",
        quality: value("QoS").to_owned(),
        processors: number("TotalCPUs")?,
        nodes: number("TotalNodes")?,
        nodes_max: number("MaxNodes"),
        processors_by_node_max: number("MaxCPUsPerNode"),
        minutes_max: minutes(value("MaxTime")),
        gpus: tres(value("TRES"), "gres/gpu"),
    })
}

fn association(line: &str) -> Option<Association> {
    let cells: Vec<&str> = line.split('|').collect();
    let [account, partition, quality, job, group, time] = cells[..] else { return None };
    let bounds = Bounds::read(job, group, time);
    let [account, partition, quality] = [account, partition, quality].map(str::to_owned);
    Some(Association { account, partition, quality, bounds })
}

fn quality(line: &str) -> Option<Quality> {
    let cells: Vec<&str> = line.split('|').collect();
    let [name, job, group, time] = cells[..] else { return None };
    Some(Quality { name: name.to_owned(), bounds: Bounds::read(job, group, time) })
}

/// One of `cpu=64,node=2`.
fn tres(text: &str, name: &str) -> Option<u32> {
    let value = |part: &str| part.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    text.split(',').find_map(value)
}

/// Whole minutes of `days-hours:minutes:seconds`, of which the days may be missing.
fn minutes(text: &str) -> Option<u32> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let parts: Option<Vec<u32>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let &[hours, minutes, _] = parts?.as_slice() else { return None };
    let hours = days.parse::<u32>().ok()?.checked_mul(24)?.checked_add(hours)?;
    hours.checked_mul(60)?.checked_add(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str) -> Outcome {
        Outcome { status: Some(0), output: output.to_owned(), words: String::new() }
    }

    /// What a Slurm 22.05 with 2 nodes of 4 processors says.
    const MAIN: &str = "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL \
        AllocNodes=ALL Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO \
        GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=1-00:30:00 MinNodes=0 LLN=NO \
        MaxCPUsPerNode=UNLIMITED Nodes=n[1-2] PriorityJobFactor=1 State=UP TotalCPUs=8 \
        TotalNodes=2 SelectTypeParameters=NONE\n";
    const WIDE: &str = "PartitionName=wide Default=NO QoS=part MaxNodes=4 MaxTime=UNLIMITED \
        MaxCPUsPerNode=UNLIMITED State=UP TotalCPUs=6400 TotalNodes=100\n";

    fn limits() -> Limits {
        let mut limits = Limits::default();
        limits.answered(Question::Partitions, &said(&format!("{MAIN}{WIDE}garbage\n")));
        limits
    }

    fn job(lines: &[(&str, &str)]) -> Job {
        let mut job = Job::default();
        lines.iter().for_each(|(name, value)| job.take(name, value).unwrap());
        job
    }

    fn sizes(limits: &Limits, lines: &[(&str, &str)]) -> (u32, u32) {
        let fit = limits.fit(&job(lines)).unwrap();
        (fit.tasks_max, fit.block)
    }

    #[test]
    fn a_partition_bounds_processors_nodes_and_time() {
        let limits = limits();
        assert_eq!(sizes(&limits, &[]), (8, 1));
        assert_eq!(sizes(&limits, &[("option", "-c2")]), (4, 1));
        assert_eq!(sizes(&limits, &[("queue_name", "wide")]), (256, 32));
        assert_eq!(sizes(&limits, &[("option", "--partition=main,wide")]), (256, 32));
        assert_eq!(limits.fit(&job(&[("queue_name", "absent")])), None);
        assert_eq!(limits.minutes_max(&Resources::default()), Some(1470));
        assert_eq!(limits.minutes_max(&job(&[("queue_name", "wide")]).resources), None);
    }

    #[test]
    fn account_and_quality_of_service_bound_it_further() {
        let mut limits = limits();
        let accounts = "physics||normal|cpu=100|cpu=90|02:00:00\nchemistry|wide|normal|||\n";
        limits.answered(Question::Associations, &said(accounts));
        let qualities = "normal||node=3|\npart|cpu=40||01:00:00\nhigh|cpu=7||\n";
        limits.answered(Question::Qualities, &said(qualities));
        assert_eq!(sizes(&limits, &[("queue_name", "wide")]), (40, 5));
        let physics = [("project", "physics"), ("queue_name", "main,wide")];
        assert_eq!(limits.minutes_max(&job(&physics).resources), Some(120));
        let high = [("queue_name", "wide"), ("option", "--qos=high")];
        assert_eq!(sizes(&limits, &high), (7, 1));
        // A site without an accounting answers nothing, and that bounds nothing.
        limits.answered(Question::Qualities, &Outcome::default());
        assert_eq!(sizes(&limits, &high), (7, 1));
    }

    #[test]
    fn answers_hold_for_a_while() {
        let mut limits = Limits::default();
        assert!(limits.are_due(Instant(0), 1) && limits.are_awaited());
        assert!(!limits.are_due(Instant(0), 1));
        limits.answered(Question::Partitions, &Outcome::default());
        assert!(!limits.are_awaited() && !limits.are_due(Instant(0) + FRESH / 2, 1));
        assert!(limits.are_due(Instant(0) + FRESH, 1));
    }
}
