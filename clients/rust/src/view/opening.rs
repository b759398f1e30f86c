//! Opens a call at the server that it is placed on, or at another where that is gone.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, Result};

use super::{Place, hinting};
use crate::argument::Passed;
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::session::Conditions;

/// Servers that a call is tried at before it is open anywhere.
const MOVES_MAX: usize = 16;

/// Opens a call where it is to run; `None` where there is no server within `wait`, or no room within
/// `room`.
#[inline(never)]
pub fn open_placed(
    client: &Client,
    contract: &Arc<Contract>,
    asked: &mut Option<(Passed, Conditions)>,
    options: &CallOptions,
    (wait, room): (Option<Duration>, Option<Duration>),
) -> Result<Option<(Place, u64)>> {
    let mut without = Vec::new();
    loop {
        let gone = || Error::internal("call", "its arguments are gone");
        let (passed, conditions) = asked.as_mut().ok_or_else(gone)?;
        let until = (conditions.deadline, wait);
        let place = client.place(contract, &passed.arguments, options, &without, until)?;
        let Some(place) = place else { return Ok(None) };
        place.tell(conditions);
        match (open_there(client, contract, asked, &place, room), &place.placed) {
            (Ok(number), _) => return Ok(number.map(|number| (place, number))),
            // That connection is gone, and nothing of the call has left.
            (Err(error), Some(placed)) if placed.is_movable && asked.is_some() => {
                if without.len() >= MOVES_MAX {
                    return Err(error);
                }
                let grants = (placed.grant, placed.led.as_ref());
                client.view().refused(contract, &placed.server, grants, &error);
                without.push(placed.server.name.to_string());
            }
            (Err(error), _) => return Err(error),
        }
    }
}

/// Opens a call there; `None` where there is no room within `room`.
pub fn open_there(
    client: &Client,
    contract: &Arc<Contract>,
    asked: &mut Option<(Passed, Conditions)>,
    place: &Place,
    room: Option<Duration>,
) -> Result<Option<u64>> {
    let special = asked.as_mut().and_then(|(_, conditions)| conditions.special.as_mut());
    if let Some((id, _)) = special.and_then(|special| special.keep.as_mut()) {
        *id = hinting(*id, place.elsewhere(client));
    }
    place.session.open(contract, asked, None, room)
}
