//! A model of the mailbox: in no order is a message or a wake-up lost.

use farcall_model::{Bell, Mutex, MutexGuard, explore, spawn};

use super::super::{Lock, Parking, parked};
use super::*;

impl<T> Lock<T> for Mutex<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(content: T) -> Self {
        Mutex::new(content)
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        Mutex::lock(self).unwrap()
    }
}

impl Parking for Bell {
    type Lock<T> = Mutex<T>;

    fn signal(&self) {
        self.strike();
    }

    fn clear(&self) {
        self.hush();
    }

    fn wait(&self, _: Option<Duration>) {
        Bell::wait(self);
    }
}

/// All messages, up to the end of all senders.
fn receive_all(receiver: &mut Receiver<u8, Bell>) -> Vec<u8> {
    let mut messages = Vec::new();
    loop {
        match receiver.receive_timeout(Duration::MAX) {
            Ok(message) => messages.push(message),
            Err(why) => {
                assert_eq!(why, NoMessage::Closed);
                return messages;
            }
        }
    }
}

#[test]
fn in_every_order_all_messages_and_the_end_arrive() {
    explore(|| {
        let (sender, mut receiver) = parked(2, Bell::default());
        let other = sender.clone();
        let threads =
            [spawn(move || sender.try_send(1).unwrap()), spawn(move || other.try_send(2).unwrap())];
        let mut messages = receive_all(&mut receiver);
        messages.sort_unstable();
        assert_eq!(messages, [1, 2]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn in_every_order_a_place_is_there_for_its_message() {
    explore(|| {
        let (sender, mut receiver) = parked(1, Bell::default());
        let place = sender.reserve().unwrap();
        let thread = spawn(move || {
            let refused = sender.try_send(1).err().map(|refused| refused.refusal);
            assert!(matches!(refused, None | Some(Refusal::Full)), "{refused:?}");
            refused.is_none()
        });
        place.send(2);
        let messages = receive_all(&mut receiver);
        // The other message fits when this one is out already.
        let both = thread.join().unwrap();
        assert_eq!(messages, if both { vec![2, 1] } else { vec![2] });
    });
}

#[test]
fn in_every_order_a_receiver_that_goes_takes_its_messages_along() {
    explore(|| {
        let (sender, receiver) = parked::<Arc<()>, Bell>(1, Bell::default());
        let message = Arc::new(());
        let same = message.clone();
        let thread = spawn(move || {
            let sent = sender.try_send(same);
            assert!(sent.is_ok() || sent.is_err_and(|refused| refused.refusal == Refusal::Closed));
        });
        drop(receiver);
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1, "the message is left over");
    });
}
