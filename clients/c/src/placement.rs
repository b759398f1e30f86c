//! Where a call would run, as JSON.

use std::ffi::{c_char, c_int};

use farcall_base::abi::status::OK;
use farcall_client::{Explanation, PlacedServer};

use crate::argument::{RawArgument, read_all};
use crate::boundary::{Place, elements, guard, object};
use crate::error::ErrorObject;
use crate::keeping::escaped;
use crate::routine::RoutineObject;

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_explain(
    routine: *const RoutineObject,
    arguments: *const RawArgument,
    count: usize,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::json(json) }?;
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let raw = unsafe { elements(arguments, count, "the arguments") }?;
        // SAFETY: as above.
        let (arguments, _) = unsafe { read_all(routine.interface(), raw) }?;
        let explanation = routine.client().explain_call(routine, &arguments)?;
        place.fill_array(&explanation.servers.iter().map(told).collect::<Vec<_>>());
        Ok(OK)
    })
}

fn told(server: &PlacedServer) -> String {
    let [name, note] =
        [&server.name, &server.note].map(|text| text.chars().map(escaped).collect::<String>());
    let PlacedServer { wait_s, send_s, run_s, return_s, error_s, .. } = server;
    format!(
        "{{\"server\":\"{name}\",\"is_self\":{},\"excluded\":{},\"chosen\":{},\"wait\":{wait_s},\
         \"send\":{send_s},\"run\":{run_s},\"return\":{return_s},\"total\":{},\"error\":{error_s},\
         \"note\":\"{note}\"}}",
        server.is_self,
        server.excluded,
        server.calls > 0 && !server.excluded,
        Explanation::total_s(server),
    )
}
