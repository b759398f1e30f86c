//! Strings, files and arrays of strings among the arguments of a native call.

use std::ffi::{CStr, c_char};

use farcall_client::idl::interface::{ElementType, Mode, Parameter, Shape};
use farcall_client::{Argument, Error, ErrorKind, Result};

use super::{Making, TEXTS_MAX};
use crate::streams::{StreamPlace, position, rest};
use crate::strings::TextPlace;
use farcall_base::abi::tag::TEXT;

impl<'a> Making<'_, 'a> {
    /// # Safety
    /// As for [`prepare`].
    pub(super) unsafe fn stream(
        &mut self,
        index: usize,
        parameter: &Parameter,
        pointer: *mut u8,
    ) -> Result<Argument<'a>> {
        let file = pointer.cast();
        if pointer.is_null() {
            return Ok(Argument::Null);
        }
        // SAFETY: the caller's promise, here and below.
        let from =
            (parameter.mode == Mode::InOut).then(|| unsafe { position(file) }).transpose()?;
        if parameter.mode.is_output() {
            self.prepared.places.files.push(StreamPlace::new(index, file, from));
        }
        Ok(if parameter.mode.is_input() {
            // SAFETY: as above.
            Argument::Raw(unsafe { rest(file) }?)
        } else {
            Argument::Unset
        })
    }

    /// # Safety
    /// As for [`prepare`].
    pub(super) unsafe fn string(
        &mut self,
        index: usize,
        parameter: &Parameter,
        pointer: *mut u8,
        wanted: u32,
    ) -> Result<Argument<'a>> {
        if pointer.is_null() {
            // A routine gets NULL for a file that is none (GridRPC), in every mode.
            let null = parameter.mode.is_input() || parameter.element == ElementType::Filename;
            return Ok(if null { Argument::Null } else { Argument::Unset });
        }
        if wanted & TEXT == 0 {
            // SAFETY: the caller's promise: text, here and below.
            return Ok(Argument::Text(
                unsafe { CStr::from_ptr(pointer.cast()) }.to_bytes().to_vec(),
            ));
        }
        let place: *mut *mut c_char = pointer.cast();
        let is_file = parameter.element == ElementType::Filename;
        if parameter.mode.is_output() && !is_file {
            self.prepared.places.texts.push(TextPlace { parameter: index, place, count: 1 });
        }
        match (&parameter.shape, parameter.mode.is_input()) {
            (Shape::Scalar, true) => {
                // SAFETY: as above: the place of a string, which is NULL or text.
                Ok(unsafe { copied(place.read()) }.map_or(Argument::Null, Argument::Text))
            }
            // An array of strings is read when its length is known.
            _ => Ok(Argument::Unset),
        }
    }

    /// # Safety
    /// As many places of strings as the interface says.
    pub(super) unsafe fn read_texts(
        &mut self,
        index: usize,
        parameter: &Parameter,
        place: *mut *mut c_char,
    ) -> Result<()> {
        let count = self
            .extents(parameter)?
            .into_iter()
            .try_fold(1_u64, u64::checked_mul)
            .unwrap_or(u64::MAX);
        if count > TEXTS_MAX {
            return Err(Error::new(ErrorKind::LimitExceeded, "call", "too many strings")
                .with("parameter", &parameter.name)
                .with("count", count)
                .with("limit", TEXTS_MAX));
        }
        for one in self.prepared.places.texts.iter_mut().filter(|one| one.parameter == index) {
            one.count = count;
        }
        // Files are named by their paths in every mode.
        if parameter.mode.is_input() || parameter.element == ElementType::Filename {
            // SAFETY: the caller's promise: that many places, each NULL or text.
            let texts =
                (0..count as usize).map(|at| unsafe { copied(place.add(at).read()) }).collect();
            self.prepared.arguments[index] = Argument::Texts(texts);
        }
        Ok(())
    }
}

/// # Safety
/// NULL or text.
unsafe fn copied(text: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: not NULL, so it is text.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}
