//! Conversations with the step.
