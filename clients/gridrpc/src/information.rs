//! Information on sessions: how long their parts took.

use std::time::{Duration, Instant};

use farcall_client::idl::interface::{ElementType, Interface, Mode, Parameter};
use farcall_client::{CallTimes, CallbackTimes, CompressedArray};

use crate::handles::Binding;

/// What was measured of a session.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub binding: Binding,
    /// Until the arguments had left, and this thread's own work on that.
    pub sending: Duration,
    pub sending_processor: Duration,
    /// From the beginning to the end.
    pub whole: Duration,
    /// By the server: until an executable began, and until it had ended.
    pub started: Duration,
    pub finished: Duration,
    /// The processor time of the routine.
    pub processor: Duration,
    /// How many arguments there are, and which of them travelled compressed.
    pub arguments: usize,
    pub compressed: Vec<CompressedArray>,
    /// By this process, of functions of the program that the routine called.
    pub callbacks: CallbackTimes,
    pub files: Files,
}

/// Whether files are among the arguments, and among the results: they travel with the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files {
    pub sent: bool,
    pub received: bool,
}

impl Files {
    fn of(interface: &Interface) -> Files {
        let any = |moves: fn(Mode) -> bool| {
            let is_file =
                |one: &&Parameter| one.element == ElementType::Filename && moves(one.mode);
            interface.parameters.iter().any(|one| is_file(&one))
        };
        Files { sent: any(Mode::is_input), received: any(Mode::is_output) }
    }
}

/// When a call began.
#[derive(Clone, Copy)]
pub struct Began {
    pub real: Instant,
    /// Time that this thread had worked.
    processor: Duration,
}

impl Began {
    pub fn now() -> Began {
        Began { real: Instant::now(), processor: processor_time() }
    }

    /// What is known when the arguments have left.
    pub fn sent(&self, binding: Binding, interface: &Interface) -> Measured {
        let sending_processor = processor_time().saturating_sub(self.processor);
        let sending = self.real.elapsed();
        let files = Files::of(interface);
        Measured { binding, sending, sending_processor, files, ..Measured::default() }
    }
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Measured {
    /// Of a call that a thread waited for, which is spared the looks at the processor's clock.
    pub fn of_call(
        binding: Binding,
        interface: &Interface,
        begun: Instant,
        times: CallTimes,
    ) -> Measured {
        let mut measured = Measured { binding, files: Files::of(interface), ..Measured::default() };
        measured.ended(begun, Some(times));
        measured
    }

    /// What is known when it is over.
    pub fn ended(&mut self, begun: Instant, times: Option<CallTimes>) {
        self.whole = begun.elapsed();
        if let Some(times) = times {
            self.started = Duration::from_nanos(times.started_ns);
            self.finished = Duration::from_nanos(times.finished_ns);
            self.processor = Duration::from_nanos(times.processor_ns.unwrap_or(0));
        }
    }
}
