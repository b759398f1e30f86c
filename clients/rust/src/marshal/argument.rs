//! Rust values as arguments.

use super::Argument;
use crate::array::{Array, ArrayMut};

impl From<i64> for Argument {
    fn from(value: i64) -> Self {
        Argument::Integer(value)
    }
}

impl From<i32> for Argument {
    fn from(value: i32) -> Self {
        Argument::Integer(value.into())
    }
}

impl From<f64> for Argument {
    fn from(value: f64) -> Self {
        Argument::Real(value)
    }
}

impl From<char> for Argument {
    fn from(value: char) -> Self {
        Argument::Text(value.to_string().into_bytes())
    }
}

impl From<&str> for Argument {
    fn from(value: &str) -> Self {
        Argument::Text(value.as_bytes().to_vec())
    }
}

impl From<Array<'_>> for Argument {
    fn from(array: Array<'_>) -> Self {
        Argument::Array(array.view)
    }
}

impl From<ArrayMut<'_>> for Argument {
    fn from(array: ArrayMut<'_>) -> Self {
        Argument::Array(array.view)
    }
}
