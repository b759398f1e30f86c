//! Which objects' calls the functions belong to that this thread runs for them: a call on one of
//! these would wait for itself.

use std::cell::RefCell;
use std::sync::Arc;

use farcall_client::{Answer, Argument, Callback, ObjectId, Result, Taken};

use crate::code::{Code, Failure, Outcome};

thread_local! {
    /// From the outermost to the innermost.
    static WITHIN: RefCell<Vec<ObjectId>> = const { RefCell::new(Vec::new()) };
}

/// A function that was passed to a call on an object.
struct Within {
    object: ObjectId,
    function: Arc<dyn Callback>,
}

/// Takes the object off again, however the function ends.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        WITHIN.with(|within| within.borrow_mut().pop());
    }
}

impl Callback for Within {
    fn run(&self, call: &Taken) -> Result<Answer> {
        WITHIN.with(|within| within.borrow_mut().push(self.object));
        let _leave = Leave;
        self.function.run(call)
    }
}

/// Has the functions among these arguments know the object whose call they belong to.
pub fn belong(arguments: &mut [Argument<'_>], object: ObjectId) {
    for argument in arguments {
        if let Argument::Callback(function) = argument {
            *function = Arc::new(Within { object, function: function.clone() });
        }
    }
}

/// Refuses a call on an object from inside a function of a call on it.
pub fn check(object: ObjectId, name: &str) -> Outcome<()> {
    if WITHIN.with(|within| !within.borrow().contains(&object)) {
        return Ok(());
    }
    let words = format!(
        "{name}: a call on this object waits for this function, so the new call would wait \
        forever; make it after the other has finished, or use another object"
    );
    Err(Failure::new(Code::RpcRefused, words))
}
