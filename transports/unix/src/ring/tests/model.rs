//! A model of two ends: in no order that the memory model allows is a byte read too early, or both
//! asleep.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, LazyLock};

use farcall_model::{Acquiring, AsAsked, Bell, Cell, Relaxed, Strength, Word32, Word64};
use farcall_model::{Mutex, explore, spawn};

use super::super::memory::Header;
use super::*;

/// So few that the sender has to wait for room.
const BYTES: usize = 2;

/// What two ends share.
struct Shared<S: Strength> {
    header: Header<Place<S>>,
    rings: [[Cell<u8>; BYTES]; 2],
    bells: [Bell; 2],
    /// Of each end, the positions of the descriptors that are on their way to it.
    riders: [Mutex<VecDeque<[u8; POSITION_BYTES]>>; 2],
}

/// The memory of a model.
struct Place<S: Strength>(Arc<Shared<S>>);

impl<S: Strength> Default for Place<S> {
    fn default() -> Self {
        Place(Arc::new(Shared {
            header: Header::default(),
            rings: Default::default(),
            bells: Default::default(),
            riders: [(); 2].map(|()| Mutex::new(VecDeque::new())),
        }))
    }
}

impl<S: Strength> Ground for Place<S> {
    type Word64 = Word64<S>;
    type Word32 = Word32<S>;

    const CAPACITY: u64 = BYTES as u64;

    fn header(&self) -> &Header<Self> {
        &self.0.header
    }

    fn write(&self, writer: usize, position: u64, from: &[u8]) {
        for (at, byte) in (position..).zip(from) {
            self.0.rings[writer][(at % Self::CAPACITY) as usize].set(*byte);
        }
    }

    fn read(&self, writer: usize, position: u64, to: &mut [u8]) {
        for (at, byte) in (position..).zip(to) {
            *byte = self.0.rings[writer][(at % Self::CAPACITY) as usize].get();
        }
    }
}

/// The rest of what end `own` has.
struct Rest<S: Strength> {
    shared: Arc<Shared<S>>,
    own: usize,
}

impl<S: Strength> Rest<S> {
    fn sleep(&self) {
        self.shared.bells[self.own].wait();
        self.shared.bells[self.own].hush();
    }
}

impl<S: Strength> Side for Rest<S> {
    fn strike(&self) {
        self.shared.bells[1 - self.own].strike();
    }

    fn send(&mut self, position: &[u8; POSITION_BYTES], _: &[BorrowedFd<'_>]) -> io::Result<usize> {
        self.shared.riders[1 - self.own].lock().unwrap().push_back(*position);
        Ok(POSITION_BYTES)
    }

    fn receive(
        &mut self,
        position: &mut [u8; POSITION_BYTES],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        let rider = self.shared.riders[self.own].lock().unwrap().pop_front();
        *position = rider.ok_or(IoErrorKind::WouldBlock)?;
        descriptors.push(DESCRIPTOR.try_clone().unwrap().into());
        Ok(POSITION_BYTES)
    }

    /// Only a word says that the other end is gone.
    fn has_hung_up(&self) -> bool {
        false
    }
}

/// Any descriptor.
static DESCRIPTOR: LazyLock<File> = LazyLock::new(|| File::open("/dev/null").unwrap());

type End<S> = Flow<Place<S>, Rest<S>>;

fn ends<S: Strength>() -> (End<S>, End<S>) {
    let shared = Place::default().0;
    let end = |own| {
        let memory = RingMemory::new(Place(shared.clone()), own);
        Flow::new(memory, Rest { shared: shared.clone(), own })
    };
    (end(0), end(1))
}

/// Sends all of it, and sleeps while there is no room.
fn send<S: Strength>(end: &mut End<S>, mut bytes: &[u8], mut descriptors: &[BorrowedFd<'_>]) {
    while !bytes.is_empty() {
        match end.send(&[IoSlice::new(bytes)], descriptors) {
            Ok(count) => {
                bytes = &bytes[count..];
                descriptors = &[];
            }
            Err(error) => {
                assert_eq!(error.kind(), IoErrorKind::WouldBlock);
                end.side.sleep();
            }
        }
    }
}

/// Receives until the other end is gone, and sleeps while there is nothing: the bytes, and before
/// which of them descriptors came.
fn receive<S: Strength>(end: &mut End<S>) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut riders = Vec::new();
    loop {
        let mut room = [0; BYTES];
        let mut descriptors = Vec::new();
        match end.receive(&mut [IoSliceMut::new(&mut room)], &mut descriptors) {
            Ok(0) => return (bytes, riders),
            Ok(count) => {
                bytes.extend(&room[..count]);
                riders.extend(descriptors.iter().map(|_| bytes.len()));
            }
            Err(error) => {
                assert_eq!(error.kind(), IoErrorKind::WouldBlock);
                end.side.sleep();
            }
        }
    }
}

/// More bytes than there is room for, a descriptor with the last of them, and the end.
fn a_stream<S: Strength>() {
    explore(|| {
        let (mut one, mut other) = ends::<S>();
        let sender = spawn(move || {
            send(&mut one, b"ab", &[]);
            send(&mut one, b"c", &[DESCRIPTOR.as_fd()]);
        });
        assert_eq!(receive(&mut other), (b"abc".to_vec(), vec![3]));
        sender.join().unwrap();
    });
}

/// Messages that are sent while the bell is held ring at its end, if not before.
fn a_held_bell<S: Strength>() {
    explore(|| {
        let (mut one, mut other) = ends::<S>();
        let sender = spawn(move || {
            one.hold_bell(true);
            send(&mut one, b"a", &[]);
            send(&mut one, b"bc", &[]);
            one.hold_bell(false);
            // Stays until the other end has everything: nothing else may wake it.
            while !one.memory.incoming().is_closed() {
                one.side.sleep();
            }
        });
        let mut room = [0; 3];
        let mut count = 0;
        while count < room.len() {
            let parts = &mut [IoSliceMut::new(&mut room[count..])];
            match other.receive(parts, &mut Vec::new()) {
                Ok(more) => count += more,
                Err(_) => other.side.sleep(),
            }
        }
        assert_eq!(room, *b"abc");
        drop(other);
        sender.join().unwrap();
    });
}

/// One look finds what was written, or nothing.
fn a_look<S: Strength>() {
    explore(|| {
        let (mut one, mut other) = ends::<S>();
        let sender = spawn(move || send(&mut one, b"a", &[]));
        let mut room = [0; 1];
        match other.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()) {
            Ok(count) => assert_eq!(room[..count], b"a"[..count]),
            Err(error) => assert_eq!(error.kind(), IoErrorKind::WouldBlock),
        }
        sender.join().unwrap();
    });
}

#[test]
fn in_every_order_all_bytes_arrive() {
    a_look::<AsAsked>();
    a_stream::<AsAsked>();
}

#[test]
fn in_every_order_a_held_bell_rings_in_the_end() {
    a_held_bell::<AsAsked>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_words_without_order() {
    a_look::<Relaxed>();
}

#[test]
#[should_panic(expected = "deadlock")]
fn the_model_finds_words_that_are_not_sequentially_consistent() {
    a_held_bell::<Acquiring>();
}
