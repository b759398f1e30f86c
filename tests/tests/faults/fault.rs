//! What strikes, and how.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use farcall_base::{Random, SeededRandom};
use farcall_client::Array;
use rustix::process::{Pid, Signal, kill_process};

use crate::small::MEMORY_BYTES;
use crate::world::World;

/// The longest time for which a fault that lasts does.
const LASTS: Duration = Duration::from_millis(200);
/// Calls that end meanwhile, after which it ends sooner.
const LASTS_CALLS: usize = 6;
/// Strangers that take descriptors: more than there are.
const STRANGERS: usize = 200;
/// What a stranger waits: on this host it connects at once, or the queue of those whom nobody took
/// yet is full.
const STRANGERS_WAIT: Duration = Duration::from_millis(20);

/// What can go wrong while calls are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A client is killed.
    Client,
    /// The server is killed, and started again.
    Server,
    /// A process that runs calls is killed.
    Executable,
    /// A process that forks those is killed.
    Zygote,
    /// The program of a job is killed, which starts them where routines run in jobs.
    Pilot,
    /// What passes a job's streams on to the server is killed.
    Bridge,
    /// What passes the bytes of `ssh` on to the server is killed.
    Relay,
    /// All connections are cut.
    Cut,
    /// The disk of temporary files and kept results is full.
    Disk,
    /// The server has no descriptors left.
    Descriptors,
    /// The cgroup of the server has no memory left.
    Memory,
}

impl Fault {
    pub const ALL: [Fault; 11] = [
        Fault::Client,
        Fault::Server,
        Fault::Executable,
        Fault::Zygote,
        Fault::Pilot,
        Fault::Bridge,
        Fault::Relay,
        Fault::Cut,
        Fault::Disk,
        Fault::Descriptors,
        Fault::Memory,
    ];

    /// Calls that end between two strikes, on average. the more, the longer it takes until all
    /// is well again.
    pub fn calls_between(self) -> usize {
        match self {
            Fault::Executable | Fault::Cut => 10,
            Fault::Client | Fault::Zygote | Fault::Relay | Fault::Disk | Fault::Descriptors => 20,
            Fault::Server | Fault::Pilot | Fault::Bridge | Fault::Memory => 40,
        }
    }

    /// Whether routines run in jobs where it strikes.
    pub fn wants_jobs(self) -> bool {
        matches!(self, Fault::Pilot | Fault::Bridge)
    }

    /// Strikes once; whether anything was hit. All is as before when it returns, but for who was
    /// killed.
    pub fn strike(self, world: &World, random: &mut SeededRandom) -> bool {
        match self {
            Fault::Client => world.kill_a_caller(random),
            Fault::Server => world.restart_server(),
            Fault::Executable => kill_one(&world.executables(), random),
            Fault::Zygote => kill_one(&world.zygotes(), random),
            Fault::Pilot => kill_one(&world.running("pilot"), random),
            Fault::Bridge => kill_one(&world.running("bridge"), random),
            Fault::Relay => kill_one(&world.running("relay"), random),
            Fault::Cut => {
                world.proxy().cut();
                true
            }
            Fault::Disk => world.disk().is_some_and(|disk| {
                let filled = disk.fill();
                last(world);
                disk.make_room();
                filled
            }),
            Fault::Descriptors => crowd(world),
            Fault::Memory => take_memory(world, random),
        }
    }
}

/// Waits while the fault lasts.
fn last(world: &World) {
    let begun = Instant::now();
    let before = world.calls_over();
    while begun.elapsed() < LASTS && world.calls_over() < before + LASTS_CALLS {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kill_one(pids: &[u32], random: &mut SeededRandom) -> bool {
    let Some(pid) = pids.get((random.next() % pids.len().max(1) as u64) as usize) else {
        return false;
    };
    kill_process(Pid::from_raw(*pid as i32).unwrap(), Signal::KILL).is_ok()
}

/// Strangers connect until no descriptors are left.
fn crowd(world: &World) -> bool {
    let Some(address) =
        world.server_address().rsplit("//").next().and_then(|address| address.parse().ok())
    else {
        return false;
    };
    let before = world.calls_over();
    let connect = |_| TcpStream::connect_timeout(&address, STRANGERS_WAIT).ok();
    let goes_on = |_: &usize| world.calls_over() < before + LASTS_CALLS;
    let strangers: Vec<TcpStream> = (0..STRANGERS).take_while(goes_on).map_while(connect).collect();
    last(world);
    !strangers.is_empty()
}

/// A call that wants more memory than there is, of its own or as an argument: it may fail, and
/// nobody else may.
fn take_memory(world: &World, random: &mut SeededRandom) -> bool {
    let Ok(client) = world.try_client() else { return false };
    let outcome = if random.next().is_multiple_of(2) {
        let megabytes = (2 * MEMORY_BYTES) >> 20;
        client
            .routine("faults/eat")
            .and_then(|eat| eat.call([("megabytes", (megabytes as i64).into())]))
    } else {
        let x = vec![1.0; (MEMORY_BYTES / 8) as usize];
        client
            .routine("faults/swallow")
            .and_then(|swallow| swallow.call([("x", Array::vector(&x).into())]))
    };
    // What became of it is its own matter, here.
    drop(outcome);
    true
}
