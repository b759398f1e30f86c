//! A simulated executable: the shipped wire, routines in Rust, and whatever the plan lets happen to
//! it.

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::Event;
use farcall_link::stream::ByteStream;
use farcall_wire::{
    Argument, CallResult, CallTimes, Failure, Open, Reply, Request, Role, callback_attribute,
};

use crate::end::End;
use crate::module::{self, FUNCTION, Routine};

/// What a process tells the world.
pub enum News {
    /// It was told to load its module: it may crash over that.
    Loads,
    /// A call has all its arguments: its routine begins.
    Begins(CallId),
    /// The function that its routine called has answered: the routine goes on.
    Goes(CallId),
    /// It was told to end.
    Leaves,
}

/// A call that has come.
struct Running {
    channel: ChannelId,
    open: Open,
    /// The array, once the routine has begun.
    array: Option<Vec<u8>>,
    /// How often the function has answered.
    answered: u64,
    /// Where the function is called, if it is.
    function: Option<ChannelId>,
    /// The answer's head.
    answer: Option<CallResult>,
    /// Why the function failed.
    failure: Option<Failure>,
}

/// An executable's process.
pub struct Process {
    end: End,
    load: Option<ChannelId>,
    call: Option<Running>,
    /// Calls on the object that it is, if it is one.
    calls: Option<u64>,
}

impl Process {
    pub fn new(stream: Box<dyn ByteStream>, queue_bytes: usize) -> Process {
        let end = End::new(stream, Role::Executable, queue_bytes);
        Process { end, load: None, call: None, calls: None }
    }

    /// The call that it may still write results of.
    pub fn running(&self) -> Option<CallId> {
        self.call.as_ref().map(|call| call.open.call)
    }

    /// Whether the routine of this call is running.
    pub fn has_begun(&self, call: CallId) -> bool {
        let running = self.call.as_ref().filter(|running| running.open.call == call);
        running.is_some_and(|running| running.array.is_some())
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.calls.is_some()
    }

    /// Lets its connection do what it can.
    ///
    /// # Errors
    /// The server is gone.
    pub fn work(&mut self, news: &mut Vec<News>) -> Result<bool> {
        let worked = self.end.work();
        while let Some(event) = self.end.next_event() {
            self.handle(event, news)?;
        }
        worked
    }

    fn handle(&mut self, event: Event, news: &mut Vec<News>) -> Result<()> {
        match event {
            Event::Ready(_) => {}
            Event::Requested(channel, Request::Load(publication)) => {
                self.load = Some(channel);
                self.calls = publication.object.map(|_| 0);
                news.push(News::Loads);
            }
            Event::Opened(channel, open) => self.take(channel, *open),
            Event::ArgumentsComplete(channel) => {
                let Some(call) = self.call.as_mut().filter(|call| call.channel == channel) else {
                    return Ok(());
                };
                call.array = Some(self.end.taken(channel, 1, &call.open.arguments[1])?);
                self.calls = self.calls.map(|calls| calls + 1);
                news.push(News::Begins(call.open.call));
            }
            Event::Resulted(channel, result) => {
                if let Some(call) = self.call.as_mut().filter(|call| call.function == Some(channel))
                {
                    call.answer = Some(*result);
                }
            }
            Event::Finished(channel) => self.function_answered(channel, news)?,
            Event::Left(_) => news.push(News::Leaves),
            other => panic!("an executable does not expect {other:?}"),
        }
        Ok(())
    }

    fn take(&mut self, channel: ChannelId, open: Open) {
        assert!(self.call.is_none(), "one call at a time");
        let bytes = |argument: &Argument| {
            if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 }
        };
        self.end.connection().grant(channel, open.arguments.iter().map(bytes).sum());
        self.call = Some(Running {
            channel,
            open,
            array: None,
            answered: 0,
            function: None,
            answer: None,
            failure: None,
        });
    }

    fn function_answered(&mut self, channel: ChannelId, news: &mut Vec<News>) -> Result<()> {
        let Some(call) = self.call.as_mut().filter(|call| call.function == Some(channel)) else {
            return Ok(());
        };
        call.function = None;
        let answer = call.answer.take().expect("an answer has a head");
        match answer.failure {
            Some(failure) => call.failure = Some(failure),
            None => {
                let array = &answer.results[usize::from(FUNCTION)];
                call.array = Some(self.end.taken(channel, FUNCTION, array)?);
                call.answered += 1;
            }
        }
        self.end.forget(channel);
        news.push(News::Goes(call.open.call));
        Ok(())
    }

    /// The module is loaded.
    pub fn loaded(&mut self) {
        if let Some(channel) = self.load.take() {
            self.end.connection().reply(channel, &Reply::Done);
        }
    }

    /// The routine of this call goes on: it calls its function, if it has not done so as often as it
    /// is to, or returns.
    ///
    /// # Errors
    /// None in a world without bugs.
    pub fn goes_on(&mut self, call: CallId, times: u64) -> Result<()> {
        let Some(running) = self.call.take_if(|running| running.open.call == call) else {
            return Ok(());
        };
        if running.failure.is_none() && running.answered < times {
            return self.call_back(running);
        }
        self.returns(running)
    }

    fn call_back(&mut self, mut running: Running) -> Result<()> {
        let array = running.array.as_deref().unwrap_or_default();
        let index = running.answered as i32;
        // Unlike any other inside the call.
        let mut id = running.open.call;
        id.0[..4].iter_mut().zip((!index).to_ne_bytes()).for_each(|(byte, with)| *byte ^= with);
        let number = Argument::Inline(index.to_ne_bytes().as_slice().into());
        let open = Open {
            parent: Some(running.open.call.0.to_vec().into()),
            attributes: Some(vec![callback_attribute(FUNCTION)]),
            ..Open::new(
                id,
                running.open.routine.clone(),
                running.open.contract,
                vec![number, running.open.arguments[0].clone(), End::offer(array)],
            )
        };
        let channel = self.end.connection().open(&open)?;
        self.end.lend(channel, FUNCTION, array)?;
        running.function = Some(channel);
        self.call = Some(running);
        Ok(())
    }

    fn returns(&mut self, running: Running) -> Result<()> {
        let Running { channel, open, array, failure, .. } = running;
        self.end.forget(channel);
        let array = array.unwrap_or_default();
        let routine = Routine::of(&open.routine);
        // The function has made of the array what is to be made of it.
        let array = if routine == Some(Routine::Apply) { array } else { module::scale(&array) };
        let mut results = vec![Argument::Absent, End::offer(&array)];
        match (routine, self.calls) {
            (Some(Routine::Apply), _) => results.push(Argument::Absent),
            (Some(Routine::Add), Some(calls)) => {
                let calls = (calls as i32).to_ne_bytes();
                results.push(Argument::Inline(calls.as_slice().into()));
            }
            _ => {}
        }
        let failure = failure.map(|failure| (&callback_failed(failure)).into());
        if failure.is_none() {
            self.end.lend(channel, 1, &array)?;
        } else {
            results.clear();
        }
        let answer = CallResult { failure, results, times: CallTimes::default(), attributes: None };
        self.end.connection().respond(channel, &answer);
        Ok(())
    }
}

/// A routine does not check whether its function has failed, and so its call fails.
fn callback_failed(failure: Failure) -> Error {
    let why = Error::from(failure);
    Error::new(ErrorKind::RoutineFailed, "run a routine", why.message().to_owned())
}
