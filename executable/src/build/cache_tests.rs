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
fn a_second_build_leaves_the_first_in_its_place() {
    let directory = scratch("second");
    let cache = Cache::open(&directory).unwrap();
    let inode = |path: &PathBuf| fs::metadata(path).unwrap().ino();
    let first = stored(&cache, "m", Key([5; 32]), &[]);
    let before = inode(&first);
    // A server has granted this very file to its routines: another under its name would be denied
    // to them.
    let second = stored(&cache, "m", Key([5; 32]), &[]);
    assert_eq!((&second, inode(&second)), (&first, before));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn names_stay_inside() {
    let directory = scratch("names");
    let cache = Cache::open(&directory).unwrap();
    // Hostile: a module's name that climbs out of the directory, and one that is longer than any
    // file's name.
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
    let named = |number: u64| directory.join(format!("m-{number:032x}"));
    for number in 0..2 * EXECUTABLES_MAX as u64 + 10 {
        let file = File::create(named(number)).unwrap();
        file.set_modified(long_ago(2 + number)).unwrap();
    }
    let abandoned = directory.join("building-1-1");
    fs::create_dir(&abandoned).unwrap();
    File::open(&abandoned).unwrap().set_modified(long_ago(48)).unwrap();
    let path = stored(&cache, "m", Key([5; 32]), &[]);
    assert!(path.exists() && named(0).exists());
    assert!(!named(2 * EXECUTABLES_MAX as u64 + 9).exists());
    assert!(!abandoned.exists());
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn sweeps_nothing_that_it_has_not_made() {
    let directory = scratch("foreign");
    let cache = Cache::open(&directory).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(72 * 3600);
    let key = "0".repeat(2 * KEY_BYTES);
    let names = [
        "thesis",
        "m-1",
        "building-notes",
        "a.headers",
        &format!("{key}.txt"),
        &format!("m-{key}.bak"),
    ];
    let foreign: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    for number in 0..2 * EXECUTABLES_MAX {
        File::create(directory.join(format!("m-{number:032x}")))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
    }
    foreign.iter().for_each(|path| File::create(path).unwrap().set_modified(long_ago).unwrap());
    stored(&cache, "m", Key([6; 32]), &[]);
    assert!(foreign.iter().all(|path| path.exists()));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_header_over_the_limit_is_named_and_so_is_one_that_is_gone() {
    let directory = scratch("large");
    let cache = Cache::open(&directory).unwrap();
    let header = directory.join("large.h");
    File::create(&header).unwrap().set_len(HEADER_BYTES_MAX + 1).unwrap();
    let workspace = Workspace::new(cache.directory(), None).unwrap();
    fs::write(workspace.made().join("executable"), "program").unwrap();
    let store = |headers: &[PathBuf]| {
        let executable = workspace.open("executable").unwrap();
        cache.store("m", Key([7; 32]), &executable, headers).unwrap_err()
    };
    let error = store(std::slice::from_ref(&header));
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("a header has 67108865 bytes, 67108864 at most"), "{error}");
    assert!(error.to_string().contains("large.h"), "{error}");
    let many = vec![header; HEADERS_MAX + 1];
    assert!(store(&many).to_string().contains("it includes 10001 headers, 10000 at most"));
    let gone = store(&[directory.join("gone.h")]);
    assert_eq!(gone.kind(), ErrorKind::InvalidSource);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn nobody_else_puts_a_folder_in_its_place() {
    let above = scratch("above");
    let directory = above.join("farcall").join("executables");
    Cache::open(&directory).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!((mode(&above.join("farcall")), mode(&directory)), (0o700, 0o700));
    // Made by another program under a umask that lets a group write.
    fs::set_permissions(above.join("farcall"), Permissions::from_mode(0o777)).unwrap();
    Cache::open(&directory).unwrap();
    assert_eq!(mode(&above.join("farcall")), 0o700);
    // Hostile: a link to a folder of the victim's, in the place of the cache and of the folder
    // above.
    let precious = above.join("precious");
    DirBuilder::new().mode(0o700).create(&precious).unwrap();
    fs::rename(&directory, above.join("old")).unwrap();
    std::os::unix::fs::symlink(&precious, &directory).unwrap();
    let error = Cache::open(&directory).err().unwrap().to_string();
    assert!(error.contains("is not a directory, or is a link"), "{error}");
    fs::rename(above.join("farcall"), above.join("moved")).unwrap();
    DirBuilder::new().mode(0o700).create(precious.join("executables")).unwrap();
    std::os::unix::fs::symlink(&precious, above.join("farcall")).unwrap();
    assert!(Cache::open(&directory).is_err());
    fs::remove_dir_all(above).unwrap();
}
