//! The servers that are known, each at its number.

use std::collections::BTreeMap;

use crate::kinds::Publisher;
use crate::member::Member;
use crate::{Contract, MemberId};

/// All of them. A number is given out again when its server was removed.
#[derive(Debug, Default)]
pub struct Members {
    slots: Vec<Option<Member>>,
    free: Vec<MemberId>,
    named: BTreeMap<String, MemberId>,
}

impl Members {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// The server of a name.
    pub fn named(&self, name: &str) -> Option<MemberId> {
        self.named.get(name).copied()
    }

    /// One of them.
    pub fn get(&self, id: MemberId) -> Option<&Member> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: MemberId) -> Option<&mut Member> {
        self.slots.get_mut(id.0 as usize)?.as_mut()
    }

    /// One more.
    pub fn insert(&mut self, member: Member) -> MemberId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            MemberId(u32::try_from(self.slots.len() - 1).expect("members_max is less than 2^32"))
        });
        self.named.insert(member.name.clone(), id);
        self.slots[id.0 as usize] = Some(member);
        id
    }

    /// Removes some: which.
    pub fn remove_where(&mut self, is_one: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        let gone: Vec<MemberId> =
            self.iter().filter(|(_, member)| is_one(member)).map(|(id, _)| id).collect();
        for id in &gone {
            if let Some(member) = self.slots[id.0 as usize].take() {
                self.named.remove(&member.name);
                self.free.push(*id);
            }
        }
        gone
    }

    /// All, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (MemberId, &Member)> {
        let numbered = self.slots.iter().zip(0..);
        numbered.filter_map(|(member, number)| Some((MemberId(number), member.as_ref()?)))
    }

    /// Those that publish a routine, by their numbers.
    pub fn publishers(&self, contract: &Contract) -> Vec<Publisher> {
        let publishes = |member: &Member| member.report.contracts.contains(contract);
        let those = self.iter().filter(|(_, member)| publishes(member));
        those
            .map(|(member, known)| Publisher {
                member,
                is_warm: known.report.warm.contains(contract),
            })
            .collect()
    }
}
