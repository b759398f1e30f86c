//! Which kept calls or data are meant: each by its id, or as many of its first digits as no other
//! has.

use std::fmt::Display;
use std::str::FromStr;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_client::{Client, KeptCall};

use crate::connection::{check_all_answered, with_silent};

/// Digits of an id.
const DIGITS: usize = 32;
/// Fewer digits are more likely a mistake.
const DIGITS_MIN: usize = 4;
/// What stands for everything of the user's.
const ALL: &str = "all";

/// One of what has ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which<Id> {
    /// That of this id.
    Exact(Id),
    /// That whose id begins so.
    Begins(String),
}

impl<Id: FromStr<Err = Error>> FromStr for Which<Id> {
    type Err = Error;

    /// The 32 digits of an id, or its first ones.
    fn from_str(text: &str) -> Result<Which<Id>> {
        let is_short = (DIGITS_MIN..DIGITS).contains(&text.len());
        if is_short && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Which::Begins(text.to_ascii_lowercase()));
        }
        text.parse().map(Which::Exact).map_err(|error: Error| {
            let all = error.advice().unwrap_or("pass an id").to_owned();
            error.fix(format!("{all}, or at least the first {DIGITS_MIN} of them"))
        })
    }
}

impl Which<CallId> {
    /// Its id. Only a short one is looked for among the user's kept calls.
    pub fn find(&self, client: &Client) -> Result<CallId> {
        match self {
            Which::Exact(id) => Ok(*id),
            Which::Begins(digits) => {
                let (calls, unanswered) = client.kept_by_all()?;
                let ids = calls.iter().map(|call| call.id);
                chosen(digits, ids, &KEPT).map_err(|error| with_silent(error, &unanswered))
            }
        }
    }
}

/// How errors call what has ids.
pub struct Words {
    /// What failed.
    pub operation: &'static str,
    /// Several of them.
    pub many: &'static str,
    /// The command that lists them.
    pub list: &'static str,
}

const KEPT: Words =
    Words { operation: "find a kept call", many: "kept calls", list: "farcall kept" };

/// The only one of some ids that begins with these digits.
///
/// # Errors
/// `NotFound`, or `InvalidArgument` where several do.
pub fn chosen<Id>(digits: &str, ids: impl Iterator<Item = Id>, words: &Words) -> Result<Id>
where
    Id: Copy + Display,
{
    let Words { operation, many, list } = words;
    let meant: Vec<Id> = ids.filter(|id| id.to_string().starts_with(digits)).collect();
    match meant.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::new(
            ErrorKind::NotFound,
            *operation,
            format!("none of your {many} has an id that begins with {digits}"),
        )
        .fix(format!("`{list}` lists them"))),
        several => Err(Error::new(
            ErrorKind::InvalidArgument,
            *operation,
            format!("the ids of {} {many} begin with {digits}", several.len()),
        )
        .fix(format!("pass more digits: `{list}` lists them"))),
    }
}

/// What is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwanted<Id> {
    /// One.
    One(Which<Id>),
    /// All of the user's.
    All,
}

impl<Id: FromStr<Err = Error>> FromStr for Unwanted<Id> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Unwanted<Id>> {
        match text {
            ALL => Ok(Unwanted::All),
            _ => text.parse().map(Unwanted::One),
        }
    }
}

/// Deletes calls.
pub fn forget(client: &Client, unwanted: &[Unwanted<CallId>]) -> Result<()> {
    for one in unwanted {
        match one {
            Unwanted::One(which) => client.forget_call(which.find(client)?)?,
            Unwanted::All => forget_all(client)?,
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
        for KeptCall { id, .. } in calls {
            match client.forget_call(id) {
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
    use super::*;

    #[test]
    fn the_first_digits_are_enough_where_they_are_one_calls() {
        let ids = ["0123456789abcdef0123456789abcdef", "0123ffff89abcdef0123456789abcdef"]
            .map(|id| id.parse::<CallId>().unwrap());
        let chosen = |digits| chosen(digits, ids.into_iter(), &KEPT);
        assert_eq!(chosen("01234").unwrap(), ids[0]);
        assert_eq!(chosen("0123f").unwrap(), ids[1]);
        let many = chosen("0123").unwrap_err();
        assert!(many.to_string().contains("the ids of 2 kept calls begin with 0123"), "{many}");
        let none = chosen("abcd").unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        type Known = Which<CallId>;
        assert_eq!("ABCD".parse::<Known>().unwrap(), Which::Begins("abcd".into()));
        assert!(matches!("0".repeat(32).parse::<Known>(), Ok(Which::Exact(_))));
        for wrong in ["", "abc", "abcg", "all", &"0".repeat(33)] {
            let error = wrong.parse::<Known>().unwrap_err().to_string();
            assert!(error.contains("shows, or at least the first 4 of them"), "{error}");
        }
        assert_eq!("all".parse::<Unwanted<CallId>>().unwrap(), Unwanted::All);
    }
}
