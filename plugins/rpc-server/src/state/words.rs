//! What things of the state are called in messages.

use farcall_wire::Argument;

/// How an argument travels, in a word, for messages.
pub fn argument_word(argument: &Argument) -> &'static str {
    match argument {
        Argument::Absent => "nothing",
        Argument::Null => "NULL",
        Argument::Inline(_) => "inline bytes",
        Argument::Blocks(_) => "blocks",
        Argument::Shared(..) => "shared memory",
        Argument::Data(_) => "data",
        Argument::Url(_) => "a URL",
        Argument::Texts(_) => "texts",
    }
}
