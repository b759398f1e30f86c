//! Many at once.

use std::sync::Arc;

use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions};

use crate::battery::{Setting, client};

/// Calls of all sizes, each with its own numbers, so that a mix-up shows.
fn work(client: &farcall_client::Client, seed: usize, calls: usize) {
    let touch = client.routine("touch").unwrap();
    for call in 0..calls {
        let count = [3, 700, 20_000, 200_000][(seed + call) % 4];
        let x: Vec<f64> = (0..count).map(|i| (seed * 1000 + call + i) as f64).collect();
        let got = touch.call([("x", Array::vector(&x).into())]).unwrap().array::<f64>("x").unwrap();
        assert!(
            got.iter().zip(&x).all(|(got, x)| *got == x + 1.0) && got.len() == count,
            "seed {seed}, call {call}"
        );
    }
}

pub fn two_clients(setting: Setting) {
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            scope.spawn(move || work(&client(setting), seed, 12));
        }
    });
}

pub fn eight_threads_on_one_client(setting: Setting) {
    let client = client(setting);
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let client = client.clone();
            scope.spawn(move || work(&client, seed, 8));
        }
    });
}

pub fn a_thousand_small_calls(setting: Setting) {
    let double = client(setting).routine("f_int").unwrap();
    for i in 0..1000 {
        assert_eq!(double.call([("x", i.into())]).unwrap().scalar::<i32>("r").unwrap(), 2 * i);
    }
}

pub fn two_hundred_calls_in_flight(setting: Setting) {
    let touch = client(setting).routine("touch").unwrap();
    let start = |i: usize| {
        let length = 1 + i * 37 % 3000;
        // The call keeps the array: nobody else does.
        let array = Array::shared(Arc::new(vec![i as f64; length]), &[length as u64], Order::Row);
        touch.start([("x", array.into())], &CallOptions::default()).unwrap()
    };
    let calls: Vec<_> = (0..200).map(start).collect();
    // Collected out of order: every outcome keeps until it is asked for.
    for (i, call) in calls.into_iter().enumerate().rev() {
        let got = call.wait().unwrap().array::<f64>("x").unwrap();
        assert!(
            got.len() == 1 + i * 37 % 3000 && got.iter().all(|x| *x == i as f64 + 1.0),
            "call {i}"
        );
    }
}
