//! How code of Fortran gets texts (spec/idl.md, section 3.6.3).

use crate::diagnostic::{Problems, shown};
use crate::fortran;
use crate::interface::StringConvention;
use crate::parse::tree::Name;

/// The string convention of the file.
pub(super) fn convention(given: Option<&Name>, problems: &mut Problems) -> StringConvention {
    let Some(name) = given else { return StringConvention::End };
    fortran::convention(&name.text).unwrap_or_else(|| {
        let help = problems
            .did_you_mean(&name.text, fortran::conventions())
            .unwrap_or_else(|| "conventions are end, after and none".to_string());
        problems.add_with_help(
            name.span,
            format!("unknown string convention '{}'", shown(&name.text)),
            help,
        );
        StringConvention::End
    })
}
