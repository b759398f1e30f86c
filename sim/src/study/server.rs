//! A server of a study: processors, the shipped queue, and the shipped learning of run times.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{Error, ErrorKind, Result};
use farcall_placement::queue::{self, Line, QueuedCall};
use farcall_placement::{
    Contract, Crowd, Crowding, GrantId, Limits, MemberId, News, Report, RunTimes, SiteId, Work,
    threads_for,
};

use super::plan::ServerPlan;
use super::time::Time;

/// A call, by its number.
pub type CallNumber = u64;

/// The server's number for itself, in what it learns of its own calls.
const ITSELF: MemberId = MemberId(0);

/// What a call brings.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Whose, when, and what is expected of it.
    pub queued: QueuedCall,
    /// The routine.
    pub contract: Contract,
    /// What it does.
    pub work: Work,
    /// Seconds that it needs on one processor of this server.
    pub alone_s: f64,
    /// Processors that it asks for; nothing: the server decides.
    pub processors: Option<u32>,
    /// What placed it.
    pub grant: Option<GrantId>,
}

#[derive(Debug)]
struct Running {
    arrival: Arrival,
    threads: u32,
    /// Seconds of one processor that are left.
    left_s: f64,
    begun: Time,
    since: Time,
    speed: f64,
}

/// How threads are given to calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    One,
    All,
    Chosen,
}

/// Which calls run.
#[derive(Debug)]
enum Order {
    /// Those that have processors; the others wait.
    Line(Box<Line<CallNumber>>),
    /// All that are there, side by side.
    Share,
    /// All that are there, co-scheduled (Ninf paper, section 5.2): calls that have processors enough
    /// together share a turn, all threads of a call run in the same one, and turns are equally long.
    Turns,
}

impl Order {
    fn by_name(name: &str) -> Result<Order> {
        match name {
            "share" => Ok(Order::Share),
            "co-schedule" => Ok(Order::Turns),
            name => match queue::by_name(name) {
                Some(queue) => Ok(Order::Line(Box::new(Line::new(queue)))),
                None => {
                    let known = [&queue::NAMES[..], &["share", "co-schedule"]].concat();
                    Err(unknown("queue", name, &known))
                }
            },
        }
    }

    fn line(&self) -> Option<&Line<CallNumber>> {
        match self {
            Order::Line(line) => Some(line),
            Order::Share | Order::Turns => None,
        }
    }

    fn line_mut(&mut self) -> Option<&mut Line<CallNumber>> {
        match self {
            Order::Line(line) => Some(line),
            Order::Share | Order::Turns => None,
        }
    }
}

/// What a server learned from its calls.
#[derive(Debug)]
struct Learned {
    runs: RunTimes,
    /// How many there were lately.
    crowd: Crowd,
}

/// One server.
#[derive(Debug)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub site: SiteId,
    /// Million operations a second of one processor.
    pub mflops: f64,
    /// Whether it lives.
    pub alive: bool,
    processors: u32,
    /// Part of a call's work that threads share.
    parallel: f64,
    threads: Threads,
    order: Order,
    waiting: BTreeMap<CallNumber, Arrival>,
    running: BTreeMap<CallNumber, Running>,
    news: News,
    learned: Learned,
    /// Ends of calls change with whatever begins or ends; this tells the newest.
    pub epoch: u64,
    /// Processor-seconds of all calls so far, and of calls that ran or waited.
    pub used_s: f64,
    /// Integral of the load: calls that run or wait.
    pub load_s: f64,
    changed: Time,
}

/// A call that ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Which.
    pub call: CallNumber,
    /// What it was.
    pub arrival: Arrival,
    /// Threads that it had.
    pub threads: u32,
    /// When it began.
    pub begun: Time,
}

impl Server {
    /// An idle one.
    ///
    /// # Errors
    /// `InvalidSource` for a queue or a number of threads that does not exist.
    pub fn new(name: &str, site: SiteId, plan: &ServerPlan) -> Result<Server> {
        let threads = match plan.threads.as_str() {
            "one" => Threads::One,
            "all" => Threads::All,
            "chosen" => Threads::Chosen,
            other => return Err(unknown("threads", other, &["one", "all", "chosen"])),
        };
        Ok(Server {
            name: name.to_owned(),
            site,
            mflops: plan.mflops,
            alive: true,
            processors: plan.processors.max(1),
            parallel: parallel(plan),
            threads,
            order: Order::by_name(&plan.queue)?,
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            news: News::default(),
            learned: Learned { runs: RunTimes::new(&Limits::default()), crowd: Crowd::default() },
            epoch: 0,
            used_s: 0.0,
            load_s: 0.0,
            changed: Time::ZERO,
        })
    }

    /// How many processors it has.
    pub fn processors(&self) -> u32 {
        self.processors
    }

    /// The first byte of a call has come.
    pub fn handle_beginning(&mut self, grant: Option<GrantId>) {
        self.news.begun.extend(grant);
    }

    /// A call has come, with all its arguments; those that begin now.
    pub fn handle_arrival(
        &mut self,
        now: Time,
        call: CallNumber,
        mut arrival: Arrival,
    ) -> Vec<CallNumber> {
        self.news.arrived.extend(arrival.grant);
        arrival.queued.processors = self.threads_of(now, &arrival);
        arrival.work.threads = arrival.queued.processors;
        let run = self.learned.runs.predict(ITSELF, &arrival.contract, &arrival.work);
        arrival.queued.run_s = run.seconds;
        self.advance(now);
        self.waiting.insert(call, arrival);
        match self.order.line_mut() {
            Some(line) => line.push(call, (), arrival.queued),
            None => self.begin(now, call),
        }
        self.begin_next(now)
    }

    fn threads_of(&mut self, now: Time, arrival: &Arrival) -> u32 {
        let threads = match (arrival.processors, self.threads) {
            (Some(asked), _) => asked,
            (None, Threads::One) => 1,
            (None, Threads::All) => self.processors,
            (None, Threads::Chosen) => {
                let calls = 1 + (self.running.len() + self.waiting.len()) as u32;
                let takes =
                    self.learned.runs.predict(ITSELF, &arrival.contract, &arrival.work).seconds;
                let calls = self.learned.crowd.handle_call(now.instant(), calls, takes);
                let crowding = Crowding { processors: self.processors, calls };
                threads_for(crowding, |threads| {
                    self.learned.runs.gain(&arrival.contract, &arrival.work, threads)
                })
            }
        };
        threads.clamp(1, self.processors)
    }

    fn begin_next(&mut self, now: Time) -> Vec<CallNumber> {
        let mut begun = Vec::new();
        loop {
            let free = self.processors - self.busy();
            let next = self.order.line_mut().and_then(|line| line.pop(free, |()| true).call());
            let Some(next) = next else { break };
            self.begin(now, next.key);
            begun.push(next.key);
        }
        self.speed_up();
        begun
    }

    fn begin(&mut self, now: Time, call: CallNumber) {
        let Some(arrival) = self.waiting.remove(&call) else { return };
        let threads = arrival.queued.processors;
        let left_s = arrival.alone_s;
        let running = Running { arrival, threads, left_s, begun: now, since: now, speed: 0.0 };
        self.running.insert(call, running);
    }

    fn busy(&self) -> u32 {
        self.running.values().map(|running| running.threads).sum::<u32>().min(self.processors)
    }

    /// What runs is as far as it is by now.
    fn advance(&mut self, now: Time) {
        let passed = now.since(self.changed);
        self.used_s += passed * f64::from(self.busy());
        self.load_s += passed * (self.running.len() + self.waiting.len()) as f64;
        self.changed = now;
        for running in self.running.values_mut() {
            running.left_s -= now.since(running.since) * running.speed;
            running.since = now;
        }
    }

    /// Each call has its threads, or its part of the processors where all want more than there are.
    fn speed_up(&mut self) {
        self.epoch += 1;
        let part = match self.order {
            Order::Turns => 1.0 / f64::from(self.turns().max(1)),
            Order::Line(_) | Order::Share => self.part(),
        };
        for running in self.running.values_mut() {
            let threads = f64::from(running.threads);
            running.speed = part / (1.0 - self.parallel + self.parallel / threads);
        }
    }

    /// The part of the time that each thread has where threads run side by side.
    fn part(&self) -> f64 {
        let wanted: u32 = self.running.values().map(|running| running.threads).sum();
        (f64::from(self.processors) / f64::from(wanted.max(1))).min(1.0)
    }

    /// How many turns there are: a call goes into the first one that has its processors.
    fn turns(&self) -> u32 {
        let mut free: Vec<u32> = Vec::new();
        for running in self.running.values() {
            match free.iter_mut().find(|free| **free >= running.threads) {
                Some(free) => *free -= running.threads,
                None => free.push(self.processors - running.threads),
            }
        }
        free.len() as u32
    }

    /// When the next call ends, and which.
    pub fn next_end(&self, now: Time) -> Option<(Time, CallNumber)> {
        let end = |running: &Running| now.after(running.left_s.max(0.0) / running.speed);
        self.running.iter().map(|(call, running)| (end(running), *call)).min()
    }

    /// A call has run: what it was, and those that begin now.
    pub fn handle_end(&mut self, now: Time, call: CallNumber) -> Option<(Ended, Vec<CallNumber>)> {
        self.advance(now);
        let running = self.running.remove(&call)?;
        let Running { arrival, threads, begun, .. } = running;
        let seconds = now.since(begun);
        self.learned.runs.observe(ITSELF, &arrival.contract, &arrival.work, seconds);
        if let Some(line) = self.order.line_mut() {
            let error = (seconds - arrival.queued.run_s) * f64::from(threads);
            line.correct(arrival.queued.user, error);
        }
        let next = self.begin_next(now);
        Some((Ended { call, arrival, threads, begun }, next))
    }

    /// It dies; the calls that it had.
    pub fn die(&mut self, now: Time) -> Vec<CallNumber> {
        self.advance(now);
        self.alive = false;
        self.epoch += 1;
        let lost: Vec<CallNumber> =
            self.running.keys().chain(self.waiting.keys()).copied().collect();
        for (call, arrival) in std::mem::take(&mut self.waiting) {
            self.order.line_mut().map(|line| line.remove(call, (), &arrival.queued));
        }
        self.running.clear();
        self.news = News::default();
        lost
    }

    /// What it says of itself.
    pub fn report(&mut self, now: Time, contracts: &BTreeSet<Contract>) -> Report {
        self.advance(now);
        let waiting = self.order.line().map_or(0.0, Line::backlog_s);
        let of_running = |running: &Running| {
            let expected = running.arrival.queued.run_s - now.since(running.begun);
            expected.max(running.arrival.queued.run_s * 0.1) * f64::from(running.threads)
        };
        let running: f64 = self.running.values().map(of_running).sum();
        Report {
            site: self.site,
            addresses: vec![format!("sim://{}", self.name)],
            processors: self.processors,
            busy: f64::from(self.busy()),
            calls: (self.running.len() + self.waiting.len()) as u32,
            backlog_s: waiting + running,
            contracts: contracts.clone(),
            warm: contracts.clone(),
            speed: Some(self.mflops * 1e6),
            news: std::mem::take(&mut self.news),
            ..Report::default()
        }
    }
}

/// The part of a call's work that threads share, from the speeds of one processor and of all.
fn parallel(plan: &ServerPlan) -> f64 {
    let all = f64::from(plan.processors.max(1));
    let gain = plan.mflops_all.unwrap_or(plan.mflops) / plan.mflops;
    if all <= 1.0 || gain <= 1.0 {
        return 0.0;
    }
    // gain = 1 / (1 - f + f / all), solved for f.
    ((1.0 - 1.0 / gain) / (1.0 - 1.0 / all)).clamp(0.0, 1.0)
}

fn unknown(what: &'static str, word: &str, known: &[&str]) -> Error {
    Error::new(ErrorKind::InvalidSource, "read a plan", format!("{what} = \"{word}\" is unknown"))
        .fix(format!("use one of {}", known.join(", ")))
}
