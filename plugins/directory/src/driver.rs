//! The directory's driver: takes questions out of the mailbox, delivers the answers. The only part that waits.

use std::time::Duration;

use farcall_base::Result;
use farcall_interfaces::directory::Question;
use farcall_interfaces::mailbox::Receiver;

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
    // Without a deadline, no message means that everybody who could ask is gone.
    while let Ok(message) = receiver.receive_timeout(Duration::MAX) {
        let (event, reply) = match message {
            Message::Question(question) => {
                number += 1;
                (Event::Asked { number, request: question.request }, Some(question.reply))
            }
            Message::Stop => (Event::Stop, None),
        };
        match (step(&mut state, event), reply) {
            // One question is under way at a time, so that the answer is the question's.
            (Action::Answer { number: answered, answer }, Some(reply)) if answered == number => reply.answer(answer),
            _ => break,
        }
    }
    Ok(())
}
