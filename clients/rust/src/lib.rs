//! The client core: connect, look up, marshal, call.
