//! Random conversations, with memory that is shared. The seed is in the message of a failure.

use farcall_base::{Random, SeededRandom};

use super::Play;

const CLIENTS: u64 = 3;

/// What executables say of the calls that they have begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Honest,
    Lying,
}

/// One conversation and its chances.
struct Chat {
    play: Play,
    random: SeededRandom,
    now: u64,
    calls: u64,
    /// The connection of each client; a client that goes comes back under a new number.
    clients: Vec<u64>,
    connected: u64,
}

impl Chat {
    fn new(seed: u64, ends: Ends) -> Chat {
        let queue = farcall_placement::queue::NAMES[(seed % 5) as usize];
        let mut play = Play::new(&format!(
            "! connections_max=20 executables_max=2 calls_max=6 objects_max=4 \
            objects_of_one_max=4 queue={queue}"
        ));
        play.peers.forge(ends == Ends::Lying);
        let mut chat = Chat {
            play,
            random: SeededRandom::new(seed),
            now: 0,
            calls: 0,
            clients: Vec::new(),
            connected: 0,
        };
        for _ in 0..CLIENTS {
            let client = chat.connect();
            chat.clients.push(client);
        }
        chat.happen("list 1");
        chat.happen("listing");
        chat.happen("ask 1 back/apply");
        chat.happen("resolve back/apply");
        chat
    }

    fn happen(&mut self, event: &str) {
        self.now += 1;
        self.play.happen(self.now, event);
        self.play.memory.said.clear();
        self.play.happen(self.now, "tick");
        let forgotten = self.play.server.state().forgotten_by_order();
        assert!(forgotten.is_empty(), "the order forgets {forgotten:?} after {event}");
    }

    fn connect(&mut self) -> u64 {
        self.connected += 1;
        let user = if self.connected.is_multiple_of(3) { " eve" } else { "" };
        let keeps = if self.connected.is_multiple_of(2) { " stays keeps" } else { " stays" };
        self.happen(&format!("connect {}{user} calls-back{keeps}", self.connected));
        self.happen(&format!("share {} 7 16384", self.connected));
        self.connected
    }

    fn draw(&mut self, below: usize) -> usize {
        (self.random.next() % below as u64) as usize
    }

    fn pick(&mut self, events: &[String]) -> bool {
        let Some(event) = (!events.is_empty()).then(|| events[self.draw(events.len())].clone())
        else {
            return false;
        };
        self.happen(&event);
        true
    }

    fn step(&mut self) {
        let (must, may) = self.play.peers.possible();
        match self.draw(20) {
            16.. => self.data(),
            0..5 => self.open(""),
            5 => self.call_object(),
            6..12 => drop(self.pick(&must)),
            12 => self.hold_or_release(),
            13 | 14 => drop(self.pick(&may)),
            _ => {
                let index = self.draw(self.clients.len());
                self.happen(&format!("gone {}", self.clients[index]));
                self.clients[index] = self.connect();
            }
        }
    }

    /// Objects that somebody may have: of the last holds.
    fn object(&mut self) -> String {
        format!("{}{}", self.letter(), self.draw(3))
    }

    fn letter(&mut self) -> char {
        char::from(b'a' + self.draw(4) as u8)
    }

    fn hold_or_release(&mut self) {
        let index = self.draw(self.clients.len());
        let client = self.clients[index];
        if self.draw(3) == 0 {
            let object = self.object();
            let count = 1 + self.draw(3);
            return self.happen(&format!("release {client} {object} {count}"));
        }
        let module = ["m", "other"][self.draw(2)];
        let letter = self.letter();
        let count = 1 + self.draw(2);
        let more = ["", " start 9", " detached", " lease 9"][self.draw(4)];
        self.happen(&format!("object {client} {module}/scale {letter}0 {count}{more}"));
        while !self.play.peers.holds.is_empty() {
            let answer = if self.draw(8) == 0 { "none" } else { "" };
            self.happen(&format!("held {module}/scale{answer}"));
        }
    }

    fn call_object(&mut self) {
        let on = format!(" on {}", self.object());
        self.open(&on);
    }

    /// Ids are few, so that data is named before it is put, twice, and by others.
    fn data(&mut self) {
        self.calls += 1;
        let index = self.draw(self.clients.len());
        let client = self.clients[index];
        let call = self.calls;
        let id = 101 + self.draw(6);
        let other = 101 + self.draw(6);
        let lease = ["", "", " leased 1", " leased 50"][self.draw(4)];
        let small = self.draw(3) == 0;
        let (extent, bytes) = [(1000, "b8000"), (2, "z16")][usize::from(small)];
        let event = match self.draw(8) {
            0 | 1 => {
                format!(
                    "open {client} c{call} data:double:1:row l{extent} {bytes} | - d{id}{lease}"
                )
            }
            2 => format!("open {client} c{call} m/scale i{extent} {bytes} | - d{id}{lease}"),
            3 => format!("open {client} c{call} m/scale i1000 d{id} | - d{other}{lease}"),
            4 => format!("open {client} c{call} m/scale i1000 d{id} | - b in 9"),
            5 => format!("resume {client} c{call} described #{id}"),
            6 => format!("data {client}"),
            _ => format!("delete-data {client} {id}"),
        };
        self.happen(&event);
    }

    fn open(&mut self, on: &str) {
        self.calls += 1;
        let index = self.draw(self.clients.len());
        let client = self.clients[index];
        let module = ["m", "other"][self.draw(2)];
        let array = ["z8000", "b8000", "b8000 | - -", "s7,0,8000 | - s7,0,8000"][self.draw(4)];
        let time = if self.draw(4) == 0 { " in 9" } else { "" };
        let asking = if on.is_empty() && self.draw(4) == 0 { " asking cores=2" } else { "" };
        if on.is_empty() && self.draw(4) == 0 {
            // With functions, of which the routine calls some.
            let (array, wanted) = array.split_once(" | ").unwrap_or((array, ""));
            let wanted = if wanted.is_empty() { String::new() } else { format!(" | {wanted} - -") };
            return self.happen(&format!(
                "open {client} c{} back/apply i1000 {array} - -{wanted}{time}{asking}",
                self.calls
            ));
        }
        self.happen(&format!(
            "open {client} c{} {module}/scale i1000 {array}{time}{on}{asking}",
            self.calls
        ));
    }

    /// Everything that must happen does; then no call may be left, and when all have gone, nothing
    /// at all.
    fn end(mut self) {
        for _ in 0..10_000 {
            let (must, _) = self.play.peers.possible();
            if !self.pick(&must) {
                break;
            }
        }
        assert!(self.play.peers.calls_are_over(), "a call never ends");
        for client in self.clients.clone() {
            self.happen(&format!("gone {client}"));
        }
        // Leases of a minute are over as well, and what they kept ends.
        self.now += 100_000;
        self.happen("tick");
        while let (must, _) = self.play.peers.possible()
            && self.pick(&must)
        {}
        assert!(self.play.server.state().objects.is_empty(), "an object never ends");
        self.play.peers.check_over(&self.play.server, &self.play.memory);
        let left = self.play.server.state().left_over();
        assert!(left.is_empty(), "the server keeps {left:?}");
    }
}

#[test]
fn fuzz_of_callbacks_that_nobody_answers_takes_bounded_memory() {
    // One client that answers nothing, and one that reads nothing.
    for deaf in [false, true] {
        let mut play = Play::new("! executables_max=1");
        let events = [
            "connect 1 calls-back",
            "ask 1 back/apply",
            "resolve back/apply",
            "open 1 a back/apply i1 z8 - -",
        ];
        for event in
            events.into_iter().chain(["start-ok 3", "load-ok 3"]).chain(deaf.then_some("deafen 1"))
        {
            play.happen(1, event);
        }
        for number in 0..250 {
            play.happen(2, &format!("calls-back 3 k{number} 2 i1000 b8000 -"));
            assert!(
                play.server.state().callbacks.values().count() <= 64
                    && play.memory.taken.len() <= 65
            );
        }
        let refused =
            play.memory.said.iter().filter(|said| said.contains("too many open callbacks")).count();
        assert_eq!((play.server.state().callbacks.values().count(), refused), (64, 250 - 64));
        // All of it ends with the call.
        play.happen(3, "return 3 - z8 - -");
        assert!(play.server.state().callbacks.is_empty() && play.memory.taken.is_empty());
        play.happen(4, "hear 1");
        play.happen(5, "gone 1");
        let left = play.server.state().left_over();
        assert!(left.is_empty(), "the server keeps {left:?}");
    }
}

fn hold_promises(rounds: u64, ends: Ends) {
    for seed in 0..farcall_golden::fuzz_rounds(rounds) {
        let run = std::panic::AssertUnwindSafe(|| {
            let mut chat = Chat::new(seed, ends);
            (0..120).for_each(|_| chat.step());
            chat.end();
        });
        assert!(std::panic::catch_unwind(run).is_ok(), "seed {seed} fails");
    }
}

#[test]
fn fuzz_of_conversations_keeps_all_promises() {
    hold_promises(300, Ends::Honest);
}

/// Executables that take calls ahead of time and lie about which of them have begun: calls may fail
/// by that, or run again, but each ends, and nothing is left.
#[test]
fn fuzz_of_turnstiles_loses_no_call() {
    hold_promises(300, Ends::Lying);
}
