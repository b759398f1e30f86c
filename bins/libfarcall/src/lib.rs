//! Everything behind libfarcall.so: the C ABI and the executable runtime.
