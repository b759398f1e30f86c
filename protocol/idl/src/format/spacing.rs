//! Where blanks stand between the tokens of one line, and where a long line is broken.

use super::pieces::Piece;
use super::{INDENT, WIDTH};
use crate::token::Kind;
use crate::words as language;

/// What `?` is among the tokens.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Names {
    /// The start of a name, `?gesv`.
    Varying,
    /// A word of its own, as in `Variants ? = s d`.
    Words,
    /// Half of `condition ? this : that`.
    Never,
}

/// What a token is to its neighbours.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// A constant, a body, a brace.
    Atom,
    /// A word behind which an operand follows: `where -1 < n`.
    Leading,
    Word,
    Open,
    Close,
    /// A comma or semicolon.
    Behind,
    /// Belongs to what follows: `-n`, `*a`, `?gesv`.
    Prefix,
    /// An operator without blanks: `2*n`.
    Tight,
    /// An operator between blanks: `n + 1`.
    Loose,
}

/// A token, with the comments before it, ready to be written.
pub(super) struct Word {
    pub text: String,
    /// Whether a blank separates it from the one before.
    space: bool,
    /// Whether a line may end before it.
    may_break: bool,
    /// Whether the author ended a line there.
    broken: bool,
}

/// The tokens' texts with their blanks; none if a comment ends a line among them. What stands
/// before the first token is not looked at.
pub(super) fn words(pieces: &[Piece<'_>], names: Names) -> Option<Vec<Word>> {
    let mut state = State { names, before: None, open: vec![Level::default()] };
    let mut found = Vec::with_capacity(pieces.len());
    for (index, piece) in pieces.iter().enumerate() {
        let role = state.role(piece);
        let before = index.checked_sub(1).map(|before| &pieces[before]);
        let space = before.is_some_and(|before| state.separates(before, role, piece));
        let mut text = String::new();
        for remark in piece.gap.remarks.iter().filter(|_| index > 0) {
            if !remark.fits_in_line() || remark.is_directive() {
                return None;
            }
            text.push_str(&format!("{} ", remark.text));
        }
        let may_break = before.is_some_and(|before| {
            before.is(",") || (before.kind == Kind::Text && piece.kind == Kind::Text)
        });
        let space = space || !text.is_empty();
        text.push_str(piece.text);
        found.push(Word { text, space, may_break, broken: may_break && piece.gap.breaks() });
        state.take(role, piece);
    }
    Some(found)
}

/// All on one line.
pub(super) fn line(pieces: &[Piece<'_>], names: Names) -> Option<String> {
    Some(
        words(pieces, names)?
            .iter()
            .map(|word| format!("{}{}", if word.space { " " } else { "" }, word.text))
            .collect(),
    )
}

/// Lines that end where the author ended one behind a comma, or where the next word would not fit.
/// The first begins at `indent`, all others `hang` further to the right.
pub(super) fn filled(words: &[Word], indent: usize, hang: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for (index, word) in words.iter().enumerate() {
        // As far as the next place where a line may end.
        let together = words[index..]
            .iter()
            .enumerate()
            .take_while(|(ahead, word)| *ahead == 0 || !word.may_break);
        let width: usize =
            together.map(|(_, word)| word.text.chars().count() + usize::from(word.space)).sum();
        if word.may_break && (word.broken || column + width > WIDTH) {
            column = indent + hang;
            text.push_str(&format!("\n{}", " ".repeat(column)));
        } else if word.space {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word.text);
        column += word.text.chars().count();
    }
    text
}

/// An option, or how the routine is called.
pub(super) fn part(pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    let names = match pieces[0].text {
        "Calls" | "Alias" => Names::Varying,
        _ => Names::Never,
    };
    // A text goes on below itself.
    let hang = if pieces[0].kind == Kind::Text { 0 } else { INDENT };
    Some(filled(&words(pieces, names)?, indent, hang))
}

/// An open parenthesis or bracket; the first level is the declaration itself.
#[derive(Default)]
struct Level {
    /// `?` whose `:` is still to come.
    questions: usize,
    /// Whether what stands here is a value; else it declares something.
    value: bool,
}

struct State {
    names: Names,
    before: Option<Role>,
    open: Vec<Level>,
}

impl State {
    fn level(&mut self) -> &mut Level {
        self.open.last_mut().expect("the first level is never closed")
    }

    /// Whether an operand comes next, so that a sign before it is the operand's own.
    fn wants_operand(&self) -> bool {
        !matches!(self.before, Some(Role::Word | Role::Atom | Role::Close))
    }

    fn role(&mut self, piece: &Piece<'_>) -> Role {
        let Kind::Symbol(symbol) = piece.kind else { return self.role_of_word(piece) };
        let declares = !self.level().value && self.before == Some(Role::Word);
        match symbol {
            "(" | "[" => Role::Open,
            ")" | "]" => Role::Close,
            "," | ";" => Role::Behind,
            "{" | "}" => Role::Atom,
            "?" if self.names == Names::Varying => Role::Prefix,
            "?" if self.names == Names::Words => Role::Atom,
            "*" if self.wants_operand() || declares => Role::Prefix,
            "-" | "+" | "!" if self.wants_operand() => Role::Prefix,
            "*" | "/" | "%" | "^" => Role::Tight,
            ":" if self.level().questions == 0 => Role::Tight,
            _ => Role::Loose,
        }
    }

    fn role_of_word(&self, piece: &Piece<'_>) -> Role {
        let leading = ["when", "where", "Complexity", "CalcOrder", "Processors"];
        match piece.kind {
            // A parameter may be called like a clause: there it stands where an operand does.
            Kind::Word
                if leading.contains(&piece.text)
                    && (self.before.is_none() || !self.wants_operand()) =>
            {
                Role::Leading
            }
            Kind::Word => Role::Word,
            _ => Role::Atom,
        }
    }

    /// Whether a blank stands between the last token and this one.
    fn separates(&self, before: &Piece<'_>, role: Role, piece: &Piece<'_>) -> bool {
        let comment = before.text == "/" && piece.text.starts_with('*');
        match (self.before, role) {
            (_, Role::Behind | Role::Close) | (Some(Role::Open | Role::Prefix), _) => false,
            (Some(Role::Tight), _) | (_, Role::Tight) => comment,
            (Some(Role::Word | Role::Close), Role::Open) if piece.text == "[" => false,
            (Some(Role::Word), Role::Open) => !takes_list(before.text),
            _ => true,
        }
    }

    /// Remembers the token that was written.
    fn take(&mut self, role: Role, piece: &Piece<'_>) {
        match (role, piece.text) {
            (Role::Open, opened) => {
                let value = self.level().value || opened == "[";
                self.open.push(Level { questions: 0, value });
            }
            (Role::Close, _) if self.open.len() > 1 => drop(self.open.pop()),
            (Role::Loose, "?") => self.level().questions += 1,
            (Role::Loose, ":") => self.level().questions -= 1,
            (Role::Loose, "=") | (Role::Leading, _) => self.level().value = true,
            // The next parameter or field is declared behind it.
            (Role::Behind, _) if self.open.len() == 1 => self.level().value = false,
            _ => {}
        }
        self.before = Some(role);
    }
}

/// Whether a parenthesis behind the word belongs to it: a function's, a routine's; not a mode's or
/// a type's.
fn takes_list(word: &str) -> bool {
    let specifier = ["const", "allocate", "broadcast", "column"].contains(&word);
    !(specifier || language::mode(word).is_some() || language::types().any(|known| known == word))
}
