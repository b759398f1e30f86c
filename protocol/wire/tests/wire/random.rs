//! Random messages from a seed: every optional key present or not, every form of argument.

use farcall_base::{CallId, DataId, ObjectId, Random, SeededRandom};
use farcall_wire::*;

use crate::body::Body;

/// Draws messages.
pub struct Draw(pub SeededRandom);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(SeededRandom::new(seed))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next() % end
    }

    /// A number of any magnitude: CBOR writes small ones in fewer bytes.
    pub fn number(&mut self) -> u64 {
        let shift = self.below(64);
        self.0.next() >> shift
    }

    pub fn number32(&mut self) -> u32 {
        (self.number() >> 32) as u32 >> self.below(32)
    }

    pub fn bytes(&mut self, end: u64) -> Vec<u8> {
        (0..self.below(end)).map(|_| self.0.next() as u8).collect()
    }

    pub fn text(&mut self) -> String {
        let letters = ['a', '/', '_', '9', ' ', '"', '\0', '\u{e9}', '\u{65e5}', '\u{1f980}'];
        (0..self.below(30)).map(|_| letters[self.below(10) as usize]).collect()
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Draw) -> T) -> Option<T> {
        (self.below(2) == 1).then(|| make(self))
    }

    pub fn some<T>(&mut self, end: u64, mut make: impl FnMut(&mut Draw) -> T) -> Vec<T> {
        (0..self.below(end)).map(|_| make(self)).collect()
    }

    pub fn hash(&mut self) -> [u8; 32] {
        [self.0.bytes16(), self.0.bytes16()].concat().try_into().unwrap()
    }

    fn attribute(&mut self) -> Attribute {
        Attribute { name: self.text(), critical: self.below(2) == 1, value: self.bytes(40) }
    }

    pub fn argument(&mut self) -> Argument {
        match self.below(8) {
            0 => Argument::Absent,
            1 => Argument::Null,
            2 => Argument::Inline(self.bytes(300).into()),
            3 => Argument::Blocks(self.maybe(Draw::number)),
            4 => Argument::Shared(self.number32(), self.number(), self.number()),
            5 => Argument::Data(DataId(self.0.bytes16())),
            6 => Argument::Url(self.text()),
            _ => Argument::Texts(self.some(4, |draw| draw.maybe(|draw| draw.bytes(9).into()))),
        }
    }

    fn limits(&mut self) -> HelloLimits {
        HelloLimits {
            control_bytes_max: self.number32(),
            data_bytes_max: self.number32(),
            channels_max: self.number32(),
            initial_credit: self.number(),
            call_bytes_max: self.number(),
            segments_max: self.number32(),
        }
    }

    fn hello(&mut self) -> Hello {
        Hello {
            role: [Role::Client, Role::Server, Role::Executable][self.below(3) as usize],
            byte_order: [ByteOrder::Little, ByteOrder::Big][self.below(2) as usize],
            product: self.text(),
            features: self.some(4, Draw::text),
            limits: self.limits(),
            host: self.text(),
            principal: self.maybe(Draw::text),
            token: self.maybe(|draw| draw.bytes(33)),
            attributes: self.some(3, Draw::attribute),
        }
    }

    fn open(&mut self) -> Open {
        Open {
            call: CallId(self.0.bytes16()),
            routine: self.text(),
            contract: self.hash(),
            arguments: self.some(12, Draw::argument),
            wanted: self.maybe(|draw| draw.some(12, Draw::argument)),
            remaining_us: self.maybe(Draw::number),
            result_credit: self.maybe(Draw::number),
            parent: self.maybe(|draw| draw.bytes(17).into()),
            principal: self.maybe(Draw::text),
            trace: self.maybe(Draw::text),
            attributes: self.maybe(|draw| draw.some(3, Draw::attribute)),
        }
    }

    pub fn failure(&mut self) -> Failure {
        Failure {
            kind: self.number32() as u16,
            operation: self.text(),
            message: self.text(),
            fix: self.maybe(Draw::text),
            context: self.some(4, |draw| (draw.text(), draw.text())),
            retryable: self.below(2) == 1,
        }
    }

    fn result(&mut self) -> CallResult {
        CallResult {
            failure: self.maybe(Draw::failure),
            results: self.some(12, Draw::argument),
            times: CallTimes {
                queued_ns: self.number(),
                started_ns: self.number(),
                finished_ns: self.number(),
                processor_ns: self.maybe(|draw| draw.number()),
            },
            attributes: self.maybe(|draw| draw.some(3, Draw::attribute)),
        }
    }

    pub fn interface(&mut self) -> InterfaceReply {
        InterfaceReply {
            name: self.text(),
            interface: self.bytes(200),
            contract: self.hash(),
            is_placed: self.maybe(|draw| draw.below(2) == 1),
        }
    }

    fn request(&mut self) -> Request {
        match self.below(23) {
            19 => Request::Transaction(self.transaction_request()),
            20 => Request::Promise(self.some(4, Draw::promise), self.number()),
            21 => Request::Break(self.some(4, Draw::data_id), self.failure()),
            22 => Request::Pull(Box::new(self.pull())),
            17 => Request::Data(self.some(4, Draw::data_id)),
            18 => Request::DeleteData(self.some(4, Draw::data_id)),
            10 => Request::Report(Box::new(self.server_report())),
            11 => Request::State(self.state_question()),
            12 => Request::Place(Box::new(self.place_question())),
            13 => Request::Outcomes(self.some(3, Draw::call_outcome)),
            14 => Request::Servers(self.text(), self.text()),
            15 => Request::Relay(self.text()),
            16 => Request::DialBack,
            0 => Request::Interface(self.text()),
            1 => Request::List,
            2 => Request::Load(Publication {
                module: self.bytes(200),
                libraries: self.some(4, Draw::text),
                object: self.maybe(Draw::text),
            }),
            3 => Request::Administer(self.order()),
            4 => Request::Status,
            5 => Request::Nest(CallId(self.0.bytes16())),
            6 => Request::Hold(Box::new(self.hold())),
            7 => Request::Forget(CallId(self.0.bytes16())),
            8 => Request::Kept,
            _ => Request::Release(ObjectId(self.0.bytes16()), self.number32()),
        }
    }

    fn resources(&mut self) -> AskedResources {
        AskedResources {
            cores: self.maybe(Draw::number32),
            memory_bytes: self.maybe(Draw::number),
            gpus: self.maybe(Draw::number32),
            wall_time_us: self.maybe(Draw::number),
        }
    }

    fn hold(&mut self) -> HoldRequest {
        HoldRequest {
            name: self.text(),
            first: ObjectId(self.0.bytes16()),
            count: self.number32(),
            lease_us: self.number(),
            start_us: self.maybe(Draw::number),
            detached: self.maybe(|draw| draw.below(2) == 1),
            ranks: self.maybe(Draw::number32),
            resources: self.maybe(Draw::resources),
        }
    }

    fn job(&mut self) -> JobStatus {
        JobStatus {
            number: self.number(),
            launcher: self.text(),
            id: self.text(),
            state: self.text(),
            text: self.text(),
            slots: self.number32(),
            running: self.number32(),
            hosts: self.some(3, Draw::text),
            age_us: self.number(),
        }
    }

    fn order(&mut self) -> Order {
        match self.below(9) {
            8 => Order::EndCalls(self.some(4, |draw| CallId(draw.0.bytes16()))),
            7 => Order::Files(self.published_files()),
            5 => Order::EndJob(self.number()),
            6 => Order::Piece(PublishedPiece {
                publication: self.0.bytes16(),
                name: self.text(),
                content: self.text().into_bytes(),
            }),
            0 => Order::Publish(self.text()),
            1 => Order::Withdraw(self.text()),
            2 => Order::Reload(self.maybe(Draw::text)),
            3 => Order::Drain(self.maybe(Draw::number)),
            _ => Order::Delete(self.some(4, |draw| ObjectId(draw.0.bytes16()))),
        }
    }

    fn published_files(&mut self) -> PublishedFiles {
        let file = |draw: &mut Draw| PublishedFile {
            name: draw.text(),
            content: draw.text().into_bytes(),
        };
        PublishedFiles {
            known_as: self.maybe(Draw::text),
            publication: self.maybe(|draw| draw.0.bytes16()),
            files: self.some(3, file),
            stays: self.below(2) == 0,
            there: self.maybe(Draw::text),
        }
    }

    fn report(&mut self) -> ModuleReport {
        ModuleReport {
            module: self.text(),
            routines: self.below(1000) as u32,
            warnings: self.text(),
            failure: self.maybe(Draw::failure),
        }
    }

    fn reply(&mut self) -> Reply {
        match self.below(16) {
            15 => Reply::Transaction(self.transaction_reply()),
            14 => Reply::Data(self.some(3, Draw::data_status)),
            12 => Reply::Relay(RelayTicket {
                token: RelayToken(self.hash()),
                addresses: self.some(3, Draw::text),
            }),
            13 => Reply::DialBack(self.some(3, |draw| RelayToken(draw.hash()))),
            8 => Reply::Reported(self.report_answer()),
            9 => Reply::State(Box::new(self.server_report())),
            10 => Reply::Placed(Box::new(self.place_answer())),
            11 => Reply::Servers(self.some(3, Draw::server_state)),
            0 => Reply::Failed(self.failure()),
            1 => Reply::Interface(self.interface()),
            2 => Reply::List(self.some(4, Draw::interface)),
            3 => Reply::Done,
            4 => Reply::Modules(self.some(3, Draw::report)),
            5 => Reply::Loaded(Loaded {
                asks: self.below(2) == 1,
                threads: (self.below(2) == 1).then_some(true),
            }),
            6 => Reply::Kept(self.some(3, Draw::kept_call)),
            _ => Reply::Status(Box::new(self.status())),
        }
    }

    fn status(&mut self) -> Status {
        Status {
            product: self.text(),
            up_ns: self.number(),
            draining: self.below(2) == 1,
            calls: self.some(3, Draw::open_call),
            calls_open: self.number(),
            uses: self.some(3, Draw::usage),
            modules: self.some(3, Draw::module_status),
            totals: self.maybe(|draw| Totals {
                clients: draw.number(),
                stopped: draw.number(),
                ..Totals::default()
            }),
            clock_us: self.maybe(Draw::number),
            kept: self.maybe(|draw| draw.some(3, Draw::kept_call)),
            jobs: self.maybe(|draw| draw.some(3, Draw::job)),
            own: self.maybe(|draw| draw.below(2) == 1),
            processors: self
                .maybe(|draw| ProcessorsStatus { max: draw.number() as u32, taken: draw.number() }),
            objects: self.some(3, Draw::object),
            objects_held: self.number(),
        }
    }

    fn object(&mut self) -> ObjectStatus {
        use ObjectState::*;
        ObjectStatus {
            id: ObjectId(self.0.bytes16()),
            principal: self.text(),
            name: self.text(),
            state: [Starting, Idle, Busy, Ending, Ended][self.below(5) as usize],
            calls: self.number(),
            waiting: self.number(),
            age_ns: self.number(),
            lease_left_ns: self.maybe(Draw::number),
            pid: self.maybe(Draw::number32),
            reason: self.maybe(Draw::text),
        }
    }

    fn kept_call(&mut self) -> KeptCall {
        let states =
            [KeptState::Waiting, KeptState::Running, KeptState::Returned, KeptState::Failed];
        KeptCall {
            id: CallId(self.0.bytes16()),
            routine: self.text(),
            state: states[self.below(4) as usize],
            bytes: self.number(),
            left_us: self.number(),
            durable: self.below(2) == 1,
            principal: self.text(),
            note: self.maybe(|draw| KeptNote {
                submitted_us: draw.number(),
                arguments: draw.text(),
                label: draw.text(),
            }),
        }
    }

    fn resume(&mut self) -> Resume {
        Resume {
            call: CallId(self.0.bytes16()),
            next_sequence: self.number32(),
            attributes: self.maybe(|draw| draw.some(3, Draw::attribute)),
            describe: self.maybe(|draw| draw.below(2) == 1),
            interface: self.maybe(Draw::interface),
            arguments: self.maybe(|draw| draw.some(12, Draw::argument)),
        }
    }

    fn open_call(&mut self) -> OpenCall {
        let stages = [Stage::Arriving, Stage::Waiting, Stage::Running, Stage::Leaving];
        OpenCall {
            id: CallId(self.0.bytes16()),
            principal: self.text(),
            peer: self.text(),
            routine: self.text(),
            stage: stages[self.below(4) as usize],
            age_ns: self.number(),
        }
    }

    fn usage(&mut self) -> Use {
        Use {
            principal: self.text(),
            routine: self.text(),
            failed: self.some(3, |draw| (draw.number32() as u16, draw.number())),
            durations: self.some(17, Draw::number),
            bytes_in: self.number(),
            ..Use::default()
        }
    }

    fn module_status(&mut self) -> ModuleStatus {
        ModuleStatus {
            module: self.text(),
            waiting: self.number(),
            busy: self.number(),
            ..ModuleStatus::default()
        }
    }

    fn notice(&mut self) -> Notice {
        match self.below(5) {
            0 => Notice::Queued(self.number32()),
            1 => Notice::Started,
            3 => Notice::Kept,
            2 => Notice::Progress(self.number32() as f64 / 7.0, self.text()),
            _ => Notice::Output(self.below(256) as u8, self.bytes(100)),
        }
    }

    /// Any frame's body.
    pub fn body(&mut self) -> Body {
        match self.below(15) {
            0 => Body::Hello(self.hello()),
            1 => Body::Goodbye(Goodbye { failure: self.maybe(Draw::failure) }),
            2 => Body::Request(self.request()),
            3 => Body::Reply(self.reply()),
            4 => Body::Open(self.open()),
            5 => Body::Data(self.bytes(500)),
            6 => Body::Window(Window { credit: self.number(), next_sequence: self.number32() }),
            7 => Body::Result(self.result()),
            8 => Body::Notice(self.notice()),
            9 => Body::Share(Share { segment: self.number32(), bytes: self.number() }),
            10 => Body::Unshare(self.number32()),
            11 => Body::Resume(self.resume()),
            12 => Body::Empty(FrameKind::Ping),
            13 => Body::Empty(FrameKind::Pong),
            _ => Body::Empty(FrameKind::Cancel),
        }
    }
}
