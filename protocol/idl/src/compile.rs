//! From the text of an interface file to its module: the crate's way in (spec/idl.md, section 2).

use std::collections::HashSet;

use crate::check;
use crate::diagnostic::{Diagnostic, Diagnostics, Problems};
use crate::dialect::Dialect;
use crate::interface::Module;
use crate::lexer;
use crate::parse;
use crate::source::{Source, Span};
use crate::token::Kind;

/// Bytes of an interface file, preprocessed headers included.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Compiles the text of an interface file.
///
/// `file` names it in places and, without a `Module` declaration, names the module by its stem. The
/// text is what the C preprocessor made of the file where [`needs_preprocessor`] says so; its line
/// marks are obeyed.
///
/// # Errors
/// Every mistake of the file with its place, up to [`crate::DIAGNOSTICS_MAX`].
pub fn compile(file: &str, text: &str) -> Result<Module, Diagnostics> {
    compile_as(Dialect::Farcall, file, text).map(|compiled| compiled.module)
}

/// What came of a file.
pub struct Compiled {
    /// Its module.
    pub module: Module,
    /// What Farcall's own dialect refuses and this one takes, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// The same by the rules of that dialect.
///
/// # Errors
/// As [`compile`].
pub fn compile_as(dialect: Dialect, file: &str, text: &str) -> Result<Compiled, Diagnostics> {
    let mut problems = Problems::default();
    if text.len() > FILE_BYTES_MAX {
        let source = Source::new(file, "");
        problems.add_with_help(
            Span::new(0, 1),
            format!("the file has {} bytes, the limit is {FILE_BYTES_MAX}", text.len()),
            "split it, or include fewer headers in it",
        );
        return Err(problems.finish(&source));
    }
    let mut source = Source::new(file, text);
    let lexed = lexer::scan(&mut source, &mut problems);
    for directive in &lexed.directives {
        problems.add_with_help(
            *directive,
            "the text has a preprocessor directive and was not preprocessed",
            "run the C preprocessor on the file first",
        );
    }
    let tree = parse::parse(&source, &lexed.tokens, dialect, &mut problems);
    let module = check::check(&source, file, &tree, dialect, &mut problems);
    if problems.is_empty() {
        Ok(Compiled { module, warnings: problems.warnings(&source) })
    } else {
        Err(problems.finish(&source))
    }
}

/// Whether the text must go through the C preprocessor before [`compile`].
///
/// True if a directive (`#include`, `#define`, `#if` …) stands outside strings, comments and C
/// bodies, or if a macro that a body defines is used outside of bodies: Ninf-G runs the
/// preprocessor over whole files, and some rely on it. Directives in bodies alone are left to the C
/// compiler.
pub fn needs_preprocessor(text: &str) -> bool {
    if text.len() > FILE_BYTES_MAX || !text.contains('#') {
        return false;
    }
    let mut source = Source::new("", text);
    let lexed = lexer::scan(&mut source, &mut Problems::default());
    if !lexed.directives.is_empty() {
        return true;
    }
    let macros: HashSet<&str> = lexed.body_macros.iter().map(|span| source.slice(*span)).collect();
    let word = |token: &crate::token::Token| {
        token.kind == Kind::Word && macros.contains(source.slice(token.span))
    };
    !macros.is_empty() && lexed.tokens.iter().any(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directives_that_matter_ask_for_the_preprocessor() {
        assert!(needs_preprocessor("#include <gscalapack.h>\nDefine f() {}"));
        assert!(needs_preprocessor("  # define N 10\nDefine f(IN int a[N]) {}"));
        // The macro of a body is used by a size.
        assert!(needs_preprocessor("Globals {\n#define N 10\n}\nDefine f(IN int a[N]) {}"));
        // Bodies, comments, strings and line marks are no reason.
        for text in [
            "Globals {\n#include <math.h>\n#define N 10\n}\nDefine f(IN int a[3]) { N; }",
            "/*\n#include\n*/ Module x;",
            "Module x; // no\n",
            "Define f() \"a\n#b\" {}",
            "# 1 \"a.idl\"\nModule x;",
        ] {
            assert!(!needs_preprocessor(text), "{text}");
        }
    }
}
