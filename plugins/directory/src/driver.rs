//! The directory's driver: takes questions out of the mailbox, delivers the answers. The only part
//! that waits.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Result;
use farcall_services::directory::Question;
use farcall_services::mailbox::Receiver;

use crate::state::{Limits, State};
use crate::step::{Action, Event, step};

/// What arrives in the directory's mailbox.
pub(crate) enum Message {
    Question(Question),
    Stop,
}

pub(crate) fn run(limits: Limits, mut receiver: Receiver<Message>) -> Result<()> {
    let mut state = State::new(limits);
    let mut number = 0;
    // Where answers go, by the number of the request: of those that watch for longer than one turn.
    let mut replies = BTreeMap::new();
    // Without a deadline, no message means that everybody who could ask is gone.
    while let Ok(message) = receiver.receive_timeout(Duration::MAX) {
        let event = match message {
            Message::Question(question) => {
                number += 1;
                replies.insert(number, question.reply);
                Event::Asked { number, request: question.request }
            }
            Message::Stop => Event::Stop,
        };
        for action in step(&mut state, event) {
            match action {
                Action::Answer { number, answer } => {
                    if let Some(reply) = replies.remove(&number) {
                        reply.answer(answer);
                    }
                }
                Action::Finish => return Ok(()),
            }
        }
    }
    Ok(())
}
