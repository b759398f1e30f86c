//! Tests of the manifest: defaults, places of mistakes, overrides.

use super::*;

mod judge;

use judge::Example;

fn message(file: Result<Manifest>) -> String {
    file.unwrap_err().to_string()
}

#[test]
fn the_kernels_default_text_says_the_defaults() {
    let manifest = Manifest::of(&[]).unwrap();
    assert_eq!(manifest.limits, Limits::default());
    assert_eq!(manifest.node_name, NodeText::default().name);
    let empty = Manifest::parse("empty", "").unwrap();
    assert_eq!((empty.limits, empty.node_name), (manifest.limits, manifest.node_name));
}

#[test]
fn a_wrong_key_has_file_line_column_and_the_nearest_key() {
    let text = message(Manifest::parse(
        "farcall.toml",
        "[node]\nname = \"x\"\n[limits]\n  plugin_max = 3\n",
    ));
    assert!(text.contains("unknown field `plugin_max`"), "{text}");
    assert!(
        text.ends_with("(file: farcall.toml, line: 4, column: 3); did you mean \"plugins_max\"?"),
        "{text}"
    );
}

#[test]
fn wrong_sections_types_hosts_and_syntax_are_refused() {
    for (text, expected) in [
        ("[nodes]\n", "did you mean \"node\"?"),
        ("[limits]\nplugins_max = \"many\"\n", "line: 2, column: 15"),
        ("[limits]\nplugins_max = -1\n", "line: 2, column: 15"),
        (
            "[[plugin]]\nname = \"a\"\nslot = \"b\"\nhost = \"in_thread\"\n",
            "did you mean \"in-thread\"?",
        ),
        ("[[plugin]]\nname = \"a\"\n", "missing field `slot`"),
        ("[plugin]\nname = \"a\"\n", "write [[plugin]] in double brackets"),
        ("[node\n", "line: 1, column: 6"),
        ("[node]\nname = \"a\"\nname = \"b\"\n", "line: 3, column: 1"),
    ] {
        let message = message(Manifest::parse("f", text));
        assert!(message.contains(expected), "{text:?} gave {message}");
    }
}

#[test]
fn options_errors_point_into_the_manifest() {
    let text = "[[plugin]]\nname = \"a\"\nslot = \"s\"\n[[plugin]]\nname = \"b\"\nslot = \"s\"\n\
                [plugin.options]\nworkers_max = 3\nlisen = \"x\"\n";
    let manifest = Manifest::parse("f", text).unwrap();
    assert_eq!(manifest.plugins[0].options.read::<Example>().unwrap(), Example::default());
    let error = manifest.plugins[1].options.read::<Example>().unwrap_err().to_string();
    assert!(
        error.contains("unknown field `lisen`") && error.contains("line: 9, column: 1"),
        "{error}"
    );
    assert!(error.ends_with("did you mean \"listen\"?"), "{error}");
}

#[test]
fn overrides_win_and_their_mistakes_carry_their_name() {
    let text =
        "[[plugin]]\nname = \"a\"\nslot = \"s\"\noptions = { workers_max = 3, listen = \"x\" }\n";
    let mut manifest = Manifest::parse("f", text).unwrap();
    manifest.override_options("a", "--listen", "listen = \"y\"").unwrap();
    let read: Example = manifest.plugins[0].options.read().unwrap();
    assert_eq!(read, Example { workers_max: 3, listen: "y".to_string() });
    manifest.override_options("a", "--workers", "workers_max = true").unwrap();
    let error = manifest.plugins[0].options.read::<Example>().unwrap_err().to_string();
    assert!(error.contains("file: --workers"), "{error}");
    assert_eq!(
        manifest.override_options("b", "--x", "x = 1").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        manifest.override_options("a", "--x", "x =").unwrap_err().kind(),
        ErrorKind::InvalidSource
    );
}

#[test]
fn wrong_numbers_are_explained_without_rusts_words() {
    for (value, expected) in [
        ("-1", "expected an integer of 0 or more (file: f, line: 2, column: 15)"),
        ("\"many\"", "expected an integer of 0 or more"),
        ("1.5", "expected an integer of 0 or more"),
        ("99999999999999999999", "the number is too large"),
    ] {
        let message = message(Manifest::parse("f", &format!("[limits]\nplugins_max = {value}\n")));
        assert!(message.contains(expected), "{value} gave {message}");
        assert!(
            ["usize", "u64", "i128", "TOML value"].iter().all(|word| !message.contains(word)),
            "{message}"
        );
    }
}

#[test]
fn options_that_let_nothing_work_are_refused_at_their_place() {
    let text = "[[plugin]]\nname = \"a\"\nslot = \"s\"\n[plugin.options]\nlisten = \
        \"x\"\nworkers_max = 0\n";
    let mut manifest = Manifest::parse("f", text).unwrap();
    let check = |manifest: &Manifest| {
        let read: Example = manifest.plugins[0].options.read().unwrap();
        manifest.plugins[0].options.check_least(&[("workers_max", read.workers_max as u64, 1)])
    };
    let error = check(&manifest).unwrap_err().to_string();
    assert!(
        error.contains("workers_max is 0") && error.contains("file: f, line: 6, column: 1"),
        "{error}"
    );
    assert!(error.ends_with("set at least 1"), "{error}");
    // Whatever set it last is to blame, and a default has no place.
    manifest.override_options("a", "--workers", "workers_max = 0").unwrap();
    assert!(check(&manifest).unwrap_err().to_string().contains("file: --workers, line: 1"));
    assert!(!Options::default().wrong("workers_max", "it is odd").to_string().contains("line"));
    manifest.override_options("a", "--workers", "workers_max = 1").unwrap();
    check(&manifest).unwrap();
}

#[test]
fn what_a_manifest_leaves_out_is_filled_in() {
    fn construct(_: &Options) -> Result<Box<dyn crate::Plugin>> {
        Err(Error::internal("construct", "not here"))
    }
    let plugin = |name, provides| PluginDescription {
        name,
        provides,
        needs: &[],
        uses: &[],
        options: "",
        construct,
    };
    let all = [plugin("a", &["first"]), plugin("b", &["second"]), plugin("c", &["third"])];
    let text =
        "[[plugin]]\nname = \"x\"\nslot = \"first\"\n[[plugin]]\nname = \"b\"\nslot = \"wrong\"\n";
    let names =
        |manifest: Manifest| manifest.plugins.into_iter().map(|one| one.name).collect::<Vec<_>>();
    // Another plugin in a slot takes it, and a slot that is wrong is not repaired.
    assert_eq!(names(Manifest::parse("f", text).unwrap().completed(&all)), ["x", "b", "c"]);
    assert_eq!(names(Manifest::parse("f", "").unwrap().completed(&all)), ["a", "b", "c"]);
}

#[test]
fn a_missing_file_is_not_found() {
    let error = Manifest::load(Path::new("/nonexistent/farcall.toml")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("/nonexistent/farcall.toml"), "{error}");
}

#[test]
fn files_that_are_no_manifest_are_refused_without_reading_on() {
    // Endless, and of size 0 by its metadata.
    let endless = Manifest::load(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(
        (endless.kind(), endless.message()),
        (ErrorKind::InvalidSource, "it is not a regular file")
    );
    let path = std::env::temp_dir().join(format!("farcall-long-{}.toml", std::process::id()));
    std::fs::write(&path, " ".repeat(FILE_BYTES_MAX as usize + 1)).unwrap();
    let long = Manifest::load(&path).unwrap_err();
    assert_eq!(
        (long.kind(), long.message()),
        (ErrorKind::InvalidSource, "the file is too large for a configuration file")
    );
    std::fs::remove_file(path).unwrap();
    // A program: not text at all.
    let program = Manifest::load(&std::env::current_exe().unwrap()).unwrap_err();
    assert_eq!(program.kind(), ErrorKind::InvalidSource);
    // A folder.
    assert_eq!(Manifest::load(Path::new("/")).unwrap_err().message(), "it is not a regular file");
}

/// Whatever stands in a manifest, it is read or refused in words, and at a place that it has.
#[test]
fn fuzz_of_manifests_never_panics() {
    use farcall_base::{Random, SeededRandom};
    let whole = Manifest::default_text(&[])
        + "[[plugin]]\nname = \"a\"\nslot = \"s\"\nhost = \
            \"in-thread\"\n[plugin.options]\nworkers_max = 1\nlisten = \"é\"\n";
    let mut random = SeededRandom::new(20);
    let mut read = 0;
    let mut refused = 0;
    for round in 0..farcall_golden::fuzz_rounds(20_000) {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..1 + random.next() % 3 {
            damage(&mut random, &mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let is_read = judge::text(&text, &|| format!("round {round}"));
        *(if is_read { &mut read } else { &mut refused }) += 1;
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

/// One change: a byte that TOML cares about, a bit, a piece lost, a piece twice, or an end too
/// early.
fn damage(random: &mut farcall_base::SeededRandom, bytes: &mut Vec<u8>) {
    use farcall_base::Random;
    if bytes.is_empty() {
        return;
    }
    let place = (random.next() % bytes.len() as u64) as usize;
    let piece = place..bytes.len().min(place + 1 + (random.next() % 12) as usize);
    match random.next() % 5 {
        0 => bytes[place] = b"[]=\"\n{}#.'x1\\"[(random.next() % 13) as usize],
        1 => bytes[place] ^= 1 << (random.next() % 8),
        2 => drop(bytes.drain(piece)),
        3 => bytes.extend_from_within(piece),
        _ => bytes.truncate(place),
    }
}
