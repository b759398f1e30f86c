//! The Rust client under measurement: reads commands on standard input, answers each with one line.
//!
//! ```text
//! roundtrip BYTES MODE   MODE: inplace (one ordinary array both ways) or mapped (the result stays in shared memory)
//!                        answer: seconds
//! pingpong COUNT         answer: seconds per call
//! crowd COUNT            keeps COUNT calls of a small dgesv going until as many processes have answered, each of
//!                        which is held for a second; answer: seconds without that second
//! audience COUNT         connects COUNT further clients that call once and stay; answer: how many there are
//! ```

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_client::idl::interface::Order;
use farcall_client::{
    Argument, Array, ArrayMut, CallOptions, Client, Destination, Error, ErrorKind,
};
use farcall_client::{PendingCall, Result, Routine};

/// How long a process of a crowd is kept from further calls; longer than it takes to start all.
const HOLD: Duration = Duration::from_secs(1);

struct Bench {
    client: Client,
    address: Option<String>,
    audience: Vec<Client>,
    touch: Routine,
    add: Routine,
    array: Vec<f64>,
}

fn main() -> Result<()> {
    let address = std::env::args().nth(1);
    let client = Client::connect(address.as_deref())?;
    let touch = client.routine("bench/touch")?;
    let add = client.routine("bench/add")?;
    let mut bench = Bench { client, address, audience: Vec::new(), touch, add, array: Vec::new() };
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Error::system("read a command", error))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = bench.answer(&words)?;
        println!("{answer}");
        std::io::stdout().flush().map_err(|error| Error::system("answer", error))?;
    }
    Ok(())
}

impl Bench {
    fn answer(&mut self, words: &[&str]) -> Result<String> {
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong(words));
        match words {
            ["roundtrip", bytes, mode] => {
                self.roundtrip(number(bytes)?, *mode == "inplace").map(|s| format!("{s:.9}"))
            }
            ["audience", count] => self.gather(number(count)?).map(|count| count.to_string()),
            ["pingpong", count] => {
                self.pingpong(number(count)?).map(|seconds| format!("{seconds:.9}"))
            }
            ["crowd", count] => self.crowd(number(count)?).map(|seconds| format!("{seconds:.9}")),
            _ => Err(wrong(words)),
        }
    }

    fn roundtrip(&mut self, bytes: usize, in_place: bool) -> Result<f64> {
        let count = bytes / 8;
        if self.array.len() != count {
            self.array = (0..count).map(|index| index as f64).collect();
        }
        let destinations =
            vec![Destination::New, if in_place { Destination::InPlace } else { Destination::New }];
        let begin = Instant::now();
        let arguments =
            vec![Argument::Integer(count as i64), ArrayMut::vector(&mut self.array).into()];
        let outputs =
            self.touch.call_positional(arguments, destinations, &CallOptions::default())?;
        let seconds = begin.elapsed().as_secs_f64();
        drop(outputs);
        match self.array.get(count / 2) {
            Some(value) if *value != (count / 2) as f64 => {
                Err(Error::internal("bench", "the array came back changed"))
            }
            _ => Ok(seconds),
        }
    }

    fn gather(&mut self, count: usize) -> Result<usize> {
        for _ in 0..count {
            let client = Client::connect(self.address.as_deref())?;
            client.routine("bench/add")?.call([("x", 1.0.into()), ("y", 2.0.into())])?;
            self.audience.push(client);
        }
        Ok(self.audience.len())
    }

    fn pingpong(&self, count: usize) -> Result<f64> {
        let begin = Instant::now();
        for index in 0..count {
            let arguments =
                vec![Argument::Real(index as f64), Argument::Real(1.0), Argument::Unset];
            let outputs =
                self.add.call_positional(arguments, Vec::new(), &CallOptions::default())?;
            if index == 0 && outputs.scalar::<f64>("z")? != 1.0 {
                return Err(Error::internal("bench", "0 + 1 is not 1"));
            }
        }
        Ok(begin.elapsed().as_secs_f64() / count as f64)
    }

    /// As many calls go on as there may be executables, so each of these gets its first call when
    /// it is there. Each holds its process afterwards: those that have answered would else take the
    /// calls for which others are to be started. The last process answers that much later than it
    /// could, and so much is taken off.
    fn crowd(&self, count: usize) -> Result<f64> {
        let solve = self.client.routine("crowd/solve")?;
        let begin = Instant::now();
        let mut calls = HashMap::new();
        for _ in 0..count {
            let call = small_solve(&solve)?;
            calls.insert(call.number(), call);
        }
        let mut processes = HashSet::new();
        while processes.len() < count {
            let Some(finished) = self.client.next_finished(Some(Duration::from_secs(60)))? else {
                return Err(Error::internal(
                    "bench",
                    format!("{} processes and no more", processes.len()),
                ));
            };
            let Some(call) = calls.remove(&finished) else { continue };
            let outputs = call.wait()?;
            if outputs.array::<f64>("b")?.iter().any(|x| (x - 1.0).abs() > 1e-12) {
                return Err(Error::internal("bench", "the solution is wrong"));
            }
            processes.insert(outputs.array::<i32>("process")?[0]);
            let call = small_solve(&solve)?;
            calls.insert(call.number(), call);
        }
        let seconds = begin.elapsed().saturating_sub(HOLD).as_secs_f64();
        calls.into_values().try_for_each(|call| call.wait().map(drop))?;
        Ok(seconds)
    }
}

/// A system whose solution is all ones.
fn small_solve(routine: &Routine) -> Result<PendingCall> {
    let n = 4_u64;
    let matrix: Vec<f64> = (0..n * n).map(|i| if i % (n + 1) == 0 { 5.0 } else { 1.0 }).collect();
    let a = Array::shared(Arc::new(matrix), &[n, n], Order::Row);
    let b = Array::shared(Arc::new(vec![n as f64 + 4.0; n as usize]), &[n], Order::Row);
    let options = CallOptions { announced: true, ..CallOptions::default() };
    let hold = Argument::Integer(HOLD.as_micros() as i64);
    routine.start([("hold_us", hold), ("a", a.into()), ("b", b.into())], &options)
}

fn wrong(words: &[&str]) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "bench",
        format!("\"{}\" is no command", words.join(" ")),
    )
}
