//! Client and server call state machines (spec/call.md).
