//! Random reports, questions and answers of placement.

use farcall_base::Random;
use farcall_wire::*;

use crate::random::Draw;

impl Draw {
    fn real(&mut self) -> f64 {
        self.number32() as f64 / 7.0
    }

    fn truth(&mut self) -> bool {
        self.below(2) == 1
    }

    fn offered(&mut self) -> OfferedRoutine {
        OfferedRoutine {
            name: self.text(),
            contract: self.hash(),
            in_jobs: self.truth(),
            hops: self.maybe(Draw::number32),
        }
    }

    fn ran(&mut self) -> RanCall {
        RanCall {
            routine: self.hash(),
            sizes: self.number(),
            amount: self.real(),
            threads: self.number32(),
            seconds: self.real(),
            waited_s: self.real(),
            grant: self.maybe(Draw::number),
        }
    }

    pub fn server_report(&mut self) -> ServerReport {
        ServerReport {
            name: self.text(),
            addresses: self.some(3, Draw::text),
            host: self.text(),
            site: self.text(),
            instance: self.0.bytes16(),
            processors: self.number32(),
            busy: self.real(),
            calls: self.number(),
            backlog_s: self.real(),
            load: self.real(),
            start_s: self.real(),
            revision: self.number(),
            offers: self.maybe(|draw| draw.some(4, Draw::offered)),
            interfaces: self.maybe(|draw| draw.some(3, Draw::interface)),
            warm: self.some(3, Draw::text),
            job_wait_s: self.maybe(Draw::real),
            speed: self.maybe(Draw::real),
            draining: self.truth(),
            memory_free: self.number(),
            runs: self.some(4, Draw::ran),
            begun: self.some(4, Draw::number),
            arrived: self.some(4, Draw::number),
            metaservers: self.some(3, Draw::text),
            product: self.text(),
            leads: self.truth(),
        }
    }

    pub fn report_answer(&mut self) -> ReportAnswer {
        let dropped =
            |draw: &mut Draw| DroppedAddress { address: draw.text(), reason: draw.text() };
        ReportAnswer {
            wants_offers: self.truth(),
            wanted: self.some(3, Draw::hash),
            dropped: self.some(3, dropped),
        }
    }

    pub fn state_question(&mut self) -> StateQuestion {
        StateQuestion {
            known: self.maybe(Draw::number),
            wanted: self.some(3, Draw::hash),
            asker: self.maybe(|draw| draw.hash()[..16].try_into().unwrap()),
        }
    }

    fn transfer(&mut self) -> MeasuredTransfer {
        MeasuredTransfer { bytes: self.real(), seconds: self.real() }
    }

    pub fn call_outcome(&mut self) -> CallOutcome {
        CallOutcome {
            grant: self.number(),
            server: self.text(),
            sent: self.maybe(Draw::transfer),
            returned: self.maybe(Draw::transfer),
            host: self.text(),
            site: self.text(),
            failure: self.maybe(|draw| draw.number32() as u16),
            continues: self.truth(),
        }
    }

    pub fn place_question(&mut self) -> PlaceQuestion {
        PlaceQuestion {
            name: self.text(),
            contract: self.hash(),
            sizes: self.number(),
            amount: self.real(),
            processors: self.number32(),
            bytes_in: self.real(),
            bytes_out: self.real(),
            host: self.text(),
            site: self.text(),
            deadline_s: self.maybe(Draw::real),
            without: self.some(3, Draw::text),
            calls: self.number32(),
            explains: self.truth(),
            outcomes: self.some(3, Draw::call_outcome),
            passed: self.some(3, Draw::text),
        }
    }

    fn placed_server(&mut self) -> PlacedServer {
        PlacedServer {
            name: self.text(),
            addresses: self.some(3, Draw::text),
            host: self.text(),
            wait_s: self.real(),
            send_s: self.real(),
            run_s: self.real(),
            return_s: self.real(),
            error_s: self.real(),
            calls: self.number32(),
            note: self.text(),
            excluded: self.truth(),
            is_self: self.truth(),
            leads: self.truth(),
        }
    }

    pub fn place_answer(&mut self) -> PlaceAnswer {
        PlaceAnswer {
            grant: self.number(),
            valid_us: self.number(),
            servers: self.some(4, Draw::placed_server),
            metaservers: self.some(3, Draw::text),
            passed: self.some(3, Draw::text),
        }
    }

    pub fn server_state(&mut self) -> ServerState {
        let presence = match self.below(5) {
            0 => ServerPresence::Up,
            1 => ServerPresence::Suspect,
            2 => ServerPresence::Gone,
            3 => ServerPresence::Draining,
            _ => ServerPresence::Unreachable,
        };
        ServerState {
            name: self.text(),
            presence,
            addresses: self.some(3, Draw::text),
            processors: self.number32(),
            busy: self.real(),
            calls: self.number(),
            load: self.real(),
            routines: self.number(),
            silent_us: self.number(),
            sends_at: self.maybe(Draw::real),
            returns_at: self.maybe(Draw::real),
            latency_s: self.maybe(Draw::real),
            product: self.text(),
            note: self.text(),
            is_self: self.truth(),
            leads: self.truth(),
        }
    }
}
