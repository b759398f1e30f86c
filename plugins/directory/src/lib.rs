//! Embedded directory: which routines are published and what their interfaces are.
