//! The order in which variables are decided: those of recent conflicts first, in a heap.

/// Where no variable is.
const ABSENT: u32 = u32::MAX;
/// How much more each conflict counts than the one before it.
const GROWTH: f64 = 1.0 / 0.95;
/// Where activities are made small again.
const ACTIVITY_MAX: f64 = 1e100;

/// A heap of variables by activity; equal ones by number.
#[derive(Debug, Default)]
pub(super) struct Order {
    heap: Vec<u32>,
    places: Vec<u32>,
    activities: Vec<f64>,
    step: f64,
}

impl Order {
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.places.clear();
        self.activities.clear();
        self.step = 1.0;
    }

    /// Adds the next variable.
    pub(super) fn push(&mut self) {
        let variable = self.places.len() as u32;
        self.activities.push(0.0);
        self.places.push(self.heap.len() as u32);
        self.heap.push(variable);
        self.rise(self.heap.len() - 1);
    }

    /// Takes the most active variable.
    pub(super) fn take(&mut self) -> Option<u32> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        self.places[first as usize] = ABSENT;
        if last != first {
            self.heap[0] = last;
            self.places[last as usize] = 0;
            self.sink(0);
        }
        Some(first)
    }

    /// Puts a variable back that is not in the heap.
    pub(super) fn put_back(&mut self, variable: u32) {
        if self.places[variable as usize] == ABSENT {
            self.places[variable as usize] = self.heap.len() as u32;
            self.heap.push(variable);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Makes a variable more active.
    pub(super) fn bump(&mut self, variable: u32) {
        let activity = &mut self.activities[variable as usize];
        *activity += self.step;
        if *activity > ACTIVITY_MAX {
            self.activities.iter_mut().for_each(|activity| *activity /= ACTIVITY_MAX);
            self.step /= ACTIVITY_MAX;
        }
        let place = self.places[variable as usize];
        if place != ABSENT {
            self.rise(place as usize);
        }
    }

    /// Makes all activities count less from now on.
    pub(super) fn decay(&mut self) {
        self.step *= GROWTH;
    }

    fn is_before(&self, one: u32, other: u32) -> bool {
        let active = |variable: u32| self.activities[variable as usize];
        (active(one), other) > (active(other), one)
    }

    fn rise(&mut self, place: usize) {
        let mut place = place;
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.is_before(self.heap[place], self.heap[parent]) {
                break;
            }
            self.exchange(place, parent);
            place = parent;
        }
    }

    fn sink(&mut self, place: usize) {
        let mut place = place;
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let first = children.reduce(|one, other| {
                if self.is_before(self.heap[other], self.heap[one]) { other } else { one }
            });
            let Some(child) = first else { return };
            if !self.is_before(self.heap[child], self.heap[place]) {
                return;
            }
            self.exchange(place, child);
            place = child;
        }
    }

    fn exchange(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places[self.heap[one] as usize] = one as u32;
        self.places[self.heap[other] as usize] = other as u32;
    }
}
