//! Blanks of fixed form: they do not count there (Fortran 2018, section 6.3.3), so
//! `DOUBLEPRECISIONX(N)` declares X. Statements get the blanks that free form needs.

/// Words that a statement begins with, and how they are written in free form. Of two that fit the
/// longer one counts.
const KEYWORDS: [(&str, &str); 90] = [
    ("abstractinterface", "abstract interface"),
    ("allocatable", "allocatable"),
    ("allocate", "allocate"),
    ("assign", "assign"),
    ("backspace", "backspace"),
    ("blockdata", "block data"),
    ("byte", "byte"),
    ("call", "call"),
    ("case", "case"),
    ("character", "character"),
    ("close", "close"),
    ("common", "common"),
    ("complex", "complex"),
    ("contains", "contains"),
    ("continue", "continue"),
    ("cycle", "cycle"),
    ("data", "data"),
    ("deallocate", "deallocate"),
    ("decode", "decode"),
    ("dimension", "dimension"),
    ("do", "do"),
    ("doublecomplex", "double complex"),
    ("doubleprecision", "double precision"),
    ("dowhile", "do while"),
    ("elemental", "elemental"),
    ("else", "else"),
    ("elseif", "else if"),
    ("encode", "encode"),
    ("end", "end"),
    ("endblockdata", "end block data"),
    ("enddo", "end do"),
    ("endfile", "endfile"),
    ("endforall", "end forall"),
    ("endfunction", "end function"),
    ("endif", "end if"),
    ("endinterface", "end interface"),
    ("endmodule", "end module"),
    ("endprogram", "end program"),
    ("endselect", "end select"),
    ("endsubroutine", "end subroutine"),
    ("endtype", "end type"),
    ("endwhere", "end where"),
    ("entry", "entry"),
    ("equivalence", "equivalence"),
    ("exit", "exit"),
    ("external", "external"),
    ("forall", "forall"),
    ("format", "format"),
    ("function", "function"),
    ("goto", "go to"),
    ("if", "if"),
    ("implicit", "implicit"),
    ("implicitnone", "implicit none"),
    ("include", "include"),
    ("inquire", "inquire"),
    ("integer", "integer"),
    ("intent", "intent"),
    ("interface", "interface"),
    ("intrinsic", "intrinsic"),
    ("logical", "logical"),
    ("module", "module"),
    ("moduleprocedure", "module procedure"),
    ("namelist", "namelist"),
    ("nullify", "nullify"),
    ("open", "open"),
    ("optional", "optional"),
    ("parameter", "parameter"),
    ("pause", "pause"),
    ("pointer", "pointer"),
    ("print", "print"),
    ("private", "private"),
    ("procedure", "procedure"),
    ("program", "program"),
    ("public", "public"),
    ("pure", "pure"),
    ("read", "read"),
    ("real", "real"),
    ("recursive", "recursive"),
    ("return", "return"),
    ("rewind", "rewind"),
    ("save", "save"),
    ("selectcase", "select case"),
    ("stop", "stop"),
    ("subroutine", "subroutine"),
    ("target", "target"),
    ("type", "type"),
    ("use", "use"),
    ("virtual", "virtual"),
    ("where", "where"),
    ("write", "write"),
];

/// Behind these another keyword may stand without a blank: the type of `IMPLICITREAL*8(A-H)`, the
/// rest of a heading.
const PREFIXES: [&str; 14] = [
    "byte",
    "character",
    "complex",
    "double complex",
    "double precision",
    "elemental",
    "implicit",
    "integer",
    "logical",
    "module",
    "pure",
    "real",
    "recursive",
    "type",
];

/// The statement with the blanks of free form. `begins` is whether it may be the heading of a
/// function: `REALFUNCTIONX(N)` declares an array inside a program unit.
pub fn respaced(statement: &str, begins: bool) -> String {
    let squeezed = without_blanks(statement);
    if is_assignment(&squeezed) { squeezed } else { separated(&squeezed, begins) }
}

/// What follows a condition: `IF(A.GT.B)CALLF(X)`.
fn behind_condition(statement: &str) -> Option<(&str, &str)> {
    let condition = statement.strip_prefix_ignoring_case("if")?;
    let end = matching(condition)?;
    let (condition, rest) = condition.split_at(end);
    (!rest.is_empty() && !rest.starts_with('=')).then_some((condition, rest))
}

fn separated(statement: &str, begins: bool) -> String {
    if let Some((condition, rest)) = behind_condition(statement) {
        return format!("if {condition} {}", respaced(rest, false));
    }
    let found = KEYWORDS
        .iter()
        .filter(|(word, _)| statement.strip_prefix_ignoring_case(word).is_some())
        .max_by_key(|(word, _)| word.len());
    let Some((word, spaced)) = found else { return statement.to_owned() };
    let rest = &statement[word.len()..];
    if !PREFIXES.contains(spaced) {
        return format!("{spaced} {rest}");
    }
    let (kind, rest) = rest.split_at(kind_length(rest));
    let is_heading = *spaced == "implicit"
        || begins && HEADINGS.iter().any(|word| rest.strip_prefix_ignoring_case(word).is_some());
    let rest = if is_heading { separated(rest, begins) } else { rest.to_owned() };
    format!("{spaced}{kind} {rest}")
}

/// What makes a type or an attribute the prefix of a heading.
const HEADINGS: [&str; 16] = [
    "byte",
    "character",
    "complex",
    "doublecomplex",
    "doubleprecision",
    "elemental",
    "function",
    "integer",
    "logical",
    "module",
    "procedure",
    "pure",
    "real",
    "recursive",
    "subroutine",
    "type",
];

/// Bytes of `*8`, `*(*)`, `(kind=8)` behind a type.
fn kind_length(rest: &str) -> usize {
    let star = usize::from(rest.starts_with('*'));
    let behind = &rest[star..];
    let digits = behind.len() - behind.trim_start_matches(|one: char| one.is_ascii_digit()).len();
    match (star, digits) {
        (1, 1..) => star + digits,
        _ => matching(behind).map_or(0, |end| star + end),
    }
}

/// An `=` outside of parentheses and behind no comma. A comma behind it makes it a loop.
fn is_assignment(statement: &str) -> bool {
    let outside = outside_of_parentheses(statement);
    if outside.contains("::") || behind_condition(statement).is_some() {
        return false;
    }
    let bytes = outside.as_bytes();
    let equals = (0..bytes.len()).find(|at| {
        bytes[*at] == b'='
            && !matches!(bytes.get(at + 1), Some(b'='))
            && !matches!(
                at.checked_sub(1).map(|before| bytes[before]),
                Some(b'=' | b'<' | b'>' | b'/')
            )
    });
    equals.is_some_and(|at| {
        let is_loop = outside.strip_prefix_ignoring_case("do").is_some();
        !(is_loop && outside[at..].contains(',') || outside[..at].contains(','))
    })
}

/// The text without what stands in parentheses and quotes.
fn outside_of_parentheses(text: &str) -> String {
    let mut outside = String::with_capacity(text.len());
    let mut depth = 0usize;
    let mut quote = None;
    for one in text.chars() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(one),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => outside.push(one),
            (None, _) => {}
        }
    }
    outside
}

/// The end of the parentheses that the text begins with.
fn matching(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let mut depth = 0usize;
    let mut quote = None;
    for (at, one) in text.char_indices() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(one),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(at + 1),
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn without_blanks(statement: &str) -> String {
    let mut quote = None;
    let keeps = |one: &char| {
        match quote {
            Some(open) if *one == open => quote = None,
            Some(_) => return true,
            None if *one == '\'' || *one == '"' => quote = Some(*one),
            None => {}
        }
        !one.is_whitespace()
    };
    statement.chars().filter(keeps).collect()
}

/// [`str::strip_prefix`] for words of Fortran.
trait StripPrefix {
    fn strip_prefix_ignoring_case(&self, word: &str) -> Option<&str>;
}

impl StripPrefix for str {
    fn strip_prefix_ignoring_case(&self, word: &str) -> Option<&str> {
        let (first, rest) = self.split_at_checked(word.len())?;
        first.eq_ignore_ascii_case(word).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_get_their_blanks() {
        for (fixed, free) in [
            ("DOUBLEPRECISIONX(N),Y", "double precision X(N),Y"),
            ("IMPLICITDOUBLEPRECISION(A-H,O-Z)", "implicit double precision(A-H,O-Z) "),
            ("IMPLICIT REAL * 8 (A-H)", "implicit real*8 (A-H)"),
            ("DIMENSIONX(N)", "dimension X(N)"),
            ("INTEGERN", "integer N"),
            ("INTEGER*4I", "integer*4 I"),
            ("REAL*8D1", "real*8 D1"),
            ("CHARACTER*(*)NAME", "character*(*) NAME"),
            ("SUB ROUTINE SO LVE (N, X)", "subroutine SOLVE(N,X)"),
            ("END SUBROUTINE SOLVE", "end subroutine SOLVE"),
            ("DO10I=1,N", "do 10I=1,N"),
            ("DO10I=1", "DO10I=1"),
            ("IF(A.GT.B)CALLF(X)", "if (A.GT.B) call F(X)"),
            ("IF(A.GT.B)X=1", "if (A.GT.B) X=1"),
            ("REAL(3)=X", "REAL(3)=X"),
            ("WRITE(*,*)'A B', X Y", "write (*,*)'A B',XY"),
            ("PARAMETER(N=3)", "parameter (N=3)"),
            ("USE KINDS, ONLY: A => B", "use KINDS,ONLY:A=>B"),
        ] {
            assert_eq!(respaced(fixed, false), free);
        }
    }

    #[test]
    fn a_function_begins_where_no_unit_is_open() {
        assert_eq!(respaced("REALFUNCTIONX(N)", true), "real function X(N)");
        assert_eq!(respaced("REALFUNCTIONX(N)", false), "real FUNCTIONX(N)");
        assert_eq!(
            respaced("DOUBLE PRECISION FUNCTION F(X)", true),
            "double precision function F(X)"
        );
        assert_eq!(
            respaced("RECURSIVEINTEGERFUNCTIONF(X)", true),
            "recursive integer function F(X)"
        );
        assert_eq!(respaced("INTEGER*4FUNCTIONF(X)", true), "integer*4 function F(X)");
    }
}
