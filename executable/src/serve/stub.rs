//! What a stub executable tells of itself: its module for programs, and its interface for people.

use std::io::Write;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::decode::decode_module;
use farcall_idl::idl::to_idl;
use farcall_idl::interface::Module;

/// Does what the arguments ask for: `--module` prints the encoded module, `-i FILE` writes the
/// interface, `--help`.
pub(super) fn tell(arguments: &[String], module: &[u8]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--module"] => print(module),
        ["-i", file] => {
            let text = description(&decode_module(module)?);
            std::fs::write(file, text)
                .map_err(|error| Error::system("write the interface", error).with("file", file))
        }
        ["-h" | "--help"] => print(help(&decode_module(module)?).as_bytes()),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            "start a stub executable",
            "unknown arguments",
        )
        .with("arguments", words.join(" "))
        .fix("servers start it without arguments; --module and -i FILE print its interface")),
    }
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Error::system("print", error))
}

/// Every interface of the module as IDL: what a file `_stub_NAME.inf` holds.
fn description(module: &Module) -> String {
    module
        .routines
        .iter()
        .map(|routine| to_idl(&routine.interface))
        .map(|text| text + "\n")
        .collect::<Vec<_>>()
        .join("\n")
}

fn help(module: &Module) -> String {
    let names: Vec<String> =
        module.routines.iter().map(|routine| routine.interface.full_name()).collect();
    format!(
        "A stub executable with {}.\nPublish it with `farcall serve FILE`, together with others \
         of its module by the .nrf file that ng_gen_nrf makes.\n",
        names.join(", ")
    )
}
