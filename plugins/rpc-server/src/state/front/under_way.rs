//! What clients have under way, in bytes: questions and calls that wait for an answer, and answers
//! that wait to be read.
//!
//! - A question counts for its connection's principal from the frame that asks it until its answer
//!   is queued, and the answer from then until it leaves.
//! - A connection is `paused` when its principal has more under way than it may, and nothing more
//!   is taken from it until half of that is given back: so waking everybody costs little for each
//!   answer.
//! - When all have more than there is for all, whoever has more than an equal part of it has too
//!   much.
//!
//! What is beyond these rules is small: a connection may always have [`LEAST`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{ConnectionId, Instant};
use farcall_call::Channels;
use slab::Slab;

/// Bytes that every connection may have under way: about what its buffers take anyway.
const LEAST: u64 = 4 << 10;
/// What a question takes beside the bytes of its frame, about: its channel, its entry in the
/// tables, a message to another plugin.
const QUESTION_BYTES: u64 = 1024;
/// Time after which a paused connection is read all the same that was answered nothing meanwhile:
/// behind its questions may lie what their answers wait for, a Cancel or an array.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// Large answers of one principal that are on their way at a time, however much memory there is.
const LARGES_MAX: u64 = 16;
/// Of its share, what a principal may have before more is refused: in times.
const REFUSED_FROM: u64 = 2;

/// A principal's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrincipalNumber(usize);

/// What one principal has.
struct Mine {
    name: String,
    connections: usize,
    bytes: u64,
    /// What it may have.
    share: u64,
    /// Of its connections, those with a large answer on its way, and those that wait for their turn
    /// to have one.
    larges: usize,
    waiting: BTreeSet<ConnectionId>,
}

/// What one connection has.
#[derive(Default)]
pub struct Asked {
    by_channel: Channels<u64>,
    questions: u64,
    answers: u64,
    /// It was paused for long: until its principal has no more than it may, it is read, and what is
    /// too much refused.
    pub presses: bool,
}

impl Asked {
    fn bytes(&self) -> u64 {
        self.questions + self.answers
    }
}

/// What all have.
#[derive(Default)]
pub struct UnderWay {
    max: u64,
    all: u64,
    principals: Slab<Mine>,
    numbers: BTreeMap<String, usize>,
    paused: BTreeMap<ConnectionId, Instant>,
    due: BTreeSet<(Instant, ConnectionId)>,
    /// Those that may be read again.
    woken: Vec<ConnectionId>,
}

impl UnderWay {
    /// Where all together may have so much.
    pub fn new(max: u64) -> UnderWay {
        UnderWay { max, ..UnderWay::default() }
    }

    /// A connection of a principal begins, who may have such a part of all.
    pub fn join(&mut self, name: &str, percent: u64) -> PrincipalNumber {
        let share = self.max / 100 * percent;
        let number = *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            let waiting = BTreeSet::new();
            self.principals.insert(Mine {
                name: name.to_owned(),
                connections: 0,
                bytes: 0,
                share,
                larges: 0,
                waiting,
            })
        });
        self.principals[number].connections += 1;
        PrincipalNumber(number)
    }

    /// It is over, and with it all that it had under way.
    pub fn leave(&mut self, connection: ConnectionId, number: PrincipalNumber, asked: &Asked) {
        self.resume(connection);
        self.give_back(number, asked.bytes());
        let mine = &mut self.principals[number.0];
        mine.connections -= 1;
        mine.waiting.remove(&connection);
        if mine.connections == 0 {
            let mine = self.principals.remove(number.0);
            self.numbers.remove(&mine.name);
        }
    }

    /// Connections of a principal.
    pub fn connections_of(&self, name: &str) -> usize {
        self.numbers.get(name).map_or(0, |number| self.principals[*number].connections)
    }

    /// The same by its number.
    pub fn connections(&self, number: PrincipalNumber) -> usize {
        self.principals[number.0].connections
    }

    /// A question came in a frame of so many bytes.
    pub fn asked(
        &mut self,
        (connection, number): (ConnectionId, PrincipalNumber),
        channel: farcall_base::ChannelId,
        frame_bytes: u64,
        asked: &mut Asked,
        now: Instant,
    ) {
        // What it says lies in the frame's copy and in what was made of it.
        let bytes = QUESTION_BYTES + 2 * frame_bytes;
        if let Some(before) = asked.by_channel.insert(channel, bytes) {
            asked.questions -= before;
            self.give_back(number, before);
        }
        asked.questions += bytes;
        self.take(number, bytes);
        if !asked.presses
            && asked.bytes() > LEAST
            && self.principals[number.0].bytes > self.bound(number)
        {
            self.pause(connection, now + LOOK_AFTER);
        }
    }

    /// It is answered.
    pub fn answered(
        &mut self,
        (connection, number): (ConnectionId, PrincipalNumber),
        channel: farcall_base::ChannelId,
        asked: &mut Asked,
    ) {
        let Some(bytes) = asked.by_channel.remove(channel) else { return };
        asked.questions -= bytes;
        self.give_back(number, bytes);
        // Not for each that is refused.
        asked.presses &= self.principals[number.0].bytes > self.bound(number);
        self.wake_if_little(connection, asked);
    }

    /// So many bytes of its answers wait to leave now.
    pub fn count_answers(
        &mut self,
        (connection, number): (ConnectionId, PrincipalNumber),
        bytes: u64,
        asked: &mut Asked,
    ) {
        let before = std::mem::replace(&mut asked.answers, bytes);
        if bytes > before {
            self.take(number, bytes - before);
        } else if before > bytes {
            self.give_back(number, before - bytes);
            self.wake_if_little(connection, asked);
        }
    }

    /// Whether nothing is to be taken from a connection.
    pub fn is_paused(&self, connection: ConnectionId) -> bool {
        !self.paused.is_empty() && self.paused.contains_key(&connection)
    }

    /// Whether what it asks is refused: it was read although it has too much under way.
    pub fn is_too_much(&self, number: PrincipalNumber, asked: &Asked) -> bool {
        let most = self.bound(number).saturating_mul(REFUSED_FROM);
        asked.presses && asked.bytes() > LEAST && self.principals[number.0].bytes > most
    }

    /// What a principal may have now.
    pub fn bound(&self, number: PrincipalNumber) -> u64 {
        let share = self.principals[number.0].share;
        if self.all > self.max { share.min(self.max / self.principals.len() as u64) } else { share }
    }

    /// When one of those that are paused is looked at.
    pub fn next_look(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// One that has been paused for long enough.
    pub fn look(&mut self, now: Instant) -> Option<ConnectionId> {
        let (_, connection) = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.resume(connection);
        Some(connection)
    }

    /// Those that may be read again.
    pub fn take_woken(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.woken)
    }

    /// Whether a connection may be given a large answer, which may take so many bytes; otherwise it
    /// waits for its turn.
    pub fn begin_large(
        &mut self,
        connection: ConnectionId,
        number: PrincipalNumber,
        bytes_max: u64,
    ) -> bool {
        let mine = &mut self.principals[number.0];
        let most = (mine.share / bytes_max.max(1)).clamp(1, LARGES_MAX);
        let may = (mine.larges as u64) < most;
        if may {
            mine.larges += 1;
            mine.waiting.remove(&connection);
        } else {
            mine.waiting.insert(connection);
        }
        may
    }

    /// A large answer has left, or its connection is gone; whose turn it is now.
    pub fn end_large(&mut self, number: PrincipalNumber) -> Option<ConnectionId> {
        // The last connection of its principal took the place with it.
        let mine = self.principals.get_mut(number.0)?;
        mine.larges -= 1;
        mine.waiting.pop_first()
    }

    /// Bytes under way.
    pub fn bytes(&self) -> u64 {
        self.all
    }

    fn take(&mut self, number: PrincipalNumber, bytes: u64) {
        self.all += bytes;
        self.principals[number.0].bytes += bytes;
    }

    fn give_back(&mut self, number: PrincipalNumber, bytes: u64) {
        let mine = &mut self.principals[number.0];
        let half = mine.share / 2;
        let half_of_all = self.max / 2;
        let falls = |before: u64, half: u64| before >= half && before - bytes < half;
        let wakes = falls(mine.bytes, half) || falls(self.all, half_of_all);
        mine.bytes -= bytes;
        self.all -= bytes;
        if wakes && !self.paused.is_empty() {
            self.due.clear();
            self.woken.extend(std::mem::take(&mut self.paused).into_keys());
        }
    }

    /// One whose principal's other connections have much goes on when it has little itself.
    fn wake_if_little(&mut self, connection: ConnectionId, asked: &Asked) {
        if asked.bytes() <= LEAST && self.resume(connection) {
            self.woken.push(connection);
        }
    }

    fn pause(&mut self, connection: ConnectionId, until: Instant) {
        if let Entry::Vacant(place) = self.paused.entry(connection) {
            place.insert(until);
            self.due.insert((until, connection));
        }
    }

    fn resume(&mut self, connection: ConnectionId) -> bool {
        if self.paused.is_empty() {
            return false;
        }
        let until = self.paused.remove(&connection);
        until.is_some_and(|until| self.due.remove(&(until, connection)))
    }
}

#[cfg(test)]
mod tests {
    use farcall_base::ChannelId;

    use super::*;

    const MAX: u64 = 1 << 20;

    /// Asks until the connection is paused; how often.
    fn flood(all: &mut UnderWay, who: (ConnectionId, PrincipalNumber), asked: &mut Asked) -> u32 {
        let first = asked.by_channel.len() as u32;
        let mut channel = first;
        while !all.is_paused(who.0) && !all.is_too_much(who.1, asked) {
            all.asked(who, ChannelId(channel), 0, asked, Instant::default());
            channel += 1;
        }
        channel - first
    }

    #[test]
    fn a_principal_is_paused_at_its_share_and_goes_on_at_half_of_it() {
        let mut all = UnderWay::new(MAX);
        let anna = all.join("anna", 50);
        let one = (ConnectionId(1), anna);
        let two = (ConnectionId(2), all.join("anna", 50));
        let mut first = Asked::default();
        let mut second = Asked::default();
        let count = flood(&mut all, one, &mut first);
        assert!(
            (MAX / 2 / QUESTION_BYTES..=MAX / 2 / QUESTION_BYTES + 2).contains(&count.into()),
            "{count}"
        );
        // However many connections it has; each has a little.
        let little = flood(&mut all, two, &mut second);
        assert!((1..=1 + (LEAST / QUESTION_BYTES) as u32).contains(&little), "{little}");
        // Another user is none the worse for it.
        let bert = (ConnectionId(3), all.join("bert", 50));
        let mut other = Asked::default();
        all.asked(bert, ChannelId(1), 100, &mut other, Instant::default());
        assert!(!all.is_paused(bert.0));
        for channel in 0..count / 2 + 8 {
            all.answered(one, ChannelId(channel), &mut first);
        }
        assert_eq!(all.take_woken(), [one.0, two.0]);
        assert!(!all.is_paused(one.0) && all.next_look().is_none());
        [(one, first), (two, second), (bert, other)]
            .iter()
            .for_each(|((connection, number), asked)| all.leave(*connection, *number, asked));
        assert!(
            all.bytes() == 0
                && all.principals.is_empty()
                && all.numbers.is_empty()
                && all.paused.is_empty()
        );
    }

    #[test]
    fn who_is_not_answered_is_read_after_a_while_and_refused_beyond_twice_as_much() {
        let mut all = UnderWay::new(MAX);
        let one = (ConnectionId(1), all.join("anna", 50));
        let mut asked = Asked::default();
        flood(&mut all, one, &mut asked);
        assert_eq!(
            (all.look(Instant::default()), all.next_look()),
            (None, Some(Instant::default() + LOOK_AFTER))
        );
        assert_eq!(all.look(Instant::default() + LOOK_AFTER), Some(one.0));
        asked.presses = true;
        flood(&mut all, one, &mut asked);
        assert!(!all.is_paused(one.0) && all.is_too_much(one.1, &asked));
        assert!(all.bytes() <= MAX + 2 * QUESTION_BYTES);
    }

    #[test]
    fn answers_that_wait_count_and_small_connections_go_on() {
        let mut all = UnderWay::new(MAX);
        let one = (ConnectionId(1), all.join("anna", 50));
        let two = (ConnectionId(2), all.join("anna", 50));
        let mut first = Asked::default();
        let mut second = Asked::default();
        all.count_answers(one, MAX, &mut first);
        flood(&mut all, two, &mut second);
        assert!(all.is_paused(two.0));
        for channel in 0..second.by_channel.len() as u32 {
            all.answered(two, ChannelId(channel), &mut second);
        }
        assert!(!all.is_paused(two.0) && all.take_woken() == [two.0]);
        all.count_answers(one, 0, &mut first);
        assert_eq!(all.bytes(), 0);
    }

    #[test]
    fn when_all_have_too_much_an_equal_part_is_left_to_each() {
        let mut all = UnderWay::new(MAX);
        let numbers = ["anna", "bert", "carl"].map(|name| all.join(name, 50));
        let who: Vec<_> =
            numbers.iter().zip(1..).map(|(number, id)| (ConnectionId(id), *number)).collect();
        let mut asked = [Asked::default(), Asked::default(), Asked::default()];
        flood(&mut all, who[0], &mut asked[0]);
        flood(&mut all, who[1], &mut asked[1]);
        let third = flood(&mut all, who[2], &mut asked[2]);
        assert!(u64::from(third) * QUESTION_BYTES >= MAX / 3 - QUESTION_BYTES, "{third}");
        assert!(all.bytes() <= 2 * MAX);
    }
}
