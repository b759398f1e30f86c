//! Jobs that members share.

use farcall_base::Result;
use farcall_wide_engines::{
    self as engines, Engine, Envelope, JOB_BYTES_MAX, Jobs, Outbox, Queues, Rank, ThingNumber,
};

use crate::shared::{Shared, wrong};

/// Jobs, each of which one member takes: from its own site first. A member that does a job may put new
/// ones in.
pub struct Bag {
    shared: Shared,
    number: ThingNumber,
    name: String,
}

/// One of the engines.
struct Kept(Box<dyn Jobs>);

impl Engine for Kept {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        self.0.take(from, message, out)
    }
}

impl Bag {
    pub(crate) fn make(shared: &Shared, name: &str, queues: Queues) -> Result<Bag> {
        let number = ThingNumber::of(name);
        let sites = ((*shared.sites).clone(), shared.has_tiers);
        let engine = engines::bag((number, shared.rank), sites, queues);
        shared.make(name, format!("bag, {queues:?}"), Box::new(Kept(engine)))?;
        Ok(Bag { shared: shared.clone(), number, name: name.to_owned() })
    }

    /// Puts jobs in.
    ///
    /// # Errors
    /// `InvalidArgument` for a job of more than 16 MiB; what ends the run.
    pub fn put(&self, jobs: Vec<Vec<u8>>) -> Result<()> {
        if let Some(job) = jobs.iter().find(|job| job.len() > JOB_BYTES_MAX) {
            return Err(wrong("a job has at most 16 MiB", &self.name)
                .with("bytes", job.len())
                .fix("put what is large elsewhere, and say in the job where it is"));
        }
        self.shared.act(self.number, |bag: &mut Kept, out| bag.0.put(jobs, out))
    }

    /// Takes the next job; `None` when no job is left at any member, and none will come. All members
    /// take jobs until then.
    ///
    /// # Errors
    /// What ends the run.
    pub fn next_job(&self) -> Result<Option<Vec<u8>>> {
        let what = |_: &Kept| format!("{}: a job", self.name);
        self.shared.wait(self.number, what, |bag: &mut Kept, out| {
            Ok(match bag.0.take_job(out)? {
                Some(job) => Some(Some(job)),
                None => bag.0.has_ended().then_some(None),
            })
        })
    }
}
