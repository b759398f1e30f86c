//! Which kept call is meant: by its id, or as many of its first digits as no other has.

use std::str::FromStr;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_client::{Client, KeptCall};

use crate::connection::{check_all_answered, with_silent};

/// Digits of an id.
const DIGITS: usize = 32;
/// Fewer digits are more likely a mistake.
const DIGITS_MIN: usize = 4;
/// What stands for every kept call.
const ALL: &str = "all";

/// A kept call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// That of this id.
    Exact(CallId),
    /// That whose id begins so.
    Begins(String),
}

impl FromStr for Which {
    type Err = Error;

    /// The 32 digits of an id, or its first ones.
    fn from_str(text: &str) -> Result<Which> {
        let is_short = (DIGITS_MIN..DIGITS).contains(&text.len());
        if is_short && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Which::Begins(text.to_ascii_lowercase()));
        }
        text.parse().map(Which::Exact)
    }
}

impl Which {
    /// Its id. Only a short one is looked for among the user's kept calls.
    pub fn find(&self, client: &Client) -> Result<CallId> {
        match self {
            Which::Exact(id) => Ok(*id),
            Which::Begins(digits) => {
                let (calls, unanswered) = client.kept_by_all()?;
                chosen(digits, &calls).map_err(|error| with_silent(error, &unanswered))
            }
        }
    }
}

/// The only one of some calls whose id begins with these digits.
fn chosen(digits: &str, calls: &[KeptCall]) -> Result<CallId> {
    let meant: Vec<CallId> =
        calls.iter().map(|call| call.id).filter(|id| id.to_string().starts_with(digits)).collect();
    match meant.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::new(
            ErrorKind::NotFound,
            "find a kept call",
            format!("none of your kept calls has an id that begins with {digits}"),
        )
        .fix("`farcall kept` lists them")),
        several => Err(Error::new(
            ErrorKind::InvalidArgument,
            "find a kept call",
            format!("the ids of {} kept calls begin with {digits}", several.len()),
        )
        .fix("pass more digits: `farcall kept` lists them")),
    }
}

/// Kept calls that are to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// One.
    One(Which),
    /// All of the user's.
    All,
}

impl FromStr for Forgotten {
    type Err = Error;

    fn from_str(text: &str) -> Result<Forgotten> {
        match text {
            ALL => Ok(Forgotten::All),
            _ => text.parse().map(Forgotten::One),
        }
    }
}

/// Deletes calls.
pub fn forget(client: &Client, which: &[Forgotten]) -> Result<()> {
    for one in which {
        match one {
            Forgotten::One(which) => client.forget_call(which.find(client)?)?,
            Forgotten::All => forget_all(client)?,
        }
    }
    Ok(())
}

/// A list of them may end before the last one: it is asked for again until it is empty.
fn forget_all(client: &Client) -> Result<()> {
    loop {
        let (calls, unanswered) = client.kept_by_all()?;
        if calls.is_empty() {
            return check_all_answered(&unanswered);
        }
        for call in calls {
            match client.forget_call(call.id) {
                // It ended its time meanwhile, or another program forgot it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_wire::KeptState;

    use super::*;

    fn call(id: &str) -> KeptCall {
        KeptCall {
            id: id.parse().unwrap(),
            routine: "m/f".into(),
            state: KeptState::Returned,
            bytes: 0,
            left_us: 0,
            durable: true,
            principal: "uid 1".into(),
            note: None,
        }
    }

    #[test]
    fn the_first_digits_are_enough_where_they_are_one_calls() {
        let ids = ["0123456789abcdef0123456789abcdef", "0123ffff89abcdef0123456789abcdef"];
        let calls: Vec<_> = ids.into_iter().map(call).collect();
        assert_eq!(chosen("01234", &calls).unwrap(), calls[0].id);
        assert_eq!(chosen("0123f", &calls).unwrap(), calls[1].id);
        let many = chosen("0123", &calls).unwrap_err();
        assert!(many.to_string().contains("the ids of 2 kept calls begin with 0123"), "{many}");
        let none = chosen("abcd", &calls).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        assert_eq!("ABCD".parse::<Which>().unwrap(), Which::Begins("abcd".into()));
        assert!(matches!("0".repeat(32).parse::<Which>(), Ok(Which::Exact(_))));
        for wrong in ["", "abc", "abcg", "all", &"0".repeat(33)] {
            assert!(wrong.parse::<Which>().is_err(), "{wrong}");
        }
        assert_eq!("all".parse::<Forgotten>().unwrap(), Forgotten::All);
    }
}
