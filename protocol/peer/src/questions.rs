//! Questions to the server: not answered yet, or answered and not taken by anybody.

use std::time::Duration;

use farcall_base::{ChannelId, Error, ErrorKind, Instant};
use farcall_call::Connection;
use farcall_wire::{Reply, Request};

/// Time that an answer is kept for somebody who asks the same again. Whoever waits in pieces comes
/// back at once; for anybody else it would be old news.
const ANSWER_KEPT: Duration = Duration::from_secs(1);

struct Question {
    /// Tells it from others: its channel is free for the next as soon as the answer came.
    id: u64,
    channel: ChannelId,
    request: Request,
    expires: Instant,
    answer: Option<(Reply, Instant)>,
    /// It stands, and its answer is kept, until whoever asked has it or gives it up.
    kept: bool,
    /// It was asked before, over a connection that was lost.
    repeated: bool,
}

/// All questions of a connection. Those who ask the same at the same time share one.
#[derive(Default)]
pub struct Questions {
    all: Vec<Question>,
    last: u64,
}

impl Questions {
    /// The question that is the same and still of use, and when it expires.
    pub fn find(&mut self, request: &Request, now: Instant) -> Option<(u64, Instant)> {
        self.all.retain(|one| match &one.answer {
            _ if one.kept => true,
            Some((_, came)) => now.since(*came) <= ANSWER_KEPT,
            None => now < one.expires,
        });
        self.all
            .iter()
            .find(|one| !one.kept && one.request == *request)
            .map(|one| (one.id, one.expires))
    }

    /// Adds one that was asked on this channel.
    pub fn add(&mut self, request: Request, channel: ChannelId, expires: Instant) -> u64 {
        self.last += 1;
        self.all.push(Question {
            id: self.last,
            channel,
            request,
            expires,
            answer: None,
            kept: false,
            repeated: false,
        });
        self.last
    }

    /// Its answer is for whoever asked, whenever they look.
    pub fn keep(&mut self, id: u64) {
        self.all.iter_mut().filter(|one| one.id == id).for_each(|one| one.kept = true);
    }

    /// The answer came. Nobody may want it any more.
    pub fn answer(&mut self, channel: ChannelId, reply: Reply, now: Instant) {
        let asked = self.all.iter_mut().find(|one| one.channel == channel && one.answer.is_none());
        if let Some(question) = asked {
            let is_done =
                question.repeated && ends_something(&question.request) && is_unknown(&reply);
            question.answer = Some((if is_done { Reply::Done } else { reply }, now));
        }
    }

    /// The connection is lost. An order may have been carried out, and is not given twice.
    pub fn part(&mut self, now: Instant) {
        for question in self.all.iter_mut().filter(|one| one.answer.is_none()) {
            if matches!(question.request, Request::Administer(_)) {
                let message = "the connection was lost before the answer arrived: the command may \
                    have been executed";
                let error = Error::new(ErrorKind::ConnectionLost, "send a command", message)
                    .fix("check the server, and repeat the command if necessary");
                question.answer = Some((Reply::Failed((&error).into()), now));
            }
        }
    }

    /// There is another: what was not answered is asked again.
    pub fn come_back(&mut self, connection: &mut Connection, now: Instant) {
        for question in self.all.iter_mut().filter(|one| one.answer.is_none()) {
            question.repeated = true;
            match connection.request(&question.request) {
                Ok(channel) => question.channel = channel,
                Err(error) => question.answer = Some((Reply::Failed((&error).into()), now)),
            }
        }
    }

    /// The answer, once: `Some(None)` when another took it, or the question is gone; `None` while
    /// it is awaited.
    pub fn take(&mut self, id: u64) -> Option<Option<Reply>> {
        let Some(index) = self.all.iter().position(|one| one.id == id) else { return Some(None) };
        self.all[index].answer.as_ref()?;
        Some(self.all.swap_remove(index).answer.map(|(reply, _)| reply))
    }

    /// The connection is gone. What was answered before is as true as ever: a server answers, and
    /// says goodbye.
    pub fn drop_unanswered(&mut self) {
        self.all.retain(|one| one.answer.is_some());
    }

    /// Nobody waits for this one any more.
    pub fn drop(&mut self, id: u64) {
        self.all.retain(|one| one.id != id);
    }
}

/// Whether nothing is left to do where what a request is about is not there.
fn ends_something(request: &Request) -> bool {
    matches!(request, Request::Release(..) | Request::Forget(_))
}

fn is_unknown(reply: &Reply) -> bool {
    matches!(reply, Reply::Failed(failure) if failure.kind == ErrorKind::NotFound.code())
}
