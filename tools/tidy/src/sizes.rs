//! Checks of sizes: files, functions and the share of comments. The list of exceptions only
//! shrinks.

use crate::functions::{Function, functions};
use crate::tree::{SourceFile, Violation};

/// Lines that a file may have without being listed.
pub const FILE_LINES_MAX: usize = 450;
/// The same of tests, of headers that users read, and of other languages.
pub const TEST_LINES_MAX: usize = 600;
/// Lines that a function may have without being listed.
pub const FUNCTION_LINES_MAX: usize = 70;
/// Characters that a function may have, without comments, texts and indentation.
pub const FUNCTION_CHARACTERS_MAX: usize = 2500;
/// Half of all functions are at most this long.
pub const FUNCTION_MEDIAN_MAX: usize = 8;
/// Nine of ten functions are at most this long.
pub const FUNCTION_NINETIETH_MAX: usize = 35;
/// Percent of the lines with something on them that hold a comment, at least.
pub const COMMENT_PERCENT_MIN: usize = 12;

/// A listed exception: what is how long, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Exception {
    /// A path, `path:function`, or `path:function:characters`.
    pub place: String,
    /// The lines or characters it had when it was listed.
    pub lines: usize,
    /// Why.
    pub reason: String,
}

/// Reads the list: `place lines reason` per line, `#` comments. A line without a reason is a
/// violation of its own.
pub fn read_exceptions(list: &str) -> Result<Vec<Exception>, Vec<Violation>> {
    let lines = list.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (read, refused): (Vec<_>, Vec<_>) =
        lines.map(|(number, line)| read_exception(line).ok_or(number)).partition(Result::is_ok);
    let problem = "a line is `place lines reason`";
    let at = |number| Violation::new(format!("tools/tidy/ratchet.txt:{number}"), problem);
    let refused: Vec<Violation> = refused.into_iter().filter_map(Result::err).map(at).collect();
    if refused.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(refused) }
}

fn read_exception(line: &str) -> Option<Exception> {
    let mut pieces = line.splitn(3, char::is_whitespace);
    let place = pieces.next()?.to_string();
    let lines = pieces.next()?.parse().ok()?;
    let reason = pieces.next()?.trim().to_string();
    (!reason.is_empty()).then_some(Exception { place, lines, reason })
}

/// Something with a length: a file, or a function within one.
struct Measured {
    key: String,
    place: String,
    lines: usize,
    max: usize,
    unit: &'static str,
}

fn measure_file(file: &SourceFile) -> Measured {
    let lines = file.text.lines().count();
    let is_code = [".rs", ".c", ".h", ".py"].iter().any(|end| file.path.ends_with(end));
    let is_free = !is_code || file.is_test() || file.path.contains("/include/");
    let max = if is_free { TEST_LINES_MAX } else { FILE_LINES_MAX };
    Measured { key: file.path.clone(), place: file.path.clone(), lines, max, unit: "lines" }
}

fn measure_function(file: &SourceFile, function: &Function) -> Measured {
    Measured {
        key: format!("{}:{}", file.path, function.name),
        place: format!("{}:{} {}", file.path, function.line, function.name),
        lines: function.length,
        max: FUNCTION_LINES_MAX,
        unit: "lines",
    }
}

fn measure_characters(file: &SourceFile, function: &Function) -> Measured {
    Measured {
        key: format!("{}:{}:characters", file.path, function.name),
        lines: function.characters,
        max: FUNCTION_CHARACTERS_MAX,
        unit: "characters",
        ..measure_function(file, function)
    }
}

/// Files and functions that are too long, and exceptions that no longer fit.
pub fn lengths(files: &[SourceFile], exceptions: &[Exception]) -> Vec<Violation> {
    let measured: Vec<Measured> = files.iter().flat_map(measure).collect();
    let too_long = measured.iter().filter_map(|one| judge(one, exceptions));
    let gone = exceptions
        .iter()
        .filter(|exception| !measured.iter().any(|one| one.key == exception.place));
    let gone = gone.map(|exception| {
        Violation::new(&exception.place, "is gone; remove it from tools/tidy/ratchet.txt")
    });
    too_long.chain(gone).collect()
}

fn measure(file: &SourceFile) -> Vec<Measured> {
    let inside = functions(&file.scanned.code, file.syntax);
    let each = |function| [measure_function(file, function), measure_characters(file, function)];
    std::iter::once(measure_file(file)).chain(inside.iter().flat_map(each)).collect()
}

fn judge(one: &Measured, exceptions: &[Exception]) -> Option<Violation> {
    let listed = exceptions.iter().find(|exception| exception.place == one.key);
    let unit = one.unit;
    let problem = match listed {
        None if one.lines <= one.max => return None,
        None => format!("has {} {unit}, {} at most; split it", one.lines, one.max),
        Some(_) if one.lines <= one.max => {
            "is short enough now; remove it from tools/tidy/ratchet.txt".to_string()
        }
        Some(old) if one.lines < old.lines => {
            format!(
                "has shrunk; lower its {} to {} in tools/tidy/ratchet.txt",
                old.lines, one.lines
            )
        }
        Some(old) if one.lines > old.lines => {
            format!("has grown from {} to {} {unit}; the list only shrinks", old.lines, one.lines)
        }
        Some(_) => return None,
    };
    Some(Violation::new(&one.place, problem))
}

/// Median and ninetieth percentile over all functions of the house.
pub fn distribution(files: &[SourceFile]) -> Vec<Violation> {
    let mut lengths: Vec<usize> = files
        .iter()
        .flat_map(|file| functions(&file.scanned.code, file.syntax))
        .map(|function| function.length)
        .collect();
    lengths.sort_unstable();
    let limits = [(50, FUNCTION_MEDIAN_MAX), (90, FUNCTION_NINETIETH_MAX)];
    limits.iter().filter_map(|(percent, max)| quantile_problem(&lengths, *percent, *max)).collect()
}

fn quantile_problem(sorted: &[usize], percent: usize, max: usize) -> Option<Violation> {
    let lines = *sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1))?;
    let problem = format!(
        "{percent} % of the functions may have up to {lines} lines, {max} wanted; split the longest"
    );
    (lines > max).then(|| Violation::new("workspace", problem))
}

/// The share of comment over the whole workspace; names the barest files when it is too low.
pub fn comment_share(files: &[SourceFile]) -> Vec<Violation> {
    let counts: Vec<(&str, usize, usize)> =
        files.iter().map(|file| (file.path.as_str(), commented(file), filled(file))).collect();
    let (comments, lines) =
        counts.iter().fold((0, 0), |sum, count| (sum.0 + count.1, sum.1 + count.2));
    if comments * 100 >= lines * COMMENT_PERCENT_MIN {
        return Vec::new();
    }
    let mut missing: Vec<(usize, &str)> = counts
        .iter()
        .map(|(path, some, all)| ((all * COMMENT_PERCENT_MIN / 100).saturating_sub(*some), *path))
        .collect();
    missing.sort_unstable_by(|a, b| b.cmp(a));
    let barest = missing
        .iter()
        .take(5)
        .map(|(lines, path)| format!("{path} (lacks {lines})"))
        .collect::<Vec<_>>()
        .join(", ");
    let share = format!(
        "{comments} of {lines} lines hold a comment, {COMMENT_PERCENT_MIN} % wanted; say why in \
            {barest}"
    );
    vec![Violation::new("workspace", share)]
}

fn commented(file: &SourceFile) -> usize {
    file.scanned.commented.iter().filter(|commented| **commented).count()
}

fn filled(file: &SourceFile) -> usize {
    file.text.lines().filter(|line| !line.trim().is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> SourceFile {
        let text = format!("//! x\nfn long() {{\n{}}}\n", "    a();\n".repeat(lines - 3));
        SourceFile::new("a/x.rs", text).expect("a Rust file")
    }

    fn problems(lines: usize, list: &str) -> Vec<String> {
        let exceptions = read_exceptions(list).expect("a good list");
        lengths(&[file(lines)], &exceptions)
            .into_iter()
            .map(|violation| violation.problem)
            .collect()
    }

    #[test]
    fn long_files_and_functions_are_found() {
        assert!(problems(71, "").is_empty());
        assert_eq!(problems(72, ""), ["has 71 lines, 70 at most; split it"]);
        assert_eq!(problems(451, "").len(), 2);
    }

    #[test]
    fn the_list_only_shrinks() {
        assert!(problems(91, "a/x.rs:long 90 a table of cases").is_empty());
        assert!(problems(92, "a/x.rs:long 90 a table of cases")[0].contains("grown"));
        assert!(problems(90, "a/x.rs:long 90 a table of cases")[0].contains("lower its 90 to 89"));
        assert!(problems(30, "a/x.rs:long 90 a table of cases")[0].contains("remove it"));
        assert!(problems(30, "a/y.rs 700 gone file")[0].contains("is gone"));
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        assert_eq!(
            read_exceptions("a/x.rs 700").expect_err("no reason")[0].place,
            "tools/tidy/ratchet.txt:1"
        );
    }

    #[test]
    fn thick_functions_are_found() {
        let line = format!("    call({});\n", "argument, ".repeat(20));
        let text = format!("//! x\nfn thick() {{\n{}}}\n", line.repeat(20));
        let file = SourceFile::new("a/x.rs", text).expect("a Rust file");
        let found = lengths(std::slice::from_ref(&file), &[]);
        assert!(found[0].problem.contains(" characters, 2500 at most"), "{found:?}");
        let list = "a/x.rs:thick:characters 9000 a table of cases";
        let exceptions = read_exceptions(list).expect("a good list");
        assert!(lengths(&[file], &exceptions)[0].problem.contains("lower its 9000"));
    }

    #[test]
    fn quantiles_are_measured() {
        assert!(quantile_problem(&[1, 2, 8, 90], 50, 8).is_none());
        assert!(quantile_problem(&[1, 9, 9, 90], 50, 8).is_some());
    }

    #[test]
    fn bare_files_are_named() {
        assert!(comment_share(&[file(8)]).is_empty());
        assert!(comment_share(&[file(60)])[0].problem.contains("a/x.rs (lacks "));
    }
}
