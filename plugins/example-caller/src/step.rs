//! What becomes of a question: the interface is asked for once, then calls are opened, and their
//! outcomes told.

use std::time::Duration;

use farcall_base::{Instant, Result};
use farcall_peer::{Audience, Terms};
use farcall_wire::{Reply, Request};

use crate::state::State;

impl State {
    /// Somebody asks: `index` names the question, and no other.
    pub fn ask(&mut self, index: u64, number: f64) {
        self.waiting.push((index, number));
    }

    /// What can be done now that something has come, or was asked; the questions that are answered.
    ///
    /// # Errors
    /// When there is no such routine: the connection is of no use.
    pub fn step(&mut self, patience: Duration, now: Instant) -> Result<Vec<(u64, Result<f64>)>> {
        let mut answers = Vec::new();
        if self.caller.is_ready() && self.knows_interface(patience, now)? {
            for (index, number) in std::mem::take(&mut self.waiting) {
                let terms = Terms::announced();
                if let Err(error) = self.caller.open(index, number, None, terms) {
                    answers.push((index, Err(error)));
                }
            }
        }
        while let Some(index) = self.caller.next_announced(Audience::EVERYBODY) {
            answers.extend(self.caller.take_finished(index).map(|outcome| (index, outcome)));
        }
        Ok(answers)
    }

    fn knows_interface(&mut self, patience: Duration, now: Instant) -> Result<bool> {
        let Some(question) = self.interface else {
            let request = Request::Interface(self.caller.application().routine.clone());
            self.interface = Some(self.caller.ask(&request, patience, now)?.0);
            return Ok(false);
        };
        match self.caller.take_answer(question) {
            Some(Some(Reply::Interface(interface))) => {
                self.caller.application_mut().contract = interface.contract;
                Ok(true)
            }
            Some(Some(Reply::Failed(failure))) => Err(failure.into()),
            // It was answered before.
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }
}
