//! The `farcall` command.
fn main() {}
