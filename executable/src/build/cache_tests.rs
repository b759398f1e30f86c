//! The cache's files, their names and their sweep.
#![allow(clippy::unwrap_used)]

use super::*;

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("farcall-cache-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn stored(cache: &Cache, module: &str, key: Key, headers: &[PathBuf]) -> PathBuf {
    let workspace = Workspace::new(cache.directory(), None).unwrap();
    fs::write(workspace.made().join("executable"), "program").unwrap();
    cache.store(module, key, &workspace.open("executable").unwrap(), headers).unwrap()
}

#[test]
fn finds_what_it_stored_and_nothing_else() {
    let directory = scratch("find");
    let cache = Cache::open(&directory).unwrap();
    let key = Key([1; 32]);
    assert_eq!(cache.find("m", key), None);
    let header = directory.join("own.h");
    fs::write(&header, "1").unwrap();
    let path = stored(&cache, "m", key, std::slice::from_ref(&header));
    assert_eq!(cache.find("m", key), Some(path.clone()));
    assert_eq!(cache.find("m", Key([2; 32])), None);
    // The header changed, then vanished; the executable vanished.
    fs::write(&header, "2").unwrap();
    assert_eq!(cache.find("m", key), None);
    fs::remove_file(&header).unwrap();
    assert_eq!(cache.find("m", key), None);
    fs::write(&header, "1").unwrap();
    fs::remove_file(path).unwrap();
    assert_eq!(cache.find("m", key), None);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn names_stay_inside() {
    let directory = scratch("names");
    let cache = Cache::open(&directory).unwrap();
    // Hostile: a module's name that climbs out of the directory, and one that is longer than any file's name.
    for module in ["../../etc/passwd", &"x".repeat(10_000), ""] {
        let path = stored(&cache, module, Key([3; 32]), &[]);
        assert_eq!(path.parent(), Some(directory.as_path()), "{module}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn survives_a_damaged_list() {
    let directory = scratch("damaged");
    let cache = Cache::open(&directory).unwrap();
    let key = Key([4; 32]);
    stored(&cache, "m", key, &[]);
    // Hostile: a list of nonsense, one that names a directory, one too long to be true.
    for list in [b"\xff\xfe\0\n\n".to_vec(), b"/\n".to_vec(), b"/x\n".repeat(20_000)] {
        fs::write(cache.headers_file(key), list).unwrap();
        assert_eq!(cache.find("m", key), None);
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn sweeps_the_longest_unused() {
    let directory = scratch("sweep");
    let cache = Cache::open(&directory).unwrap();
    let long_ago = |hours| SystemTime::now() - Duration::from_secs(hours * 3600);
    for number in 0..2 * EXECUTABLES_MAX as u64 + 10 {
        let file = File::create(directory.join(format!("m-{number}"))).unwrap();
        file.set_modified(long_ago(2 + number)).unwrap();
    }
    let abandoned = directory.join("building-1-1");
    fs::create_dir(&abandoned).unwrap();
    File::open(&abandoned).unwrap().set_modified(long_ago(48)).unwrap();
    let path = stored(&cache, "m", Key([5; 32]), &[]);
    assert!(path.exists() && directory.join("m-0").exists());
    assert!(!directory.join(format!("m-{}", 2 * EXECUTABLES_MAX + 9)).exists());
    assert!(!abandoned.exists());
    fs::remove_dir_all(directory).unwrap();
}
