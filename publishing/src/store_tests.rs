//! What a store keeps, and what it makes of what an earlier one left.

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("farcall-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn open(&self) -> (Store, Vec<GoneModule>) {
        Store::open(Some(self.0.clone()))
    }

    fn staying(&self) -> Vec<String> {
        staying(Some(self.0.clone())).into_iter().map(|record| record.module).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn file(name: &str, content: &str) -> PublishedFile {
    PublishedFile { name: name.to_owned(), content: content.as_bytes().to_vec() }
}

fn record(module: &str, file: &Path, stays: bool) -> Record {
    Record {
        module: module.to_owned(),
        routines: vec!["one".to_owned()],
        owner: "anna".to_owned(),
        file: file.to_path_buf(),
        named: format!("{module}.py"),
        stays,
    }
}

#[test]
fn what_stays_is_found_again_and_the_rest_is_known_to_be_gone() {
    let folder = Folder::new("again");
    let (mut store, gone) = folder.open();
    assert!(gone.is_empty() && folder.staying().is_empty());
    let stays = store.place(&[file("a.py", "a"), file("parts/b.py", "b")]).unwrap();
    store.note(&record("a", &stays.main, true), Some(&stays)).unwrap();
    let goes = store.place(&[file("b.py", "b")]).unwrap();
    store.note(&record("b", &goes.main, false), Some(&goes)).unwrap();
    store.note(&record("c", Path::new("/there/c.idl"), true), None).unwrap();

    assert_eq!(folder.staying(), ["c", "a"]);
    assert!(goes.main.exists(), "a look changes nothing");
    let (_, gone) = folder.open();
    assert_eq!(folder.staying(), ["c", "a"]);
    assert_eq!(fs::read_to_string(stays.main.with_file_name("parts/b.py")).unwrap(), "b");
    assert_eq!(gone.len(), 1);
    assert_eq!((gone[0].module.as_str(), gone[0].file.as_str()), ("b", "b.py"));
    assert!(!goes.main.exists());
    assert_eq!(folder.open().1.len(), 1, "that it was there is known for longer");
}

#[test]
fn a_module_has_one_place() {
    let folder = Folder::new("place");
    let (mut store, _) = folder.open();
    let first = store.place(&[file("a.py", "1")]).unwrap();
    store.note(&record("a", &first.main, true), Some(&first)).unwrap();
    let second = store.place(&[file("a.py", "2")]).unwrap();
    assert!(first.main.exists(), "until the second one is published");
    store.note(&record("a", &second.main, false), Some(&second)).unwrap();
    assert!(!first.main.exists() && second.main.exists());
    let failed = store.place(&[file("a.py", "3")]).unwrap();
    store.discard(&failed);
    assert!(!failed.main.exists() && second.main.exists());
    store.forget("a");
    assert!(folder.open().1.is_empty() && folder.staying().is_empty());
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let folder = Folder::new("names");
    let (mut store, _) = folder.open();
    for name in ["", ".", "..", "/etc/passwd", "../a.py", "a/../../b", "a\0b"] {
        let error = store.place(&[file("a.py", ""), file(name, "")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name:?}");
    }
    assert!(store.place(&[]).is_err());
    let twice = store.place(&[file("a.py", ""), file("a.py", "")]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::System);
    let (mut nowhere, _) = Store::open(None);
    let error = nowhere.place(&[file("a.py", "")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}
