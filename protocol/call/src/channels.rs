//! What is known of each open channel, found by its number without a search.

use std::collections::BTreeMap;

use farcall_base::ChannelId;

/// Numbers below this have a place of their own. An honest end gives out its lowest free numbers,
/// so that others are rare; and one that opens the highest makes no larger table than this.
const PLACES_MAX: usize = 256;

/// A table of open channels.
#[derive(Debug)]
pub struct Channels<T> {
    places: Vec<Option<T>>,
    others: BTreeMap<ChannelId, T>,
    count: usize,
}

impl<T> Default for Channels<T> {
    fn default() -> Self {
        Channels { places: Vec::new(), others: BTreeMap::new(), count: 0 }
    }
}

impl<T> Channels<T> {
    /// How many are open.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What is known of a channel; `None` if it is not open.
    pub fn get(&self, channel: ChannelId) -> Option<&T> {
        match place(channel) {
            Some(place) => self.places.get(place)?.as_ref(),
            None => self.others.get(&channel),
        }
    }

    /// As [`Channels::get`], to change it.
    pub fn get_mut(&mut self, channel: ChannelId) -> Option<&mut T> {
        match place(channel) {
            Some(place) => self.places.get_mut(place)?.as_mut(),
            None => self.others.get_mut(&channel),
        }
    }

    /// Opens a channel; returns what was known of it if it was open.
    pub fn insert(&mut self, channel: ChannelId, value: T) -> Option<T> {
        let old = self.remove(channel);
        self.put(channel, value);
        old
    }

    /// As [`Channels::insert`], and drops what was known: of a large value nothing is moved but
    /// where it goes.
    pub fn put(&mut self, channel: ChannelId, value: T) {
        let was_open = match place(channel) {
            Some(place) => {
                if self.places.len() <= place {
                    self.places.resize_with(place + 1, || None);
                }
                let slot = &mut self.places[place];
                let was_open = slot.is_some();
                *slot = Some(value);
                was_open
            }
            None => self.others.insert(channel, value).is_some(),
        };
        self.count += usize::from(!was_open);
    }

    /// Closes a channel, and drops what was known in place.
    #[inline]
    pub fn close(&mut self, channel: ChannelId) {
        let was_open = match place(channel) {
            Some(place) => match self.places.get_mut(place) {
                Some(slot) => {
                    let was_open = slot.is_some();
                    *slot = None;
                    was_open
                }
                None => false,
            },
            None => self.others.remove(&channel).is_some(),
        };
        self.count -= usize::from(was_open);
    }

    /// What is known of all open channels, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().chain(self.others.values())
    }

    /// All open channels with what is known of them, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ChannelId, &mut T)> {
        let places = self.places.iter_mut().enumerate();
        let places =
            places.filter_map(|(place, value)| Some((ChannelId(place as u32), value.as_mut()?)));
        places.chain(self.others.iter_mut().map(|(channel, value)| (*channel, value)))
    }

    /// As [`Channels::values`], and closes them.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.places.into_iter().flatten().chain(self.others.into_values())
    }

    /// Closes a channel.
    pub fn remove(&mut self, channel: ChannelId) -> Option<T> {
        let old = match place(channel) {
            Some(place) => self.places.get_mut(place)?.take(),
            None => self.others.remove(&channel),
        };
        self.count -= usize::from(old.is_some());
        old
    }
}

fn place(channel: ChannelId) -> Option<usize> {
    let place = channel.0 as usize;
    (place < PLACES_MAX).then_some(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use farcall_base::{Random, SeededRandom};

    use super::*;

    #[test]
    fn does_what_a_map_does() {
        let mut random = SeededRandom::new(7);
        let mut channels = Channels::default();
        let mut map = BTreeMap::new();
        for step in 0..20_000_u32 {
            // Around the last place, and far beyond it.
            let number = match random.next() % 3 {
                0 => random.next() % 300,
                1 => u64::from(u32::MAX) - random.next() % 4,
                _ => random.next() % 8,
            };
            let channel = ChannelId(number as u32);
            match random.next() % 3 {
                0 => assert_eq!(channels.insert(channel, step), map.insert(channel, step)),
                1 => assert_eq!(channels.remove(channel), map.remove(&channel)),
                _ => assert_eq!(channels.get_mut(channel), map.get_mut(&channel)),
            }
            assert_eq!(channels.get(channel), map.get(&channel));
            assert_eq!((channels.len(), channels.is_empty()), (map.len(), map.is_empty()));
        }
        assert!(channels.places.len() <= PLACES_MAX);
        assert!(channels.values().eq(map.values()) && channels.into_values().eq(map.into_values()));
    }
}
