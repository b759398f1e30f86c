//! The server of a script: a connection, and what the script has it say.

use farcall_base::{CallId, ChannelId, Error, ErrorKind};
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_wire::kept::instance;
use farcall_wire::{
    Argument, ByteOrder, CALLBACKS, CallResult, CallTimes, Hello, HelloLimits, InterfaceReply,
    Notice, Open, RESUME, Reply, Resume, Role, callback_attribute,
};

/// The other end.
pub struct Server {
    pub connection: Connection,
    /// Calls in the order in which they came here: channel and id.
    calls: Vec<(ChannelId, CallId)>,
    questions: Vec<ChannelId>,
}

/// A greeting.
pub fn hello(role: Role, product: &str, features: &[&str]) -> Hello {
    Hello {
        role,
        byte_order: ByteOrder::NATIVE,
        product: product.to_owned(),
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        limits: HelloLimits { channels_max: 8, ..HelloLimits::default() },
        host: String::new(),
        principal: None,
        token: None,
        attributes: Vec::new(),
    }
}

impl Server {
    /// One that has not greeted; `words` of a script say what is special about it.
    pub fn new(words: &[&str]) -> Server {
        let has = |word: &str| words.contains(&word);
        let features: &[&str] =
            if has("keeps-nothing") { &[CALLBACKS] } else { &[CALLBACKS, RESUME] };
        let mut hello = hello(Role::Server, "a server", features);
        hello.attributes.push(instance(if has("another-run") { [2; 16] } else { [1; 16] }));
        if has("other-byte-order") {
            hello.byte_order = match ByteOrder::NATIVE {
                ByteOrder::Little => ByteOrder::Big,
                ByteOrder::Big => ByteOrder::Little,
            };
        }
        let connection = Connection::new(Setup { hello, initiator: false, token: None });
        Server { connection, calls: Vec::new(), questions: Vec::new() }
    }

    /// The same server over another connection: calls that came before have their numbers still.
    pub fn remembering(mut self, before: &Server) -> Server {
        self.calls = before.calls.iter().map(|(_, id)| (ChannelId(0), *id)).collect();
        self
    }

    /// The n-th call that came, from 1 on.
    fn call(&self, word: &str) -> (ChannelId, CallId) {
        self.calls[word.parse::<usize>().unwrap() - 1]
    }

    /// Takes a frame; what it leads to.
    pub fn take(&mut self, transmit: &Transmit) -> Vec<String> {
        match transmit {
            Transmit::Control { header, body, .. } => {
                let mut header = *header;
                header.length = body.len() as u32;
                self.connection.handle_control(&header, body).unwrap();
            }
            Transmit::Data { header, .. } => {
                self.connection.place(header, 0).unwrap();
                self.connection.data_arrived(header, header.length).unwrap();
            }
        }
        let mut said = Vec::new();
        while let Some(event) = self.connection.poll_event() {
            said.extend(self.tell(event));
        }
        said
    }

    fn tell(&mut self, event: Event) -> Option<String> {
        Some(match event {
            Event::Ready(hello) => format!("greeted by {}", hello.product),
            Event::Requested(channel, request) => {
                self.questions.push(channel);
                format!("question {}: {request:?}", self.questions.len())
            }
            Event::Opened(channel, open) => {
                self.calls.push((channel, open.call));
                if let Some(Argument::Blocks(Some(bytes))) = open.arguments.first() {
                    self.connection.grant(channel, *bytes);
                }
                format!("call {} opened: {}", self.calls.len(), open.routine)
            }
            Event::ArgumentsComplete(_) => return None,
            Event::CancelRequested(channel) => {
                let index = self.calls.iter().position(|(of, _)| *of == channel).unwrap();
                format!("call {} is to end", index + 1)
            }
            Event::Resumed(channel, resume) => {
                self.calls.push((channel, resume.call));
                let first = self.calls.iter().position(|(_, id)| *id == resume.call).unwrap();
                let known = if first + 1 < self.calls.len() {
                    format!("call {} again", first + 1)
                } else {
                    "one by its id".into()
                };
                format!("call {} taken up: {known}", self.calls.len())
            }
            Event::Acknowledged(_) => "an outcome has come there".to_owned(),
            Event::Resulted(_, result) => match result.failure {
                Some(failure) => format!("the callback failed: {}", Error::from(failure)),
                None => "the callback returned".to_owned(),
            },
            Event::Left(_) => "the client has left".to_owned(),
            Event::Finished(_) | Event::Replied(..) | Event::Noticed(..) | Event::Agreed(..) => {
                return None;
            }
            Event::Shared(_) | Event::Unshared(_) => return None,
        })
    }

    /// What the script has it say.
    pub fn say(&mut self, words: &[&str]) {
        match words {
            ["answers", call] => self.respond(call, None, vec![]),
            ["answers", call, "nonsense"] => self.respond(call, None, vec![Argument::Null]),
            ["keeps", call] => assert!(self.connection.notice(self.call(call).0, &Notice::Kept)),
            ["runs", call] => assert!(self.connection.notice(self.call(call).0, &Notice::Started)),
            ["has", call] => {
                let (channel, id) = self.call(call);
                self.connection.agree(channel, &Resume::new(id));
            }
            ["describes", call, name] => self.describe(call, name),
            ["replies", question, reply] => self.reply(question, reply),
            ["calls-back", call, slot] => self.call_back(call, slot),
            ["leaves"] => self.connection.goodbye(Some(&Error::new(
                ErrorKind::ShuttingDown,
                "serve",
                "it is drained",
            ))),
            [verb, call, why @ ..] => self.fail(call, failure(verb, why)),
            _ => panic!("a server does not say {words:?}"),
        }
    }

    /// Takes a call up whose client does not know what it is.
    fn describe(&mut self, call: &str, name: &str) {
        let (channel, id) = self.call(call);
        let interface = InterfaceReply {
            name: name.to_owned(),
            interface: Vec::new(),
            contract: [0; 32],
            is_placed: None,
        };
        let resume =
            Resume { interface: Some(interface), arguments: Some(Vec::new()), ..Resume::new(id) };
        self.connection.agree(channel, &resume);
    }

    fn reply(&mut self, question: &str, reply: &str) {
        let channel = self.questions[question.parse::<usize>().unwrap() - 1];
        let unknown = Error::new(ErrorKind::NotFound, "find a routine", "no such routine");
        let reply = if reply == "done" { Reply::Done } else { Reply::Failed((&unknown).into()) };
        self.connection.reply(channel, &reply);
    }

    /// Calls the function that was passed in the slot of a call.
    fn call_back(&mut self, call: &str, slot: &str) {
        let (_, parent) = self.call(call);
        let open = Open {
            parent: Some(parent.0.to_vec().into()),
            attributes: Some(vec![callback_attribute(slot.parse().unwrap())]),
            ..Open::new(CallId([9; 16]), "f".to_owned(), [0; 32], Vec::new())
        };
        self.connection.open(&open).unwrap();
    }

    fn fail(&mut self, call: &str, error: Error) {
        self.respond(call, Some(error), vec![]);
    }

    fn respond(&mut self, call: &str, error: Option<Error>, results: Vec<Argument>) {
        let failure = error.map(|error| (&error).into());
        let times = CallTimes::default();
        self.connection
            .respond(self.call(call).0, &CallResult { failure, results, times, attributes: None });
    }
}

/// Why a call fails, or is not taken up.
fn failure(verb: &str, why: &[&str]) -> Error {
    let resuming = |kind, message: &str| Error::new(kind, "resume a call", message);
    match (verb, why) {
        ("fails", ["changed"]) => {
            Error::new(ErrorKind::InterfaceChanged, "call", "ask again").retryable()
        }
        ("fails", ["no-room"]) => Error::new(ErrorKind::LimitExceeded, "call", "no room"),
        ("fails", ["crashed"]) => Error::new(ErrorKind::RoutineCrashed, "call", "it crashed"),
        ("knows-not", []) => resuming(ErrorKind::NotFound, "no such call"),
        ("never-ran", []) => resuming(ErrorKind::NotFound, "never ran").retryable(),
        ("refuses", []) => resuming(ErrorKind::PermissionDenied, "not yours"),
        _ => panic!("a server does not say {verb} {why:?}"),
    }
}
