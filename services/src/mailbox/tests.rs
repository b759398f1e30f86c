//! Tests of the mailbox: bounds, wake-ups, reserved answers, and ends.

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

mod model;

fn readable<M>(receiver: &Receiver<M>) -> bool {
    poll(&mut [PollFd::new(receiver, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
}

#[test]
fn a_full_mailbox_pushes_back_with_the_message() {
    let (sender, mut receiver) = mailbox(2).unwrap();
    sender.try_send("a").unwrap();
    sender.try_send("b").unwrap();
    let refused = sender.try_send("c").unwrap_err();
    assert_eq!((refused.refusal, refused.message), (Refusal::Full, "c"));
    assert_eq!(receiver.try_receive(), Ok("a"));
    sender.try_send("c").unwrap();
    assert_eq!(receiver.try_receive(), Ok("b"));
    assert_eq!(receiver.try_receive(), Ok("c"));
}

#[test]
fn the_descriptor_is_readable_from_first_message_to_observed_emptiness() {
    let (sender, mut receiver) = mailbox(8).unwrap();
    assert!(!readable(&receiver));
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    assert!(readable(&receiver));
    assert_eq!(receiver.try_receive(), Ok(1));
    assert!(
        readable(&receiver),
        "one message is left: a driver that takes one per turn must come back"
    );
    assert_eq!(receiver.try_receive(), Ok(2));
    assert_eq!(receiver.try_receive(), Err(NoMessage::Empty));
    assert!(!readable(&receiver));
    drop(sender);
    assert!(readable(&receiver), "the end of all senders is an event, too");
    assert_eq!(receiver.try_receive(), Err(NoMessage::Closed));
}

#[test]
fn a_reserved_place_counts_and_never_fails() {
    let (sender, mut receiver) = mailbox(1).unwrap();
    let place = sender.reserve().unwrap();
    assert_eq!(sender.try_send(7).unwrap_err().refusal, Refusal::Full);
    place.send(8);
    assert_eq!(
        sender.reserve().err(),
        Some(Refusal::Full),
        "the message has taken the place of its reservation"
    );
    assert_eq!(receiver.try_receive(), Ok(8));
    drop(sender.reserve().unwrap());
    sender.try_send(9).expect("a dropped place is free again");
}

#[test]
fn a_dropped_reply_answers_that_the_service_ended() {
    let (reply, answer) = question::<u32>().unwrap();
    drop(reply);
    assert_eq!(answer.wait(Duration::from_secs(5)).unwrap_err().kind(), ErrorKind::ShuttingDown);
}

#[test]
fn a_withdrawn_reply_sends_nothing_and_frees_its_room() {
    let (sender, mut receiver) = mailbox::<Result<u32>>(1).unwrap();
    sender.reply(|answer| answer).unwrap().withdraw();
    assert!(matches!(receiver.try_receive(), Err(NoMessage::Empty)));
    sender.reply(|answer| answer).unwrap().answer(Ok(3));
    assert!(matches!(receiver.try_receive(), Ok(Ok(3))));
}

#[test]
fn waiting_ends_at_the_deadline() {
    let (reply, answer) = question::<u32>().unwrap();
    assert_eq!(answer.wait(Duration::from_millis(20)).unwrap_err().kind(), ErrorKind::TimedOut);
    reply.answer(Ok(1));
}

#[test]
fn a_receiver_that_goes_away_closes_its_ports_and_drops_unread_questions() {
    let (sender, receiver) = mailbox::<Reply<u32>>(4).unwrap();
    let port = sender.port(|reply| reply);
    let (reply, answer) = question::<u32>().unwrap();
    assert!(port.try_send(reply).is_ok());
    drop(receiver);
    assert_eq!(answer.wait(Duration::from_secs(5)).unwrap_err().kind(), ErrorKind::ShuttingDown);
    let (reply, _answer) = question::<u32>().unwrap();
    assert_eq!(port.try_send(reply).err().map(|refused| refused.refusal), Some(Refusal::Closed));
}

#[test]
fn a_question_to_oneself_left_unread_does_not_deadlock() {
    // The queue holds a reply whose drop sends into the same mailbox: dropping it under the lock
    // would hang here.
    struct Event(#[allow(dead_code)] Option<Reply<()>>);
    let (sender, receiver) = mailbox(4).unwrap();
    let reply = sender.reply(|_| Event(None)).unwrap();
    assert!(sender.try_send(Event(Some(reply))).is_ok());
    drop(receiver);
}

#[test]
fn no_message_and_no_wake_up_is_lost_between_threads() {
    let (sender, mut receiver) = mailbox(16).unwrap();
    let threads: Vec<_> = (0..4u64).map(|thread| (thread, sender.clone())).map(send_many).collect();
    drop(sender);
    let mut sum = 0;
    loop {
        match receiver.receive_timeout(Duration::from_secs(20)) {
            Ok(number) => sum += number,
            Err(why) => {
                break assert_eq!(why, NoMessage::Closed, "a lost wake-up shows as a timeout");
            }
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(sum, 4 * (0..5000).sum::<u64>());
}

#[test]
fn a_receiver_without_a_descriptor_is_woken() {
    let (sender, mut receiver) = parked_mailbox(2);
    assert_eq!(receiver.receive_timeout(Duration::from_millis(1)), Err(NoMessage::Empty));
    let thread = std::thread::spawn(move || {
        for number in 0..20_000u64 {
            while sender.try_send(number).is_err() {
                std::thread::yield_now();
            }
        }
    });
    for number in 0..20_000 {
        assert_eq!(receiver.receive_timeout(Duration::from_secs(20)), Ok(number));
    }
    thread.join().unwrap();
    assert_eq!(receiver.receive_timeout(Duration::MAX), Err(NoMessage::Closed));
}

fn send_many((_, sender): (u64, Sender<u64>)) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for number in 0..5000 {
            while sender.try_send(number).is_err() {
                std::thread::yield_now();
            }
        }
    })
}
