//! What executables write: taken while they run and when they end, and told to listeners.

use std::time::Duration;

use farcall_base::{Clock, ExecutableId, Instant};
use farcall_services::mailbox::Port;
use farcall_services::spawner::{ExitHow, Listener, Output, Said};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Driver;
use super::process::Process;
use crate::step::Event;

/// Reads in which a pipe gives what was in it, at most: whoever writes on and on is not waited for.
const READS_MAX: usize = 16;
/// For so long a launcher of MPI's is quiet when nothing is on its way any more, in nanoseconds;
/// and so long it is listened to.
const LAUNCHER_QUIET_NS: i64 = 100_000_000;
const LAUNCHER_MAX: Duration = Duration::from_secs(1);

impl Driver {
    /// Takes what was written; whether anything was.
    pub(super) fn collect_output(&mut self, executable: ExecutableId, output: Output) -> bool {
        let Some(process) = self.running.get_mut(&executable) else { return false };
        let before = self.clock.now();
        let bytes = process.read(output);
        self.wrote(executable, output, before, bytes)
    }

    fn wrote(
        &mut self,
        executable: ExecutableId,
        output: Output,
        before: Instant,
        bytes: Vec<u8>,
    ) -> bool {
        if let Some(listener) = self.listeners.get_mut(&executable) {
            listener.tell(output, &bytes);
        }
        let wrote = !bytes.is_empty();
        self.events.push_back(Event::Output { executable, output, before, bytes });
        wrote
    }

    /// Takes what an executable has written until now.
    fn collect_all_output(&mut self, executable: ExecutableId) {
        for output in [Output::Stdout, Output::Stderr] {
            let _ = (0..READS_MAX).all(|_| self.collect_output(executable, output));
        }
    }

    pub(super) fn listen(&mut self, executable: ExecutableId, listener: Port<Said>) {
        self.listeners.remove(&executable);
        self.collect_all_output(executable);
        if self.running.contains_key(&executable) {
            self.listeners.insert(executable, Listener::new(executable, listener));
        }
    }

    pub(super) fn hush(&mut self, executable: ExecutableId) {
        self.await_launcher(executable);
        self.collect_all_output(executable);
        self.hear_out(executable);
    }

    /// What MPI's processes have written is on its way through their launcher, which says of
    /// nothing that it was the last.
    fn await_launcher(&mut self, executable: ExecutableId) {
        let begin = self.clock.now();
        while self.clock.now().since(begin) < LAUNCHER_MAX {
            let Some(process) =
                self.running.get(&executable).filter(|process| process.is_launched())
            else {
                return;
            };
            let mut pipes: Vec<PollFd<'_>> = process
                .pipes()
                .map(|(_, pipe)| PollFd::from_borrowed_fd(pipe, PollFlags::IN))
                .collect();
            let quiet = Timespec { tv_sec: 0, tv_nsec: LAUNCHER_QUIET_NS };
            if pipes.is_empty() || !poll(&mut pipes, Some(&quiet)).is_ok_and(|ready| ready > 0) {
                return;
            }
            self.collect_all_output(executable);
        }
    }

    fn hear_out(&mut self, executable: ExecutableId) {
        if let Some(listener) = self.listeners.remove(&executable) {
            listener.finish();
        }
    }

    /// Takes what the process still wrote, and says that it ended.
    pub(super) fn report_end(&mut self, executable: ExecutableId, how: ExitHow) {
        let Some(signalled) = self.running.get(&executable).map(Process::was_stopped) else {
            return;
        };
        // Any other signal is the routine's own doing, though its connection was closed on the way
        // to it: whoever unwinds closes it.
        let is_own_doing = match &how {
            ExitHow::Signal { number, .. } => ![libc::SIGTERM, libc::SIGKILL].contains(number),
            _ => false,
        };
        let was_stopped = signalled && !is_own_doing;
        for output in [Output::Stdout, Output::Stderr] {
            let Some(process) = self.running.get_mut(&executable) else { return };
            let before = self.clock.now();
            let bytes = process.drain(output);
            self.wrote(executable, output, before, bytes);
        }
        self.hear_out(executable);
        self.events.push_back(Event::Ended { executable, how, was_stopped });
    }
}
