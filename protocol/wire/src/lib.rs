//! Frames, messages and their codec (spec/wire.md).
