//! Information on sessions: how long their parts took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_client::idl::interface::{ElementType, Interface, Parameter};
use farcall_client::{CallTimes, CallbackTimes, CompressedArray};

use crate::clock;
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
    /// The server that it ran on, once it has ended well.
    pub server: Option<Arc<str>>,
}

/// Whether files are among the arguments, and among the results: they travel with the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files {
    pub sent: bool,
    pub received: bool,
}

impl Files {
    fn of(interface: &Interface) -> Files {
        let mut files = Files::default();
        let is_file = |one: &&Parameter| one.element == ElementType::Filename;
        for parameter in interface.parameters.iter().filter(is_file) {
            files.sent |= parameter.mode.is_input();
            files.received |= parameter.mode.is_output();
        }
        files
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
        Began { real: Instant::now(), processor: clock::read(clock::OF_THREAD) }
    }

    /// What is known when the arguments have left.
    pub fn sent(&self, binding: Binding, interface: &Interface) -> Measured {
        let sending_processor = clock::read(clock::OF_THREAD).saturating_sub(self.processor);
        let sending = self.real.elapsed();
        let files = Files::of(interface);
        Measured { binding, sending, sending_processor, files, ..Measured::default() }
    }
}

impl Measured {
    /// What is known when it is over.
    pub fn ended(&mut self, begun: Instant, times: Option<CallTimes>) {
        self.whole = begun.elapsed();
        if let Some(times) = times {
            self.served(times);
        }
    }

    fn served(&mut self, times: CallTimes) {
        self.started = Duration::from_nanos(times.started_ns);
        self.finished = Duration::from_nanos(times.finished_ns);
        self.processor = Duration::from_nanos(times.processor_ns.unwrap_or(0));
    }
}

/// What was measured of a call that a thread waited for: few look at it, so it is worked out for
/// those who do. Such a call is spared the looks at the processor's clock.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredCall {
    begun: Instant,
    /// The same as `begun` of a call that failed.
    ended: Instant,
    binding: Binding,
    files: Files,
    times: CallTimes,
}

impl MeasuredCall {
    /// Of a call that is running.
    pub fn begun(begun: Instant) -> MeasuredCall {
        let binding = Binding::default();
        let files = Files::default();
        let times = CallTimes::default();
        MeasuredCall { begun, ended: begun, binding, files, times }
    }

    /// What is known when it has ended well.
    pub fn ended(&mut self, binding: Binding, interface: &Interface, times: CallTimes) {
        self.ended = Instant::now();
        self.binding = binding;
        self.files = Files::of(interface);
        self.times = times;
    }
}

impl From<MeasuredCall> for Measured {
    fn from(call: MeasuredCall) -> Measured {
        let MeasuredCall { begun, ended, binding, files, times } = call;
        let whole = ended - begun;
        let mut measured = Measured { binding, whole, files, ..Measured::default() };
        measured.served(times);
        measured
    }
}
