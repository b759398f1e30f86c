//! TCP transport with a token.
