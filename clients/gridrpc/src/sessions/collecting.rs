//! Collecting: what came of sessions that have ended, or took too long.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_c::Places;
use farcall_client::{CallTimes, CallbackTimes, CompressedArray, Outputs, PendingCall};

use super::{Beginning, Number, Running, Sessions, Table};
use crate::code::{Code, Failure};
use crate::connecting::Connection;
use crate::handles::Handle;
use crate::printing::{Passed, pass_on};

thread_local! {
    /// Which session of which [`Sessions`] this thread was made for, to run functions of the
    /// program.
    static CALLED_BACK_BY: Cell<Option<(usize, i32)>> = const { Cell::new(None) };
}

impl Sessions {
    /// Collects the outcomes of sessions whose time is over.
    pub fn expire(self: &Arc<Self>) {
        let late = self.lock().under_way.take_expired();
        self.collect(&late);
    }

    /// Ends sessions of which something took too long on its way.
    pub fn end_late(self: &Arc<Self>) {
        let mut table = self.lock();
        let late = table.late();
        if late.is_empty() {
            return;
        }
        table.collecting += 1;
        drop(table);
        // The calls are given up here, and so is the program's memory.
        let looked: Vec<Looked> =
            late.into_iter().map(|(taken, words)| taken.give_up(words)).collect();
        self.conclude(looked, true);
    }

    /// Collects the outcomes of calls that are over, and runs what they call back: functions of the
    /// program in threads of their own, so that one that blocks keeps no other session from its
    /// end.
    pub fn collect(self: &Arc<Self>, numbers: &[Number]) {
        if numbers.is_empty() {
            return;
        }
        let mut table = self.lock();
        let taken: Vec<Taken> = numbers.iter().filter_map(|number| table.take(*number)).collect();
        table.collecting += 1;
        drop(table);
        let (calling, plain): (Vec<Taken>, Vec<Taken>) =
            taken.into_iter().partition(|taken| taken.calls_back);
        calling.into_iter().for_each(|taken| self.look_apart(taken));
        self.conclude(plain.into_iter().map(Taken::look).collect(), true);
    }

    /// The session of which this thread runs functions of the program.
    pub(super) fn called_back_by(&self) -> Option<i32> {
        CALLED_BACK_BY.get().filter(|(of, _)| *of == self.identity()).map(|(_, session)| session)
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn look_apart(self: &Arc<Self>, taken: Taken) {
        let session = taken.session;
        let number = (taken.connection.key, taken.pending.number());
        let sessions = self.clone();
        let run = move || {
            CALLED_BACK_BY.set(Some((sessions.identity(), session)));
            sessions.conclude(vec![taken.look()], false);
        };
        if let Err(error) =
            std::thread::Builder::new().name("farcall-callback".to_owned()).spawn(run)
        {
            // The call was given up with the closure.
            let failure = Failure::other(format!("start a thread for a callback: {error}"));
            self.conclude(
                vec![Looked {
                    session,
                    number,
                    found: Found::Over(Some(failure), Spent::default()),
                }],
                false,
            );
        }
    }

    /// Keeps what came of calls; `counted` when [`Sessions::end`] waits for whoever has looked.
    fn conclude(self: &Arc<Self>, looked: Vec<Looked>, counted: bool) {
        let mut table = self.lock();
        if counted {
            table.collecting -= 1;
        }
        let dropped: Vec<Looked> =
            looked.into_iter().filter_map(|one| table.conclude(one)).collect();
        let again = std::mem::take(&mut table.again);
        drop(table);
        drop(dropped);
        self.changed.notify_all();
        self.collect(&again);
    }
}

/// A call that is being collected.
struct Taken {
    session: i32,
    pending: PendingCall,
    places: Places,
    handle: Arc<Handle>,
    connection: Arc<Connection>,
    /// Whether looking may run functions of the program.
    calls_back: bool,
    /// Whether its arguments have left, as far as somebody waited for that.
    sent: bool,
    /// Whether the server is to tell of its routine's begin, and has not.
    awaits_routine: bool,
}

// SAFETY: places of strings are addresses here, written to by whoever collects the outcome, alone;
// grpc.h has them stay until then.
unsafe impl Send for Taken {}

/// What came of it: the call itself when it is not over.
struct Looked {
    session: i32,
    number: Number,
    found: Found,
}

/// What a call that is over took, as far as is known.
#[derive(Default)]
pub(super) struct Spent {
    pub times: Option<CallTimes>,
    pub callbacks: CallbackTimes,
    /// How many arguments it has, and which of them travelled compressed.
    pub arguments: usize,
    pub compressed: Vec<CompressedArray>,
    /// Where it ran.
    pub server: Option<Arc<str>>,
}

enum Found {
    Over(Option<Failure>, Spent),
    /// And whether its routine began.
    UnderWay(PendingCall, Places, bool),
}

impl Taken {
    fn give_up(self, words: String) -> Looked {
        let number = (self.connection.key, self.pending.number());
        let failure = Failure::new(Code::Timeout, format!("{}: {words}", self.handle.name));
        Looked {
            session: self.session,
            number,
            found: Found::Over(Some(self.handle.noted(failure)), Spent::default()),
        }
    }

    fn spent(&self, outputs: Option<&Outputs>) -> Spent {
        let callbacks =
            if self.calls_back { self.pending.callbacks() } else { CallbackTimes::default() };
        let times = outputs.map(Outputs::times);
        let arguments = outputs.map_or(0, |outputs| outputs.all().len());
        let compressed = outputs.map_or_else(Vec::new, |outputs| outputs.compressed().to_vec());
        let server = outputs.and_then(Outputs::server_name);
        Spent { times, callbacks, arguments, compressed, server }
    }

    /// Prints what its routine printed; whether the server told that it began.
    fn take_news(&mut self) -> bool {
        let mut has_begun = false;
        // Why it would fail is what waiting says.
        while self.connection.prints || self.awaits_routine {
            match pass_on(&mut self.pending, Some(Duration::ZERO)) {
                Ok(Passed::Begin) => has_begun = true,
                Ok(Passed::Other) => {}
                Ok(Passed::Nothing) | Err(_) => break,
            }
        }
        has_begun
    }

    fn look(mut self) -> Looked {
        let number = (self.connection.key, self.pending.number());
        let has_begun = self.take_news();
        let found = match self.pending.wait_for(Duration::ZERO) {
            Ok(None) => Found::UnderWay(self.pending, self.places, has_begun),
            Ok(Some(outputs)) => {
                // SAFETY: grpc.h: places of strings stay until the session has ended.
                let filled = unsafe { self.places.fill(&outputs) };
                Found::Over(filled.err().map(Failure::from), self.spent(Some(&outputs)))
            }
            Err(error) => {
                self.handle.server.note(&self.connection, &error);
                Found::Over(
                    Some(self.handle.failed(error).in_sending(!self.sent)),
                    self.spent(None),
                )
            }
        };
        if let Found::Over(failure, _) = &found {
            let words = || failure.as_ref().map_or("well", |failure| &failure.words).to_owned();
            self.connection.log.write(|| format!("call {} ends: {}", number.1, words()));
            self.handle.note_end(failure.as_ref());
        }
        Looked { session: self.session, number, found }
    }
}

impl Running {
    /// What of it took too long on its way.
    fn late(&mut self) -> Option<(Number, String)> {
        let number = (self.connection.key, self.number);
        let words = self.watch.as_mut()?.late(self.pending.as_ref()?)?;
        Some((number, words))
    }
}

impl Table {
    /// Those of which something took too long, and what.
    fn late(&mut self) -> Vec<(Taken, String)> {
        let mut late = Vec::new();
        for session in self.under_way.limited().copied().collect::<Vec<_>>() {
            let running = self.under_way.get_mut(session);
            let Some((number, words)) = running.and_then(Running::late) else { continue };
            late.extend(self.take(number).map(|taken| (taken, words)));
        }
        late
    }

    fn take(&mut self, number: Number) -> Option<Taken> {
        let Some(session) = self.under_way.session_of(number) else {
            self.early.insert(number);
            return None;
        };
        let running = self.under_way.get_mut(session)?;
        let Some(pending) = running.pending.take() else {
            // Somebody looks at it at this moment, and is to look once more.
            running.again = true;
            return None;
        };
        let places = std::mem::take(&mut running.places);
        let calls_back = running.calls_back;
        let sent = running.sent;
        let awaits_routine = running.routine == Beginning::Awaited;
        let handle = running.handle.clone();
        let connection = running.connection.clone();
        Some(Taken {
            session,
            pending,
            places,
            handle,
            connection,
            calls_back,
            sent,
            awaits_routine,
        })
    }

    /// Keeps what came of a call; gives it back when nobody wants it any more.
    fn conclude(&mut self, looked: Looked) -> Option<Looked> {
        let Looked { session, number, found } = looked;
        let Some(running) = self.under_way.get_mut(session) else {
            return Some(Looked { session, number, found });
        };
        match found {
            Found::UnderWay(pending, places, has_begun) => {
                if has_begun {
                    running.routine = Beginning::At(Instant::now());
                }
                running.pending = Some(pending);
                running.places = places;
                self.again.extend(std::mem::take(&mut running.again).then_some(number));
            }
            Found::Over(failure, spent) => self.finish(session, number, failure, spent),
        }
        None
    }
}
