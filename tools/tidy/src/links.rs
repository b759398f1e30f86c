//! Checks that links of documents lead somewhere, that the index of `docs/` has every page, and
//! each decision a number.

use std::collections::HashSet;
use std::path::Path;

use crate::tree::{Tree, Violation};

/// The page that says which page is for whom.
const INDEX: &str = "docs/README.md";

/// Decisions are found by their folder.
const DECISIONS: &str = "docs/decisions/";

/// What each decision says in one sentence.
const DECISIONS_INDEX: &str = "docs/decisions/README.md";

/// Links within the repository whose file or heading does not exist.
pub fn broken(tree: &Tree) -> Vec<Violation> {
    let found = tree
        .documents
        .iter()
        .flat_map(|(document, text)| links(text).map(move |link| (document, link)));
    found
        .filter_map(|(document, (line, target))| {
            Some(Violation::new(format!("{document}:{line}"), problem(tree, document, &target)?))
        })
        .collect()
}

/// Pages below `docs/` that the index does not link to. Those of a folder may be listed by the page
/// beside it that has the folder's name.
pub fn unlisted(tree: &Tree) -> Vec<Violation> {
    let Some((_, index)) = tree.documents.iter().find(|(document, _)| document == INDEX) else {
        return vec![Violation::new(INDEX, "there is no index of the documents")];
    };
    let listed: Vec<String> = links(index).map(|(_, target)| format!("docs/{target}")).collect();
    let pages =
        tree.documents.iter().map(|(document, _)| document).filter(|document| is_page(document));
    let missing = pages.filter(|page| !listed.contains(page) && !listed_beside(tree, page));
    missing
        .map(|page| Violation::new(page, format!("{INDEX} does not link to this page")))
        .collect()
}

/// Whether `folder.md` links to `folder/page.md`.
fn listed_beside(tree: &Tree, page: &str) -> bool {
    let Some((folder, _)) = page.rsplit_once('/') else { return false };
    let beside = format!("{folder}.md");
    let Some((parent, _)) = folder.rsplit_once('/') else { return false };
    let list = tree.documents.iter().find(|(document, _)| *document == beside);
    list.is_some_and(|(_, text)| {
        links(text).any(|(_, target)| format!("{parent}/{target}") == page)
    })
}

/// Decisions whose number is another's too: "decision 0012" would be two.
pub fn shared_numbers(tree: &Tree) -> Vec<Violation> {
    let number = |document: &str| {
        document.strip_prefix(DECISIONS)?.split_once('-').map(|(number, _)| number.to_owned())
    };
    let mut seen = HashSet::new();
    let decisions =
        tree.documents.iter().filter_map(|(document, _)| Some((document, number(document)?)));
    let shared = decisions.filter(|(_, number)| !seen.insert(number.clone()));
    shared
        .map(|(document, number)| {
            Violation::new(document, format!("another decision is {number}, too"))
        })
        .collect()
}

/// Decisions that their index does not link to.
pub fn unlisted_decisions(tree: &Tree) -> Vec<Violation> {
    let Some((_, index)) = tree.documents.iter().find(|(document, _)| document == DECISIONS_INDEX)
    else {
        return vec![Violation::new(DECISIONS_INDEX, "there is no index of the decisions")];
    };
    let listed: HashSet<String> =
        links(index).map(|(_, target)| format!("{DECISIONS}{target}")).collect();
    let decisions = tree
        .documents
        .iter()
        .map(|(document, _)| document)
        .filter(|document| document.starts_with(DECISIONS) && *document != DECISIONS_INDEX);
    decisions
        .filter(|decision| !listed.contains(*decision))
        .map(|decision| {
            Violation::new(decision, format!("{DECISIONS_INDEX} does not link to this decision"))
        })
        .collect()
}

fn is_page(document: &str) -> bool {
    document.starts_with("docs/") && !document.starts_with(DECISIONS) && document != INDEX
}

/// Line and target of every link that is no address on the web.
fn links(text: &str) -> impl Iterator<Item = (usize, String)> {
    let targets = |(number, line): (usize, &str)| {
        // What stands between back quotes is code, and may look like a link.
        let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets =
            prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string()));
        targets.map(|target| (number, target)).collect::<Vec<_>>()
    };
    outside_code(text)
        .flat_map(targets)
        .filter(|(_, target)| !target.contains(':'))
        .collect::<Vec<_>>()
        .into_iter()
}

/// Lines outside of fenced code, numbered from 1.
fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

fn problem(tree: &Tree, document: &str, target: &str) -> Option<String> {
    let (path, anchor) =
        target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let folder = tree.root.join(document).parent().map(Path::to_path_buf).unwrap_or_default();
    let file = if path.is_empty() { tree.root.join(document) } else { folder.join(path) };
    let Some(inside) = file
        .canonicalize()
        .ok()
        .and_then(|file| Some(file.strip_prefix(&tree.root).ok()?.to_owned()))
    else {
        return Some(format!("the link leads nowhere: there is no `{path}`"));
    };
    let anchor = anchor?;
    let text = &tree.documents.iter().find(|(document, _)| Path::new(document) == inside)?.1;
    let stands =
        outside_code(text).any(|(_, line)| line.starts_with('#') && heading_anchor(line) == anchor);
    (!stands).then(|| format!("`{}` has no heading for `#{anchor}`", inside.display()))
}

/// What a heading is called in addresses: lower case, blanks as dashes, no punctuation (GitHub's
/// rule).
fn heading_anchor(line: &str) -> String {
    let kept = line
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::repository;

    fn tree(page: &str) -> Tree {
        let document = |path: &str, text: &str| (path.to_string(), text.to_string());
        let documents = vec![
            document("README.md", "# Farcall\n\n```sh\n# No heading\n```\n## Set it up, `now`\n"),
            document(INDEX, "[listed](reference/cli.md)\n"),
            document("docs/reference/cli.md", page),
            document("docs/reference/other.md", ""),
        ];
        Tree { root: repository().root, sources: Vec::new(), documents }
    }

    fn problems(page: &str) -> Vec<String> {
        broken(&tree(page)).into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn a_decision_that_its_index_does_not_list_is_found() {
        let mut tree = tree("");
        let mut add = |path: &str, text: &str| tree.documents.push((path.into(), text.into()));
        add(DECISIONS_INDEX, "[0001](0001-one.md)\n");
        add("docs/decisions/0001-one.md", "");
        add("docs/decisions/0002-two.md", "");
        let found = unlisted_decisions(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].place.contains("0002-two.md"));
    }

    #[test]
    fn links_to_what_exists_hold() {
        let page = "# Here\n[a](../../README.md), [two\nlines](../../README.md#set-it-up-now) \
                    [b](#here) [c](../../spec)\n[d](https://nowhere.invalid/x.md) \
                    `[e](no.md)`\n```\n[f](no.md)\n```\n";
        assert_eq!(problems(page), Vec::<String>::new());
    }

    #[test]
    fn links_to_what_does_not_exist_are_found() {
        let found = problems("[a](no.md) [b](../../README.md#no-heading) [c](#gone)\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].contains("no `no.md`")
                && found[1].contains("#no-heading")
                && found[2].contains("#gone")
        );
        assert_eq!(problems("[outside](../../../..)").len(), 1);
    }

    #[test]
    fn pages_that_the_index_forgets_are_found() {
        let found: Vec<String> =
            unlisted(&tree("")).into_iter().map(|violation| violation.place).collect();
        assert_eq!(found, ["docs/reference/other.md"]);
    }

    #[test]
    fn decisions_of_one_number_are_found() {
        let mut tree = tree("");
        let decisions = ["0001-workspace.md", "0002-waist.md", "0001-language.md"];
        tree.documents.extend(decisions.map(|name| (format!("{DECISIONS}{name}"), String::new())));
        let found: Vec<String> =
            shared_numbers(&tree).into_iter().map(|violation| violation.place).collect();
        assert_eq!(found, ["docs/decisions/0001-language.md"]);
    }
}
