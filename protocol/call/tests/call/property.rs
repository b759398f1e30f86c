//! Two ends, random calls in both directions, random cuts of the stream, random cancels: every call
//! ends exactly once at both ends, every byte is where it belongs, and no channel is left over
//! (spec/call.md, section 7).

use farcall_base::{CallId, ChannelId, Random, SeededRandom};
use farcall_wire::{Argument, Open};

use crate::owner::Owner;

struct World {
    random: SeededRandom,
    ends: [Owner; 2],
    opened: [Vec<CallId>; 2],
    cancels: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = SeededRandom::new(seed);
        let mut credit = || [0, 100, 3000, 1 << 30][(random.next() % 4) as usize];
        let ends = [Owner::new(true, credit()), Owner::new(false, credit())];
        World { random, ends, opened: [vec![], vec![]], cancels: 0 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next() % end
    }

    fn arguments(&mut self) -> Vec<Argument> {
        let mut argument = || match self.below(6) {
            0 => Argument::Absent,
            1 => Argument::Null,
            2 => Argument::Inline(vec![7; self.below(50) as usize].into()),
            3 => Argument::Blocks(Some(self.below(20_000))),
            _ => Argument::Blocks(Some(self.below(40))),
        };
        let count = argument_count(argument());
        (0..count).map(|_| argument()).collect()
    }

    fn open(&mut self, end: usize) {
        if self.ends[end].connection.peer().is_none() {
            return;
        }
        let mut id = [0; 16];
        (id[0], id[1]) = (self.opened[end].len() as u8, end as u8);
        let open = Open {
            result_credit: [None, Some(0), Some(700)][self.below(3) as usize],
            ..Open::new(CallId(id), "r".into(), [0; 32], self.arguments())
        };
        if self.ends[end].open(open).is_some() {
            self.opened[end].push(CallId(id));
        }
    }

    fn one_of(&mut self, mut channels: Vec<ChannelId>) -> Option<ChannelId> {
        match channels.len() as u64 {
            0 => None,
            count => Some(channels.swap_remove(self.below(count) as usize)),
        }
    }

    /// Some bytes of what `end` put on the stream reach the other.
    fn transfer(&mut self, end: usize, most: u64) {
        let waiting = self.ends[end].out.len() as u64;
        let count = if waiting == 0 { 0 } else { 1 + self.below(waiting.min(most)) };
        let bytes: Vec<u8> = self.ends[end].out.drain(..count as usize).collect();
        self.ends[1 - end].receive(&bytes).unwrap();
    }

    fn grant(&mut self, end: usize, total: u64) {
        let owner = &mut self.ends[end];
        let pending = |call: &crate::owner::Call| !call.ended;
        let theirs =
            owner.theirs.iter().filter(|(_, call)| pending(call)).map(|(channel, _)| *channel);
        for channel in owner.ours.keys().copied().chain(theirs).collect::<Vec<_>>() {
            owner.connection.grant(channel, total);
        }
    }

    /// Ends one of the peer's calls; before its arguments are there, that is a refusal.
    fn serve(&mut self, end: usize, only_complete: bool) -> bool {
        let owner = &self.ends[end];
        let open = owner
            .theirs
            .iter()
            .filter(|(_, call)| !call.ended && (call.complete || !only_complete));
        let Some(channel) = self.one_of(open.map(|(channel, _)| *channel).collect()) else {
            return false;
        };
        let results = self.arguments();
        self.ends[end].respond(channel, results);
        true
    }

    fn act(&mut self) {
        let end = self.below(2) as usize;
        match self.below(20) {
            0..3 => self.open(end),
            3..9 => drop(self.ends[end].transmit()),
            9..15 => self.transfer(end, 3000),
            15 => {
                let total = self.below(30_000);
                self.grant(end, total);
            }
            16 => {
                let ours = self.ends[end].ours.keys().copied().collect();
                if let Some(channel) = self.one_of(ours) {
                    self.ends[end].connection.cancel(channel);
                    self.cancels += 1;
                }
            }
            17 => drop(self.serve(end, false)),
            _ => drop(self.serve(end, true)),
        }
    }

    /// Lets everything run out, without new calls.
    fn settle(&mut self) {
        let mut busy = true;
        while busy {
            busy = false;
            for end in [0, 1] {
                self.grant(end, 1 << 40);
                busy |= self.serve(end, true);
                busy |= self.ends[end].transmit() || !self.ends[end].out.is_empty();
                self.transfer(end, u64::MAX);
            }
        }
    }
}

fn argument_count(drawn: Argument) -> usize {
    match drawn {
        Argument::Inline(bytes) => bytes.len() % 6,
        _ => 2,
    }
}

#[test]
fn every_call_ends_once_at_both_ends() {
    let mut calls = 0;
    let mut cancels = 0;
    for seed in 0..200 {
        let mut world = World::new(seed);
        for _ in 0..600 {
            world.act();
        }
        world.settle();
        for end in [0, 1] {
            let sorted = |list: &Vec<CallId>| {
                let mut list = list.clone();
                list.sort();
                list
            };
            let opened = sorted(&world.opened[end]);
            assert_eq!(sorted(&world.ends[end].finished), opened, "seed {seed}: at the opener");
            assert_eq!(sorted(&world.ends[1 - end].served), opened, "seed {seed}: at the acceptor");
            assert_eq!(
                world.ends[end].connection.channels_open(),
                0,
                "seed {seed}: a channel is left over"
            );
            assert_eq!(world.ends[end].connection.waiting_bytes(), 0, "seed {seed}");
            calls += opened.len();
        }
        cancels += world.cancels;
    }
    assert!(calls > 4_000 && cancels > 1_000, "{calls} calls and {cancels} cancels prove little");
}
