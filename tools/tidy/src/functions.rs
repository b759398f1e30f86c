//! Finds functions and their lengths in scanned Rust, C and Python.

use crate::scanner::{Syntax, is_word, line_of, matching_brace, word_positions};

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without path or class.
    pub name: String,
    /// Its first line, from 1.
    pub line: usize,
    /// Lines from the signature to the closing brace, both included.
    pub length: usize,
    /// Its characters, without comments, texts and indentation.
    pub characters: usize,
}

/// All functions of `code`, which a scanner has blanked.
pub fn functions(code: &str, syntax: Syntax) -> Vec<Function> {
    match syntax {
        Syntax::Rust => rust_functions(code),
        Syntax::C => c_functions(code),
        Syntax::Python => python_functions(code),
        Syntax::Hash | Syntax::Fortran => Vec::new(),
    }
}

fn spanning(code: &str, name: &str, begin: usize, end: usize) -> Function {
    let line = line_of(code, begin);
    let length = line_of(code, end) - line + 1;
    let characters = code[begin..=end].lines().map(characters).sum();
    Function { name: name.to_string(), line, length, characters }
}

/// Characters of a line without its indentation; comments and texts are blanked already.
fn characters(line: &str) -> usize {
    line.trim().chars().count()
}

/// The name that begins at the first byte of `code`.
fn leading_name(code: &str) -> &str {
    let end = code.bytes().position(|byte| !is_word(byte)).unwrap_or(code.len());
    &code[..end]
}

fn rust_functions(code: &str) -> Vec<Function> {
    word_positions(code, "fn").filter_map(|at| rust_function(code, at)).collect()
}

fn rust_function(code: &str, at: usize) -> Option<Function> {
    let rest = code[at + 2..].trim_start();
    let name = leading_name(rest);
    if name.is_empty() {
        return None; // the type `fn(…)`
    }
    let open = body_open(code, at)?;
    Some(spanning(code, name, at, matching_brace(code, open) - 1))
}

/// The brace that opens the body; none where the declaration ends in a semicolon. Array types hold
/// semicolons too.
fn body_open(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code.as_bytes()[at..].iter().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return None,
            b'{' if depth == 0 => return Some(at + offset),
            _ => {}
        }
    }
    None
}

/// A C function is a block that follows a closing parenthesis outside every other block.
fn c_functions(code: &str) -> Vec<Function> {
    let code = without_directives(code);
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut statement = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' if is_linkage_block(&code[statement..at]) => statement = at + 1,
            b'{' => {
                let end = matching_brace(&code, at);
                found.extend(c_function(&code, statement, at, end));
                at = end - 1;
                statement = end;
            }
            b';' | b'}' => statement = at + 1,
            _ => {}
        }
        at += 1;
    }
    found
}

/// `extern "C" {` holds functions and is none. Its string is blanked already.
fn is_linkage_block(signature: &str) -> bool {
    signature.trim() == "extern"
}

fn c_function(code: &str, statement: usize, open: usize, end: usize) -> Option<Function> {
    let signature = &code[statement..open];
    if !signature.trim_end().ends_with(')') || signature.contains('=') {
        return None;
    }
    let before = signature[..signature.find('(')?].trim_end();
    let name = &before[before.bytes().rposition(|byte| !is_word(byte)).map_or(0, |at| at + 1)..];
    let begin = statement + (signature.len() - signature.trim_start().len());
    Some(spanning(code, name, begin, end - 1))
}

/// Blanks preprocessor lines with their continuations: a macro's braces need not match.
fn without_directives(code: &str) -> String {
    let mut inside = false;
    let blank = |line: &str| " ".repeat(line.len());
    let lines = code.split('\n').map(|line| {
        inside = inside || line.trim_start().starts_with('#');
        let shown = if inside { blank(line) } else { line.to_string() };
        inside = inside && line.trim_end().ends_with('\\');
        shown
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn python_functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.split('\n').collect();
    let starts =
        lines.iter().enumerate().filter_map(|(index, line)| Some((index, python_name(line)?)));
    starts.map(|(index, name)| python_function(&lines, index, name)).collect()
}

fn python_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?;
    Some(leading_name(rest))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A body lasts while lines are indented deeper; a closing parenthesis of the signature may stand
/// at its level.
fn python_function(lines: &[&str], start: usize, name: &str) -> Function {
    let level = indent(lines[start]);
    let belongs = |line: &&str| {
        line.trim().is_empty() || indent(line) > level || line.trim_start().starts_with(')')
    };
    let body = lines[start + 1..].iter().take_while(|line| belongs(line)).collect::<Vec<_>>();
    let length =
        1 + body.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    let characters = lines[start..start + length].iter().map(|line| characters(line)).sum();
    Function { name: name.to_string(), line: start + 1, length, characters }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str, syntax: Syntax) -> Vec<(String, usize, usize)> {
        functions(code, syntax).into_iter().map(|f| (f.name, f.line, f.length)).collect()
    }

    #[test]
    fn rust_functions_with_and_without_bodies() {
        let code =
            "trait T {\n fn no(a: [u8; 4]);\n}\nfn yes<F: Fn()>(f: fn(u8))\nwhere F: X {\n  1\n}\n";
        assert_eq!(shown(code, Syntax::Rust), [("yes".to_string(), 4, 4)]);
    }

    #[test]
    fn c_functions_but_no_initialisers_macros_or_linkage() {
        let code = "#define M(x) { \\\n x\nextern  {\nint t[] = {\n1 };\nstatic int\nadd(int \
            a)\n{\n return a;\n}\n}\n";
        assert_eq!(shown(code, Syntax::C), [("add".to_string(), 6, 5)]);
    }

    #[test]
    fn python_functions_end_where_the_indent_does() {
        let code = "def a(\n    x,\n):\n    return x\n\n\ndef b(): pass\n";
        assert_eq!(shown(code, Syntax::Python), [("a".to_string(), 1, 4), ("b".to_string(), 7, 1)]);
    }
}
