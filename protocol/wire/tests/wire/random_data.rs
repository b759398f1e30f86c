//! Random messages about data and transactions.

use farcall_base::{DataId, Random, TransactionId};
use farcall_wire::*;

use crate::random::Draw;

impl Draw {
    pub fn data_id(&mut self) -> DataId {
        DataId(self.0.bytes16())
    }

    pub fn data_status(&mut self) -> DataStatus {
        let states = [DataState::Coming, DataState::There, DataState::Failed];
        DataStatus {
            id: self.data_id(),
            state: states[self.below(3) as usize],
            kind: self.text(),
            extents: self.some(4, Draw::number),
            bytes: self.number(),
            left_us: self.maybe(Draw::number),
            principal: self.text(),
            failure: self.maybe(Draw::failure),
        }
    }

    pub fn promise(&mut self) -> Promise {
        Promise { data: self.data_id(), kind: self.text() }
    }

    pub fn pull(&mut self) -> PullRequest {
        let ticket = Ticket { receiver: self.text(), until_us: self.number(), proof: self.hash() };
        PullRequest {
            data: self.data_id(),
            source: self.data_id(),
            addresses: self.some(3, Draw::text),
            ticket,
            bytes_max: self.number(),
            key: self.maybe(Draw::hash),
        }
    }

    fn transaction_id(&mut self) -> TransactionId {
        TransactionId(self.0.bytes16())
    }

    pub fn transaction_request(&mut self) -> TransactionRequest {
        match self.below(6) {
            0 => TransactionRequest::Begin(Box::new(TransactionBegin {
                id: self.transaction_id(),
                graph: self.bytes(200),
                keep_us: self.maybe(Draw::number),
            })),
            1 => TransactionRequest::Await(self.transaction_id()),
            2 => TransactionRequest::List(self.some(4, Draw::transaction_id)),
            3 => TransactionRequest::Timeline(self.transaction_id(), self.number32()),
            4 => TransactionRequest::Results(self.transaction_id(), self.number32()),
            _ => TransactionRequest::End(self.some(4, Draw::transaction_id)),
        }
    }

    pub fn transaction_reply(&mut self) -> TransactionReply {
        match self.below(4) {
            0 => TransactionReply::Over(TransactionEnd {
                failed: self.number32(),
                failures: self
                    .some(3, |draw| CallFailure { call: draw.number32(), failure: draw.failure() }),
            }),
            1 => TransactionReply::List(self.some(3, Draw::transaction_status)),
            2 => TransactionReply::Timeline(Box::new(self.timeline())),
            _ => TransactionReply::Results(Box::new(self.transaction_results())),
        }
    }

    fn transaction_status(&mut self) -> TransactionStatus {
        TransactionStatus {
            id: self.transaction_id(),
            is_over: self.below(2) == 1,
            calls: self.number32(),
            returned: self.number32(),
            failed: self.number32(),
            age_us: self.number(),
            left_us: self.maybe(Draw::number),
            principal: self.text(),
            failure: self.maybe(Draw::failure),
        }
    }

    fn timeline(&mut self) -> Timeline {
        Timeline {
            calls: self.number32(),
            servers: self.some(3, Draw::text),
            routines: self.some(3, Draw::text),
            rows: self.some(5, Draw::timeline_row),
        }
    }

    fn timeline_row(&mut self) -> TimelineRow {
        use TimelineState::*;
        TimelineRow {
            routine: self.number32(),
            state: [Waits, Open, Returned, Failed, NotRun][self.below(5) as usize],
            attempts: self.number32(),
            server: self.maybe(Draw::number32),
            ready_us: self.maybe(Draw::number),
            opened_us: self.maybe(Draw::number),
            begun_us: self.maybe(Draw::number),
            ended_us: self.maybe(Draw::number),
        }
    }

    fn transaction_results(&mut self) -> TransactionResults {
        TransactionResults {
            results: self.number32(),
            rows: self.some(4, |draw| TransactionResult {
                call: draw.number32(),
                routine: draw.text(),
                parameter: draw.text(),
                data: draw.data_id(),
            }),
        }
    }
}
