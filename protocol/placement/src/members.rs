//! The servers that are known, each at its number.

use std::collections::BTreeMap;

use crate::MemberId;
use crate::member::{Hot, Member};

/// All of them. A number is given out again when its server was removed.
#[derive(Debug, Default)]
pub struct Members {
    slots: Vec<Option<Member>>,
    /// Of each what a decision reads, side by side in memory.
    hot: Vec<Hot>,
    free: Vec<MemberId>,
    sites: usize,
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

    /// What a decision reads of it; of a number that is no server's: one that is lost.
    pub fn hot(&self, id: MemberId) -> &Hot {
        &self.hot[id.0 as usize]
    }

    /// The numbers of their sites are below this one.
    pub fn sites(&self) -> usize {
        self.sites
    }

    fn note_site(&mut self, id: MemberId) {
        self.sites = self.sites.max(self.hot[id.0 as usize].site.0 as usize + 1);
    }

    /// Changes one of them, if it is there.
    pub fn change<T>(&mut self, id: MemberId, change: impl FnOnce(&mut Member) -> T) -> Option<T> {
        let member = self.slots.get_mut(id.0 as usize)?.as_mut()?;
        let result = change(member);
        self.hot[id.0 as usize] = member.hot();
        self.note_site(id);
        Some(result)
    }

    /// One more.
    pub fn insert(&mut self, member: Member) -> MemberId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.hot.push(Hot::default());
            MemberId(u32::try_from(self.slots.len() - 1).expect("members_max is less than 2^32"))
        });
        self.named.insert(member.name.clone(), id);
        self.hot[id.0 as usize] = member.hot();
        self.slots[id.0 as usize] = Some(member);
        self.note_site(id);
        id
    }

    /// Removes some: which.
    pub fn remove_where(&mut self, is_one: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        let gone: Vec<MemberId> =
            self.iter().filter(|(_, member)| is_one(member)).map(|(id, _)| id).collect();
        for id in &gone {
            if let Some(member) = self.slots[id.0 as usize].take() {
                self.named.remove(&member.name);
                self.hot[id.0 as usize] = Hot::default();
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
}
