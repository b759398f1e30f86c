//! What must hold of any text of a configuration file: asked by the loop with a fixed seed, and by
//! the fuzz target of `tests/fuzz`, which includes this file.

use farcall_base::ErrorKind;
use serde::Deserialize;

use super::Manifest;

/// Options of a plugin.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Example {
    pub workers_max: usize,
    pub listen: String,
}

/// Reads the text as a configuration file, with the options of its plugins; whether it is one.
///
/// # Panics
/// When it is refused without a line; `place` says where the text is from.
pub fn text(text: &str, place: &dyn Fn() -> String) -> bool {
    let outcome = Manifest::parse("f", text).and_then(|mut manifest| {
        let option: String = text.chars().skip(9).take(20).collect();
        let _ = manifest.override_options("a", "--x", &option);
        manifest.plugins.iter().try_for_each(|plugin| plugin.options.read::<Example>().map(drop))
    });
    if let Err(error) = &outcome {
        let known =
            error.kind() == ErrorKind::InvalidSource && error.to_string().contains("line: ");
        assert!(known, "{}: {error}\n{text}", place());
    }
    outcome.is_ok()
}
