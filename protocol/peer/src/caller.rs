//! The calls that this end makes: their tables, and what becomes of each event of the connection.

mod asking;
pub mod callbacks;
mod ending;
mod farming;
mod keeping;
mod opening;
mod resuming;

use farcall_base::{CallId, ChannelId, Clock, Error, ErrorKind, Result, SeededRandom};
use farcall_call::{Channels, Connection, Event, Place, Transmit};
use farcall_wire::{CallResult, Failure, FrameHeader, Hello, Lasting, Notice, Reply, Shown};
use rustc_hash::FxHashMap;

use crate::announced::{Announced, Audience};
use crate::application::Application;
use crate::news::News;
use crate::outcomes::Outcomes;
use crate::questions::Questions;
use crate::recovery::Known;
use callbacks::Callbacks;
use keeping::Kept;

/// What a caller begins with.
pub struct Setup {
    /// The connection, which has not been greeted yet.
    pub connection: Connection,
    /// Call ids must not repeat between processes; they are no secrets.
    pub seed: u64,
    /// Whether calls go on over another connection if this one is lost: then the peer is told what
    /// has come.
    pub resumes: bool,
}

/// How a call is made, as far as this end needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Who hears of its end and of its news by [`Caller::next_announced`].
    pub announced: Audience,
    /// Whether the peer is to tell something while the call is under way.
    pub has_news: bool,
    /// Whether functions are passed that the peer may call back.
    pub passes_functions: bool,
    /// Whether it may run twice: it is opened again when the peer has lost it.
    pub is_idempotent: bool,
}

impl Terms {
    /// Those of a call that everybody is told of.
    pub fn announced() -> Terms {
        Terms { announced: Audience::EVERYBODY, ..Terms::default() }
    }
}

/// A call that is not open, or not yet: its interface is fetched first.
struct Made<A: Application> {
    number: u64,
    call: A::Call,
    terms: Terms,
    /// How often it may be opened again because the peer wants its interface fetched first.
    attempts_left: u8,
    /// Its id, if that is to be known: it goes on without us.
    id: Option<CallId>,
}

/// A call under way.
pub struct OpenCall<A: Application> {
    /// What the peer's log calls it.
    id: CallId,
    made: Made<A>,
    transfer: A::Transfer,
    result: Option<Box<CallResult>>,
    /// What is wrong with the answer.
    trouble: Option<Error>,
    /// Whether the peer has said that it goes on without us.
    is_kept: bool,
    /// What counts should the connection be lost.
    known: Known,
    /// Bytes of the stream that have left when all of it has, at least.
    sent_at: u64,
    /// Whether the peer was asked to go on with it over this connection, and has not answered.
    is_resuming: bool,
    /// Whether the peer was restarted since it was made.
    is_of_another_run: bool,
}

impl<A: Application> OpenCall<A> {
    #[inline]
    fn new(id: CallId, made: Made<A>, transfer: A::Transfer) -> OpenCall<A> {
        OpenCall {
            id,
            made,
            transfer,
            result: None,
            trouble: None,
            is_kept: false,
            known: Known::default(),
            sent_at: 0,
            is_resuming: false,
            is_of_another_run: false,
        }
    }

    /// The call as it was asked for.
    pub fn call(&self) -> &A::Call {
        &self.made.call
    }

    /// What its data move through.
    pub fn transfer(&self) -> &A::Transfer {
        &self.transfer
    }

    fn failure(&self) -> Option<&Failure> {
        self.result.as_ref().and_then(|result| result.failure.as_ref())
    }
}

/// A call that nobody wants any more, and of which the peer still speaks.
struct Abandoned<A: Application> {
    /// Its id, if it is to end.
    id: Option<CallId>,
    /// Memory that the peer may still use.
    _residue: A::Residue,
}

/// How the connection is, as far as the peer's words go.
#[derive(Default)]
struct Standing {
    /// The peer has greeted us.
    is_ready: bool,
    /// There is no connection just now.
    is_lost: bool,
    /// The peer is closing the connection.
    has_left: bool,
    /// Which run of the peer it is.
    run: Option<[u8; 16]>,
}

/// The calls, questions and callbacks of one peer. See the crate's documentation.
///
/// Calls have numbers that the owner of the caller chooses, and never uses again.
pub struct Caller<A: Application> {
    connection: Connection,
    application: A,
    calls: Channels<OpenCall<A>>,
    /// Calls that are made again when the interface came that they ask for.
    fetching: FxHashMap<ChannelId, Made<A>>,
    /// Calls that nobody waits for.
    abandoned: FxHashMap<ChannelId, Abandoned<A>>,
    /// Those of them that are to end as soon as there is a connection again.
    orphans: Vec<CallId>,
    kept: Kept<A>,
    outcomes: Outcomes<A::Output>,
    announced: Announced,
    news: News,
    callbacks: Callbacks<A>,
    questions: Questions,
    random: SeededRandom,
    /// Bytes of all frames so far.
    bytes_made: u64,
    resumes: bool,
    standing: Standing,
}

impl<A: Application> Caller<A> {
    /// One that has not been greeted.
    pub fn new(setup: Setup, application: A) -> Caller<A> {
        let Setup { connection, seed, resumes } = setup;
        Caller {
            connection,
            application,
            calls: Channels::default(),
            fetching: FxHashMap::default(),
            abandoned: FxHashMap::default(),
            orphans: Vec::new(),
            kept: Kept::default(),
            outcomes: Outcomes::default(),
            announced: Announced::default(),
            news: News::default(),
            callbacks: Callbacks::default(),
            questions: Questions::default(),
            random: SeededRandom::new(seed),
            bytes_made: 0,
            resumes,
            standing: Standing::default(),
        }
    }

    /// The program above.
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The program above.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// Whether the peer has greeted us.
    pub fn is_ready(&self) -> bool {
        self.standing.is_ready
    }

    /// What the peer said first, once it did.
    pub fn peer(&self) -> Option<&Hello> {
        self.connection.peer()
    }

    /// Whether both ends named a feature.
    pub fn has_feature(&self, name: &str) -> bool {
        self.connection.has_feature(name)
    }

    /// Whether the peer takes one more call now.
    pub fn has_room(&self) -> bool {
        let channels_max = self.peer().map_or(0, |peer| peer.limits.channels_max);
        self.connection.channels_open() < channels_max as usize
    }

    /// A call under way, by its number.
    pub fn open_call(&self, number: u64) -> Option<&OpenCall<A>> {
        self.calls.get(self.outcomes.channel(number)?)
    }

    /// Bytes of all frames that were made for this connection.
    pub fn bytes_made(&self) -> u64 {
        self.bytes_made
    }

    /// 16 bytes that nobody else has, as far as chance goes.
    pub fn random(&mut self) -> [u8; 16] {
        use farcall_base::Random;
        self.random.bytes16()
    }

    /// Asks the peer for a sign of life.
    pub fn ping(&mut self) {
        self.connection.ping();
    }

    /// Says goodbye: nothing follows it.
    pub fn leave(&mut self) {
        self.connection.goodbye(None);
    }

    // Frames.

    /// The next frame to send, with at most so many bytes of data; its maker tells
    /// [`Caller::frame_made`].
    pub fn poll_transmit(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.connection.limit_frames(data_bytes_max);
        self.connection.poll_transmit()
    }

    /// A frame of so many bytes was put where it leaves from; `sends` is the call whose arguments
    /// it has.
    pub fn frame_made(&mut self, bytes: u64, sends: Option<ChannelId>) {
        self.bytes_made += bytes;
        if let Some(call) = sends.and_then(|channel| self.calls.get_mut(channel)) {
            call.sent_at = self.bytes_made;
        }
    }

    /// Takes memory of a control frame back that was copied to where it leaves from.
    pub fn reuse(&mut self, body: Vec<u8>) {
        self.connection.reuse(body);
    }

    /// Takes a control frame.
    ///
    /// # Errors
    /// The peer broke a rule, or has left: the connection ends with this.
    pub fn handle_control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        clock: &impl Clock,
    ) -> Result<()> {
        self.connection.handle_control(header, body)?;
        self.handle_events(clock)
    }

    /// Where the byte `done` of a data frame goes; `None` to throw it away.
    ///
    /// # Errors
    /// As [`Caller::handle_control`].
    pub fn place(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Place>> {
        self.connection.place(header, done)
    }

    /// What the data of a call move through.
    pub fn transfer(&mut self, channel: ChannelId) -> Option<&mut A::Transfer> {
        self.calls.get_mut(channel).map(|call| &mut call.transfer)
    }

    /// `done` bytes of a data frame are where they go.
    ///
    /// # Errors
    /// As [`Caller::handle_control`].
    pub fn data_arrived(
        &mut self,
        header: &FrameHeader,
        done: u32,
        clock: &impl Clock,
    ) -> Result<()> {
        self.connection.data_arrived(header, done)?;
        self.handle_events(clock)
    }

    /// The clock is read for what needs the time alone: most answers do not.
    fn handle_events(&mut self, clock: &impl Clock) -> Result<()> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => {
                    check_byte_order(&hello)?;
                    self.standing.run = Lasting::of(&hello)?.instance;
                    self.application.greeted(&hello);
                    self.standing.is_ready = true;
                }
                Event::Replied(channel, reply) => match self.fetching.remove(&channel) {
                    Some(made) => self.repeat(made, reply),
                    None => self.questions.answer(channel, reply.shown(), clock.now()),
                },
                Event::Noticed(channel, notice) => self.noticed(channel, notice),
                Event::Resulted(channel, result) => self.resulted(channel, result),
                Event::Agreed(channel, resume) => self.agreed(channel, *resume),
                Event::Finished(channel) => self.finish(channel),
                Event::Left(failure) => {
                    self.standing.has_left = true;
                    return Err(goodbye(failure));
                }
                Event::Opened(channel, open) => self.called_back(channel, &open, clock.now()),
                Event::ArgumentsComplete(channel) => self.callback_complete(channel, clock.now()),
                Event::CancelRequested(channel) => self.callback_cancelled(channel),
                Event::Requested(channel, _) => {
                    let error = Error::new(
                        ErrorKind::Unavailable,
                        "ask a client",
                        "it does not answer requests",
                    );
                    self.connection.reply(channel, &Reply::Failed((&error).into()));
                }
                Event::Shared(_)
                | Event::Unshared(_)
                | Event::Resumed(..)
                | Event::Acknowledged(_) => {}
            }
        }
        Ok(())
    }

    fn noticed(&mut self, channel: ChannelId, notice: Notice) {
        let Some(call) = self.calls.get_mut(channel) else { return };
        let number = call.made.number;
        if notice == Notice::Kept {
            call.is_kept = true;
            self.kept.acknowledge(number);
        }
        let audience = call.made.terms.announced;
        if self.news.add(number, notice.shown()) {
            self.announced.add(audience, number);
        }
    }

    fn resulted(&mut self, channel: ChannelId, result: Box<CallResult>) {
        let Some(call) = self.calls.get_mut(channel) else {
            return self.refused(channel, &result);
        };
        if !call.is_resuming && result.failure.is_none() {
            let answered = self.application.answered(&call.made.call, &mut call.transfer, &result);
            call.trouble = answered.err();
        }
        call.result = Some(result);
    }

    // Outcomes and news.

    /// The outcome of a call that has ended. Who has it needs no announcement any more.
    pub fn take_finished(&mut self, number: u64) -> Option<Result<A::Output>> {
        let outcome = self.outcomes.take(number)?;
        self.announced.remove(number);
        self.news.forget(number);
        Some(outcome)
    }

    /// Whether there are outcomes that nobody has taken.
    pub fn has_finished(&self) -> bool {
        self.outcomes.has_some()
    }

    /// Whether a call has ended, or was never made.
    pub fn is_over(&self, number: u64) -> bool {
        self.outcomes.is_over(number)
    }

    /// The next thing that was told of a call while it is running.
    pub fn take_news(&mut self, number: u64) -> Option<Notice> {
        self.news.take(number)
    }

    /// Whether no call is to be announced to everybody.
    pub fn is_quiet(&self) -> bool {
        self.announced.is_empty()
    }

    /// The number of the next call that has ended or has news, of those that this audience is told
    /// of, in order. Everybody is told of each once.
    pub fn next_announced(&mut self, audience: Audience) -> Option<u64> {
        self.announced.next(audience)
    }

    /// The outcome of a call is there for its owner.
    #[inline]
    fn conclude(&mut self, number: u64, audience: Audience, outcome: Result<A::Output>) {
        self.outcomes.conclude(number, outcome);
        self.announced.add(audience, number);
    }
}

/// Arrays travel as they are.
///
/// # Errors
/// When the peer stores numbers in the other byte order.
pub(crate) fn check_byte_order(hello: &Hello) -> Result<()> {
    if hello.byte_order == farcall_wire::ByteOrder::NATIVE {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Version, "connect", "the server has the other byte order"))
}

/// Why the peer has left.
pub(crate) fn goodbye(failure: Option<Failure>) -> Error {
    let silent = || {
        Error::new(
            ErrorKind::ShuttingDown,
            "wait for the server",
            "the server closed the connection",
        )
    };
    failure.map_or_else(silent, Error::from)
}
