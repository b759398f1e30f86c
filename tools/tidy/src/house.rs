//! The house itself, held to its rules. Run it alone with `cargo test -p farcall-tidy`.

use std::fs;
use std::sync::OnceLock;

use crate::metadata::{Package, packages};
use crate::tree::{SourceFile, Tree, Violation, repository};
use crate::{
    architecture, density, faults, layers, links, printing, reach, sizes, structs, subjects, text,
    tracked, words,
};

fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(repository)
}

fn workspace() -> &'static [Package] {
    static PACKAGES: OnceLock<Vec<Package>> = OnceLock::new();
    PACKAGES.get_or_init(|| packages(&tree().root))
}

/// Reports everything that is wrong, sorted by place.
fn assert_holds(mut violations: Vec<Violation>) {
    violations.sort();
    let lines: Vec<String> =
        violations.iter().map(|found| format!("  {}: {}", found.place, found.problem)).collect();
    assert!(violations.is_empty(), "{} to fix\n{}", violations.len(), lines.join("\n"));
}

fn each_source(check: impl Fn(&SourceFile) -> Vec<Violation>) {
    assert!(!tree().sources.is_empty(), "the tree has sources");
    assert_holds(tree().sources.iter().flat_map(check).collect());
}

fn list(name: &str) -> String {
    let path = tree().root.join("tools/tidy").join(name);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

#[test]
fn layers_hold() {
    assert!(workspace().len() > 10, "cargo lists the workspace");
    assert_holds(layers::violations(workspace()));
}

#[test]
fn first_lines_say_what_a_file_is() {
    each_source(|file| text::first_line(file).into_iter().collect());
}

#[test]
fn no_notes_are_left() {
    each_source(text::notes);
}

#[test]
fn names_say_something() {
    each_source(text::bags);
}

#[test]
fn unwrap_stays_in_tests() {
    let test_files = reach::test_files(&tree().sources, workspace());
    each_source(|file| text::unwraps(file, &test_files));
}

#[test]
fn unsafe_stays_in_its_rooms() {
    let rooms = text::read_rooms(&list("unsafe.txt"));
    assert!(
        rooms.iter().all(|room| room.reason.split_whitespace().count() > 1),
        "every room has its reason"
    );
    assert_holds(text::unsafe_code(&tree().sources, &rooms));
}

#[test]
fn whatever_prints_makes_it_printable() {
    let rooms = text::read_rooms(&list("printing.txt"));
    assert!(
        rooms.iter().all(|room| room.reason.split_whitespace().count() > 3),
        "every file has its reason"
    );
    assert_holds(printing::sites(&tree().sources, &rooms));
}

#[test]
fn files_and_functions_are_short() {
    match sizes::read_exceptions(&list("ratchet.txt")) {
        Ok(exceptions) => assert_holds(sizes::lengths(&tree().sources, &exceptions)),
        Err(refused) => assert_holds(refused),
    }
}

#[test]
fn structs_have_few_fields() {
    match structs::read(&list("structs.txt")) {
        Ok(listed) => assert_holds(structs::violations(&tree().sources, &listed)),
        Err(refused) => assert_holds(refused),
    }
}

#[test]
fn most_functions_are_very_short() {
    assert_holds(sizes::distribution(&tree().sources));
}

#[test]
fn comments_say_why() {
    assert_holds(sizes::comment_share(&tree().sources));
}

#[test]
fn every_rust_file_is_alive() {
    assert_holds(reach::dead_files(&tree().sources, workspace()));
}

#[test]
fn every_crate_has_a_description() {
    assert_holds(architecture::descriptions(workspace()));
}

#[test]
fn plugins_look_alike() {
    assert_holds(architecture::plugins(tree()));
}

#[test]
fn rooms_are_on_the_map() {
    assert_holds(architecture::rooms(tree(), &architecture::read_map(tree())));
}

#[test]
fn one_call_can_be_followed() {
    assert_holds(architecture::places(tree(), &architecture::read_map(tree()), "Follow one call"));
}

#[test]
fn subjects_are_where_the_map_says() {
    assert_holds(architecture::places(tree(), &architecture::read_map(tree()), "Find a subject"));
}

#[test]
fn faults_are_watched() {
    let tables = faults::read(tree());
    assert!(tables.contains("may_run_again"), "the tables of faults are there");
    assert_holds(faults::violations(tree(), &tables));
}

#[test]
fn links_lead_somewhere() {
    assert!(tree().documents.len() > 10, "the tree has documents");
    assert_holds(links::broken(tree()));
}

#[test]
fn every_page_is_in_the_index() {
    assert_holds(links::unlisted(tree()));
}

#[test]
fn every_decision_is_in_its_index() {
    assert_holds(links::unlisted_decisions(tree()));
}

#[test]
fn every_decision_has_a_number_of_its_own() {
    assert_holds(links::shared_numbers(tree()));
}

/// A list of numbers, which FARCALL_REWRITE=1 lowers.
fn falling_list(name: &str, lowered: impl Fn(&str) -> String) -> String {
    let old = list(name);
    if std::env::var_os("FARCALL_REWRITE").is_none() {
        return old;
    }
    let new = lowered(&old);
    if new != old {
        let path = tree().root.join("tools/tidy").join(name);
        fs::write(&path, &new)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
    new
}

#[test]
fn code_is_not_thick() {
    let sources = &tree().sources;
    match density::read(&falling_list("density.txt", |old| density::lowered(old, sources))) {
        Ok(limits) => assert_holds(density::violations(sources, &limits)),
        Err(refused) => assert_holds(refused),
    }
}

#[test]
fn nothing_that_is_made_is_tracked() {
    let root = &tree().root;
    let ignored = tracked::files(root, &["--cached", "--ignored", "--exclude-standard"]);
    assert_holds(tracked::violations(&tracked::files(root, &[]), &ignored));
}

#[test]
fn words_are_plain() {
    match words::read(&falling_list("words.txt", |old| words::lowered(old, tree()))) {
        Ok(banned) => assert_holds(words::violations(tree(), &banned)),
        Err(refused) => assert_holds(refused),
    }
}

#[test]
fn subjects_of_commits_begin_with_a_plain_verb() {
    let verbs = list("verbs.txt");
    assert_holds(subjects::violations(
        &subjects::commits(&tree().root),
        &subjects::read_verbs(&verbs),
    ));
}
