//! House rules as unit tests: layer edges, sizes, docs, dead files.
