//! A member of a run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use farcall_base::{Error, ErrorKind, Result, SeededRandom};
use farcall_wide_engines::{Fold, Freshness, Order, Queues};

use crate::bag::Bag;
use crate::bound::Bound;
use crate::driver::Driver;
use crate::given::Given;
use crate::halo::Halo;
use crate::mail::Mail;
use crate::numbers::Number;
use crate::replica::Replica;
use crate::shared::Shared;
use crate::together;

/// Operations that one call of [`Member::work`] may count.
const OPERATIONS_MAX: u64 = 1 << 60;

static HAS_JOINED: AtomicBool = AtomicBool::new(false);

/// This process in its run.
pub struct Member {
    shared: Shared,
    /// Picoseconds of an operation of each kernel.
    kernels: BTreeMap<String, u64>,
    seed: u64,
    is_virtual: bool,
    has_left: bool,
}

/// Joins the run that this process was started in; alone, where it was started by hand.
///
/// # Errors
/// `InvalidArgument` the second time; `ConnectionLost`.
pub fn join() -> Result<Member> {
    if HAS_JOINED.swap(true, Ordering::Relaxed) {
        let message = "this process has joined its run before";
        return Err(Error::new(ErrorKind::InvalidArgument, "join a run", message)
            .fix("call join once, and pass the member on"));
    }
    let Given { way, rank, sites, has_tiers, seed, message, kernels } = Given::read()?;
    let driver = Driver::new(way, message)?;
    let is_virtual = matches!(driver, Driver::Virtual(_));
    let shared = Shared::new(driver, rank, sites, has_tiers);
    together::make(&shared)?;
    Ok(Member { shared, kernels, seed, is_virtual, has_left: false })
}

/// Joins, runs a program, and leaves. An error of the program ends the run, which tells of it once.
pub fn main(program: impl FnOnce(&Member) -> Result<()>) -> ExitCode {
    let mut me = match join() {
        Ok(me) => me,
        // `farcall run` has ended, and has said why.
        Err(error) if error.kind() == ErrorKind::ConnectionLost => return ExitCode::FAILURE,
        Err(error) => return failed(&error),
    };
    let outcome = program(&me);
    me.has_left = true;
    let told = me.shared.end(outcome.as_ref().err().map(Error::to_string));
    match outcome {
        Ok(()) if told.is_ok() => ExitCode::SUCCESS,
        Err(error) if !me.is_virtual => failed(&error),
        // `farcall run` knows what ended the run.
        _ => ExitCode::FAILURE,
    }
}

fn failed(error: &Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

impl Member {
    /// This member's number, from 0.
    pub fn rank(&self) -> u32 {
        self.shared.rank.0
    }

    /// How many members there are.
    pub fn members(&self) -> u32 {
        self.shared.sites.members()
    }

    /// The number of this member's site.
    pub fn site(&self) -> u32 {
        self.shared.sites.of(self.shared.rank)
    }

    /// How many sites there are.
    pub fn sites(&self) -> u32 {
        self.shared.sites.count()
    }

    /// Random numbers of this member's own, the same in each run with the same seed (`farcall run --seed`).
    /// Each call gives them from the first one on.
    pub fn random(&self) -> SeededRandom {
        let own = (u64::from(self.rank()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        SeededRandom::new(self.seed ^ own)
    }

    /// This member has done so many operations of a kernel: virtual time passes by the platform's cost.
    ///
    /// # Errors
    /// `InvalidArgument` for a kernel that the platform does not know, and for absurd numbers.
    pub fn work(&self, kernel: &str, operations: u64) -> Result<()> {
        if operations > OPERATIONS_MAX {
            let message = "so many operations cannot have been done";
            return Err(Error::new(ErrorKind::InvalidArgument, "count work", message)
                .with("kernel", kernel)
                .with("operations", operations));
        }
        if !self.is_virtual {
            return Ok(());
        }
        let cost = self.kernels.get(kernel).ok_or_else(|| {
            let known: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
            let message = "the platform has no cost of this kernel";
            Error::new(ErrorKind::NotFound, "count work", message)
                .with("kernel", kernel)
                .with("kernels", known.join(", "))
                .fix("add it to [kernels] of the platform file")
        })?;
        let time = (u128::from(*cost) * u128::from(operations)).div_ceil(1000);
        self.shared.work(u64::try_from(time).unwrap_or(u64::MAX));
        Ok(())
    }

    /// What the run has found: `farcall run` prints what member 0 says.
    ///
    /// # Errors
    /// What ends the run.
    pub fn answer(&self, text: &str) -> Result<()> {
        self.shared.answer(text)
    }

    /// Messages between members. All members make it.
    ///
    /// # Errors
    /// `InvalidArgument` where there is a thing of this name; what ends the run.
    pub fn messages(&self, name: &str) -> Result<Mail> {
        Mail::make(&self.shared, name)
    }

    /// Rows of neighbours, of so many numbers. All members make it.
    ///
    /// # Errors
    /// As [`Member::messages`].
    pub fn halo(&self, name: &str, length: usize, across_sites: Freshness) -> Result<Halo> {
        Halo::make(&self.shared, name, length, across_sites)
    }

    /// A number that only becomes better: `Fold::Min` or `Fold::Max`. All members make it, with one start.
    ///
    /// # Errors
    /// As [`Member::messages`].
    pub fn bound<N: Number>(&self, name: &str, fold: Fold, start: N) -> Result<Bound<N>> {
        Bound::make(&self.shared, name, fold, start)
    }

    /// Jobs that members share; without tiers in these queues. All members make it.
    ///
    /// # Errors
    /// As [`Member::messages`].
    pub fn bag(&self, name: &str, queues: Queues) -> Result<Bag> {
        Bag::make(&self.shared, name, queues)
    }

    /// State that all members have, and change by operations: `apply` gets the state, the rank of who
    /// changes it, and the operation. All members make it, with one state.
    ///
    /// # Errors
    /// As [`Member::messages`].
    pub fn replica<S: Send + 'static>(
        &self,
        name: &str,
        order: Order,
        state: S,
        apply: impl FnMut(&mut S, u32, &[u8]) -> Result<()> + Send + 'static,
    ) -> Result<Replica<S>> {
        Replica::make(&self.shared, name, order, state, Box::new(apply))
    }

    /// Ends this member's part of the run.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn leave(mut self) -> Result<()> {
        self.has_left = true;
        self.shared.end(None)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !self.has_left {
            let error = std::thread::panicking().then(|| "the program panicked".to_owned());
            let _ = self.shared.end(error);
        }
    }
}
