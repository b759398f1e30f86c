//! The clients of a study: what they call, and when.

use std::collections::BTreeMap;

use farcall_base::{Bytes, Error, ErrorKind, Random, Result, SeededRandom, nearest};
use farcall_idl::encode::contract_hash;
use farcall_idl::evaluate::Values;
use farcall_idl::interface::Interface;
use farcall_placement::queue::UserId;
use farcall_placement::{Contract, Demand, SiteId, Work};

use super::plan::{ClientPlan, Draw, RoutinePlan};

/// Arrays of one call at most: more would be a mistake of the plan.
const CALL_BYTES_MAX: Bytes = Bytes(1 << 50);

/// A routine.
#[derive(Debug)]
pub struct Routine {
    interface: Interface,
    /// Its contract.
    pub contract: Contract,
    /// What a run needs beside its operations.
    pub setup_s: f64,
    /// Seconds for each byte.
    pub byte_s: f64,
}

impl Routine {
    /// Compiles its interface.
    ///
    /// # Errors
    /// `InvalidSource` with what is wrong in the interface.
    pub fn new(name: &str, plan: &RoutinePlan) -> Result<Routine> {
        let text = format!("Module {name}; Library \"none\"; {}", plan.interface);
        let wrong = |problem: String| {
            Error::new(ErrorKind::InvalidSource, "read a plan", problem)
                .with("routine", name)
                .fix("write one Define with a Complexity, as in spec/idl.md")
        };
        let module = farcall_idl::compile("interface", &text)
            .map_err(|diagnostics| wrong(diagnostics.to_string()))?;
        let routine = module.routines.into_iter().next();
        let routine = routine.ok_or_else(|| wrong("the interface defines no routine".into()))?;
        Ok(Routine {
            contract: contract_hash(&routine.interface),
            interface: routine.interface,
            setup_s: plan.setup_s,
            byte_s: plan.byte_s,
        })
    }
}

/// Clients of one kind.
#[derive(Debug)]
pub struct Crowd {
    /// Their name.
    pub name: String,
    /// Where they are.
    pub site: SiteId,
    /// Which user they are.
    pub user: UserId,
    /// Which routine they call.
    pub routine: usize,
    /// How they call it.
    pub plan: ClientPlan,
    random: SeededRandom,
}

/// One call, as it was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Values of the scalars.
    pub sizes: BTreeMap<String, i64>,
    /// What it asks for.
    pub demand: Demand,
    /// What it does.
    pub work: Work,
    /// Processors that it takes, where it says so.
    pub processors: Option<u32>,
    /// Seconds on one processor, in place of its operations.
    pub alone_s: Option<f64>,
}

impl Crowd {
    /// Those of a plan.
    pub fn new(
        name: &str,
        site: SiteId,
        user: UserId,
        routine: usize,
        plan: &ClientPlan,
        seed: u64,
    ) -> Crowd {
        let random = SeededRandom::new(seed);
        Crowd { name: name.to_owned(), site, user, routine, plan: plan.clone(), random }
    }

    /// Draws a call.
    ///
    /// # Errors
    /// Those of the interface: a scalar that is missing, or a size that it does not allow.
    pub fn draw(&mut self, routine: &Routine) -> Result<Drawn> {
        let names: Vec<String> = self.plan.sizes.keys().cloned().collect();
        let mut sizes = BTreeMap::new();
        for name in names {
            let draw = self.plan.sizes[&name];
            sizes.insert(name, self.number(draw));
        }
        let scalars = Scalars { interface: &routine.interface, sizes: &sizes };
        scalars.check()?;
        let demand = Demand::of(&routine.interface, &scalars, CALL_BYTES_MAX)?;
        let own = self.plan.processors.map(|draw| self.number(draw).max(1) as u32);
        let alone_s = self.plan.exponential_s.map(|mean| self.exponential(mean));
        let work = Work { amount: demand.amount(), sizes: hash(&sizes), threads: 1 };
        Ok(Drawn { demand, work, processors: demand.processors.or(own), alone_s, sizes })
    }

    fn number(&mut self, draw: Draw) -> i64 {
        match draw {
            Draw::Fixed(value) => value,
            Draw::Uniform([from, to]) => {
                let count = to.saturating_sub(from).max(0) as u64 + 1;
                from.saturating_add((self.random.next() % count) as i64)
            }
        }
    }

    /// When the next call of a Poisson process comes, or how long a run takes.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }

    /// How long a client that waits for nothing goes on doing so: each interval it calls with the
    /// plan's probability.
    pub fn pause_s(&mut self) -> f64 {
        let mut intervals = 1.0;
        while self.fraction() >= self.plan.probability && intervals < 1e6 {
            intervals += 1.0;
        }
        intervals * self.plan.interval_s
    }

    /// From 0 to 1, without 1.
    fn fraction(&mut self) -> f64 {
        (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The scalars of a call by name.
struct Scalars<'s> {
    interface: &'s Interface,
    sizes: &'s BTreeMap<String, i64>,
}

impl Scalars<'_> {
    fn check(&self) -> Result<()> {
        let names = || self.interface.parameters.iter().map(|parameter| parameter.name.as_str());
        for name in self.sizes.keys() {
            if names().any(|known| known == name) {
                continue;
            }
            let wrong = Error::new(
                ErrorKind::InvalidSource,
                "read a plan",
                format!("{} has no parameter {name}", self.interface.full_name()),
            );
            return Err(match nearest(name, names(), 1).first() {
                Some(near) => wrong.fix(format!("did you mean {near}?")),
                None => wrong.fix("name the routine's scalars in sizes"),
            });
        }
        Ok(())
    }
}

impl Values for Scalars<'_> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        let name = &self.interface.parameters.get(usize::from(parameter))?.name;
        self.sizes.get(name).copied().filter(|_| element == 0)
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.integer(parameter, element).map(|value| value as f64)
    }

    fn length(&self, _parameter: u16) -> Option<u64> {
        None
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        Some(&self.interface.parameters.get(usize::from(parameter))?.name)
    }
}

/// Equal for equal sizes.
fn hash(sizes: &BTreeMap<String, i64>) -> u64 {
    let mut random = SeededRandom::new(0);
    sizes.values().fold(0, |hash, value| {
        random = SeededRandom::new(hash ^ *value as u64);
        random.next()
    })
}
