//! The driver: passes requests to threads that ask etcd, some at a time, and has a thread that keeps
//! leases, and one for each watch.

mod follow;
mod keep;
mod message;
mod reach;
mod work;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Jobs, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use farcall_base::{Error, ErrorKind, Result};
use farcall_sealed::Sealer;
use farcall_services::mailbox::{Port, Receiver};
use farcall_services::store::{
    Changed, Request, check_key, check_lease, check_prefix, check_write,
};
use farcall_system::key_file;

use crate::options::Settings;
use keep::Keeper;
use reach::Endpoints;

/// Keys of damaged values that are remembered, so that each is reported once.
const REPORTED_MAX: usize = 1000;

/// What arrives.
pub enum Message {
    Asked(Request),
    Stop,
}

/// What all threads share.
pub struct World {
    settings: Settings,
    endpoints: Endpoints,
    sealer: Sealer,
    keeper: Keeper,
    notice: fn(&str),
    is_stopping: AtomicBool,
    /// Requests that threads have or wait for.
    under_way: AtomicUsize,
    watches: AtomicUsize,
    reported: Mutex<BTreeSet<String>>,
}

impl World {
    /// Reads the files that the options name. Nobody is asked yet.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(settings: &Settings, notice: fn(&str)) -> Result<World> {
        Ok(World {
            sealer: Sealer::new(&key_file::read(Path::new(&settings.key_file))?),
            endpoints: Endpoints::new(settings)?,
            settings: settings.clone(),
            keeper: Keeper::default(),
            notice,
            is_stopping: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            watches: AtomicUsize::new(0),
            reported: Mutex::default(),
        })
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// The name of a key in etcd.
    fn raw(&self, key: &str) -> String {
        format!("{}{key}", self.settings.prefix)
    }

    /// Says once for each value that it is damaged.
    fn report(&self, error: &Error) {
        if error.kind() != ErrorKind::Damaged {
            return;
        }
        let text = error.to_string();
        let mut reported = locked(&self.reported);
        let is_new = reported.len() < REPORTED_MAX && reported.insert(text.clone());
        drop(reported);
        if is_new {
            (self.notice)(&text);
        }
    }
}

/// No thread leaves what it locks half done: one that panicked is no reason to stop.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|error| Error::system("start a thread of the store", error))
}

/// Runs until told to stop.
pub fn run(settings: Settings, world: World, mut inbox: Receiver<Message>) -> Result<()> {
    let world = Arc::new(world);
    let (sender, jobs) = channel();
    let jobs = Arc::new(Mutex::new(jobs));
    let mut threads = Vec::new();
    for _ in 0..settings.at_once_max {
        let world = world.clone();
        let jobs = jobs.clone();
        threads.push(spawn("store-etcd", move || serve(&world, &jobs))?);
    }
    let of_keeper = world.clone();
    threads.push(spawn("store-etcd-keep", move || keep::run(&of_keeper))?);
    while let Ok(Message::Asked(request)) = inbox.receive_timeout(std::time::Duration::MAX) {
        let Some(request) = admit(&world, request) else { continue };
        if let Request::Watch { prefix, port } = request {
            watch(&world, prefix, port);
        } else if world.under_way.fetch_add(1, Ordering::Relaxed) < settings.requests_max {
            // The threads live as long as this sender.
            let _ = sender.send(request);
        } else {
            world.under_way.fetch_sub(1, Ordering::Relaxed);
            refuse(request, &|| {
                let message = "too many requests are waiting";
                Error::new(ErrorKind::LimitExceeded, "ask the store", message)
                    .with("requests_max", settings.requests_max)
                    .retryable()
            });
        }
    }
    world.is_stopping.store(true, Ordering::Relaxed);
    drop(sender);
    world.keeper.wake();
    for thread in threads {
        // A panic was printed when it happened.
        let _ = thread.join();
    }
    // Watches wait for news: their connections are closed under them.
    world.endpoints.shut();
    Ok(())
}

/// Passes on what keeps to the bounds of the service, and answers the rest.
fn admit(world: &World, request: Request) -> Option<Request> {
    let checked = match &request {
        Request::Write { conditions, changes, .. } => check_write(conditions, changes),
        Request::Read { prefix, after, .. } => {
            check_prefix(prefix).and_then(|()| after.as_deref().map_or(Ok(()), check_key))
        }
        Request::Lease { time, .. } => check_lease(*time).and_then(|()| {
            if world.keeper.count() < world.settings.leases_max {
                return Ok(());
            }
            let message = "this process has too many leases";
            Err(Error::new(ErrorKind::LimitExceeded, "ask the store", message)
                .with("leases_max", world.settings.leases_max)
                .retryable()
                .fix("raise leases_max of store-etcd in farcall.toml"))
        }),
        Request::Watch { .. } => Ok(()),
    };
    match checked {
        Ok(()) => Some(request),
        Err(error) => {
            let error = farcall_wire::Failure::from(&error);
            refuse(request, &|| error.clone().into());
            None
        }
    }
}

fn refuse(request: Request, error: &dyn Fn() -> Error) {
    match request {
        Request::Write { reply, .. } => reply.answer(Err(error())),
        Request::Read { reply, .. } => reply.answer(Err(error())),
        Request::Lease { reply, .. } => reply.answer(Err(error())),
        Request::Watch { .. } => {}
    }
}

/// One of the threads that ask etcd.
fn serve(world: &World, jobs: &Mutex<Jobs<Request>>) {
    loop {
        // One thread waits for a request; the others wait for it.
        let Ok(request) = locked(jobs).recv() else { return };
        // What is left over at the end is dropped, which answers it.
        if !world.is_stopping() {
            match request {
                Request::Write { conditions, changes, reply } => {
                    reply.answer(work::write(world, &conditions, changes));
                }
                Request::Read { prefix, after, limit, reply } => {
                    let page = work::read(world, &prefix, after.as_deref(), limit);
                    page.as_ref().err().into_iter().for_each(|error| world.report(error));
                    reply.answer(page);
                }
                Request::Lease { time, reply } => reply.answer(work::lease(world, time)),
                Request::Watch { .. } => {}
            }
        }
        world.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Begins a watch in a thread of its own.
fn watch(world: &Arc<World>, prefix: String, port: Port<Changed>) {
    let refused = |why: &str| {
        (world.notice)(&format!("the store in etcd refuses a watch of \"{prefix}\": {why}"));
    };
    if world.watches.fetch_add(1, Ordering::Relaxed) >= world.settings.watches_max {
        world.watches.fetch_sub(1, Ordering::Relaxed);
        return refused("there are too many; raise watches_max of store-etcd in farcall.toml");
    }
    let of_thread = world.clone();
    let watched = prefix.clone();
    let started = spawn("store-etcd-watch", move || {
        follow::follow(&of_thread, &watched, &port);
        of_thread.watches.fetch_sub(1, Ordering::Relaxed);
    });
    if let Err(error) = started {
        world.watches.fetch_sub(1, Ordering::Relaxed);
        refused(&error.to_string());
    }
}
