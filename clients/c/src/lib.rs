//! The C ABI of Farcall (spec/c-abi.md).
