//! What a call, or an object, asks to be given: cores, memory, GPUs, time (spec/call.md, section 12).
//!
//! Every client hands over what its user wrote as text, so that a mistake is told in the same words
//! everywhere.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{Bytes, Error, ErrorKind, Result};

/// More than any machine has processors.
const CORES_MAX: u32 = 65_536;
const GPUS_MAX: u32 = 1024;
const MEMORY_MAX: u64 = 1 << 50;
const DAY: u64 = 24 * 3600;
/// As for jobs: ten years.
const SECONDS_MAX: u64 = 3650 * DAY;

/// What is wrong with a value, and what is to be written instead.
type Wrong = (&'static str, &'static str);

const CORES: Wrong = ("which is not a number of cores", "write a whole number from 1 to 65536");
const GPUS: Wrong = ("which is not a number of GPUs", "write a whole number from 0 to 1024");
const MEMORY: Wrong = (
    "which is not an amount of memory",
    "write a number and a unit, such as \"2 GB\" or \"500 MB\"",
);
const TIME: Wrong =
    ("which is not a time", "write a number and a unit, such as \"30 min\", \"2 h\" or \"90 s\"");

/// What is asked for; what is not said is as the next one says who is asked: the routine's
/// interface, then the administrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources {
    /// Processors of each process.
    pub cores: Option<u32>,
    /// Memory of each process.
    pub memory: Option<Bytes>,
    /// GPUs of each process; 0 for none where an interface says otherwise.
    pub gpus: Option<u32>,
    /// How long one run takes at most.
    pub wall_time: Option<Duration>,
}

impl Resources {
    /// Whether nothing is asked for.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Resources { cores, memory, gpus, wall_time } = self;
        cores.is_none() && memory.is_none() && gpus.is_none() && wall_time.is_none()
    }

    /// These, completed by others.
    pub fn over(self, other: Resources) -> Resources {
        Resources {
            cores: self.cores.or(other.cores),
            memory: self.memory.or(other.memory),
            gpus: self.gpus.or(other.gpus),
            wall_time: self.wall_time.or(other.wall_time),
        }
    }

    /// The same without a number of GPUs that is 0: what asks for 0 is like what asks for
    /// nothing.
    pub fn settled(self) -> Resources {
        Resources { gpus: self.gpus.filter(|gpus| *gpus > 0), ..self }
    }

    /// Sets one of them as a user wrote it.
    ///
    /// # Errors
    /// `InvalidArgument` for another name, and for a wrong value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let text = text.trim();
        let wrong = match name {
            "cores" => {
                number(text).filter(is_cores).map(|count| self.cores = Some(count)).ok_or(CORES)
            }
            "gpus" => number(text).filter(is_gpus).map(|count| self.gpus = Some(count)).ok_or(GPUS),
            "memory" => memory(text).map(|memory| self.memory = Some(memory)).ok_or(MEMORY),
            "wall_time" => time(text).map(|time| self.wall_time = Some(time)).ok_or(TIME),
            _ => return Err(unknown(name)),
        };
        wrong.map_err(|(what, fix)| refused(format!("{name} is \"{text}\", {what}")).fix(fix))
    }

    /// Whether no value is one that [`Resources::set`] would refuse: of what came over the wire.
    ///
    /// # Errors
    /// `InvalidArgument` with the value.
    pub fn check(self) -> Result<Resources> {
        let wrong = |name: &str, value: &dyn fmt::Display, (what, fix): Wrong| {
            Err(refused(format!("{name} is {value}, {what}")).fix(fix))
        };
        match self {
            Resources { cores: Some(count), .. } if !is_cores(&count) => {
                wrong("cores", &count, CORES)
            }
            Resources { gpus: Some(count), .. } if !is_gpus(&count) => wrong("gpus", &count, GPUS),
            Resources { memory: Some(memory), .. } if !is_memory(&memory) => {
                wrong("memory", &memory, MEMORY)
            }
            Resources { wall_time: Some(time), .. } if !is_time(&time) => {
                wrong("wall_time", &Seconds(time), TIME)
            }
            _ => Ok(self),
        }
    }
}

fn is_cores(count: &u32) -> bool {
    (1..=CORES_MAX).contains(count)
}

fn is_gpus(count: &u32) -> bool {
    *count <= GPUS_MAX
}

fn is_memory(memory: &Bytes) -> bool {
    (1..=MEMORY_MAX).contains(&memory.0)
}

fn is_time(time: &Duration) -> bool {
    !time.is_zero() && *time <= Duration::from_secs(SECONDS_MAX)
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, "ask for resources", message)
}

fn unknown(name: &str) -> Error {
    refused(format!("\"{name}\" is not a resource"))
        .fix("there are cores, memory, gpus and wall_time, as in \"cores=4, memory=2 GB\"")
}

impl FromStr for Resources {
    type Err = Error;

    /// `cores=4, memory=2 GB, gpus=1, wall_time=30 min`, or a part of these. Of several such lists
    /// with `;` between them the later ones count first: those of a routine, then of a call.
    fn from_str(text: &str) -> Result<Resources> {
        let mut lists = text.split(';');
        lists.try_fold(Resources::default(), |all, own| Ok(list(own)?.over(all)))
    }
}

/// One list.
fn list(text: &str) -> Result<Resources> {
    let mut all = Resources::default();
    let mut seen: Vec<&str> = Vec::new();
    for part in text.split(',').filter(|_| !text.trim().is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| unknown(part.trim()))?;
        let name = name.trim();
        all.set(name, value)?;
        if seen.contains(&name) {
            return Err(refused(format!("{name} is given twice")).fix("give it once"));
        }
        seen.push(name);
    }
    Ok(all)
}

/// Digits alone: no sign, no fraction.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number and its unit.
fn parts(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    Some((digits.parse().ok()?, unit.trim()))
}

/// Units are of 1024s, as those of batch systems are. A number alone would be bytes to one reader,
/// and megabytes to another.
fn memory(text: &str) -> Option<Bytes> {
    let (number, unit) = parts(text)?;
    let scale = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" if !unit.is_empty() => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    let bytes = number * (1u64 << scale) as f64;
    let bytes = Bytes(bytes.ceil() as u64);
    Some(bytes).filter(is_memory)
}

/// With a unit, or as batch systems write it: `1:30:00`, `1-12:00:00`.
fn time(text: &str) -> Option<Duration> {
    let found = clock(text).or_else(|| {
        let (number, unit) = parts(text)?;
        let each = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => DAY as f64,
            _ => return None,
        };
        Duration::try_from_secs_f64(number * each).ok()
    });
    found.filter(is_time)
}

fn clock(text: &str) -> Option<Duration> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let parts: Option<Vec<u64>> = rest.split(':').map(|part| number(part).map(u64::from)).collect();
    let &[hours, minutes, seconds] = parts?.as_slice() else { return None };
    let days = u64::from(number(days)?);
    Some(Duration::from_secs(days * DAY + hours * 3600 + minutes * 60 + seconds))
}

/// A time for people, in the largest unit that says it in a whole number.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        if self.0.subsec_nanos() != 0 || seconds == 0 {
            return write!(f, "{} s", self.0.as_secs_f64());
        }
        for (unit, each) in [("d", DAY), ("h", 3600), ("min", 60)] {
            if seconds.is_multiple_of(each) {
                return write!(f, "{} {unit}", seconds / each);
            }
        }
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

/// In the largest unit that says it in a whole number.
fn exactly(memory: Bytes) -> String {
    let units = [("TB", 40), ("GB", 30), ("MB", 20), ("KB", 10)];
    let whole = units.into_iter().find(|(_, bits)| memory.0.trailing_zeros() >= *bits);
    whole.map_or(format!("{} B", memory.0), |(unit, bits)| format!("{} {unit}", memory.0 >> bits))
}

/// Reads as [`Resources::from_str`] takes it.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = [
            self.cores.map(|cores| format!("cores={cores}")),
            self.memory.map(|memory| format!("memory={}", exactly(memory))),
            self.gpus.map(|gpus| format!("gpus={gpus}")),
            self.wall_time.map(|time| format!("wall_time={}", Seconds(time))),
        ];
        f.write_str(&said.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_as_people_write_them() {
        let all: Resources = "cores=4, memory=2 GB, gpus=1, wall_time=30 min".parse().unwrap();
        let wanted = Resources {
            cores: Some(4),
            memory: Some(Bytes(2 << 30)),
            gpus: Some(1),
            wall_time: Some(Duration::from_secs(1800)),
        };
        assert_eq!(all, wanted);
        assert_eq!(all.to_string(), "cores=4, memory=2 GB, gpus=1, wall_time=30 min");
        assert_eq!(all.to_string().parse::<Resources>().unwrap(), all);
        assert_eq!(" ".parse::<Resources>().unwrap(), Resources::default());
        let layers: Resources = "cores=2, gpus=1; cores=4;".parse().unwrap();
        assert_eq!(layers.to_string(), "cores=4, gpus=1");
        for (text, bytes) in [
            ("1.5G", 3 << 29),
            ("500 MB", 500 << 20),
            ("7kB", 7 << 10),
            ("9 b", 9),
            ("1 TiB", 1 << 40),
        ] {
            assert_eq!(memory(text), Some(Bytes(bytes)), "{text}");
        }
        for (text, seconds) in [
            ("90 s", 90.0),
            ("0.5 s", 0.5),
            ("2h", 7200.0),
            ("1:30:00", 5400.0),
            ("1-00:00:00", 86400.0),
        ] {
            assert_eq!(time(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_the_next_one_says() {
        let own: Resources = "cores=4, gpus=0".parse().unwrap();
        let all = own.over("cores=2, gpus=1, memory=1 GB".parse().unwrap());
        assert_eq!(all.to_string(), "cores=4, memory=1 GB, gpus=0");
        assert_eq!(all.settled().gpus, None);
    }

    #[test]
    fn wrong_values_are_refused_with_what_is_right() {
        for text in [
            "cores=0",
            "cores=1.5",
            "cores=-1",
            "cores=+1",
            "cores=nan",
            "cores=",
            "cores=True",
            "cores=70000",
            "memory=2 GX",
            "memory=2000",
            "memory=-1 GB",
            "memory=nan GB",
            "memory=inf GB",
            "memory=0 GB",
            "memory=1e3 GB",
            "memory=9999999 TB",
            "gpus=-1",
            "gpus=1025",
            "wall_time=0 s",
            "wall_time=30",
            "wall_time=-1 h",
            "wall_time=nan s",
            "wall_time=1:2",
            "wall_time=99999 d",
            "wall_time=soon",
            "cpus=4",
            "4",
            "cores=1, cores=2",
            "memory=..5 GB",
            ",",
        ] {
            let error = text.parse::<Resources>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
            assert!(error.advice().is_some(), "{text}");
        }
        let error = "memory=2 GX".parse::<Resources>().unwrap_err().to_string();
        assert_eq!(
            error,
            "ask for resources: memory is \"2 GX\", which is not an amount of memory; write a number \
             and a unit, such as \"2 GB\" or \"500 MB\""
        );
        let zero = Resources { cores: Some(0), ..Resources::default() };
        assert!(zero.check().is_err());
        let long = Resources { wall_time: Some(Duration::MAX), ..Resources::default() };
        assert!(long.check().is_err());
    }
}
