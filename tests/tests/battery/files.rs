//! Files: what travels is their content, and the routine gets paths of its own.

use farcall_client::{Argument, Output, Outputs};
use farcall_tests::Directory;

use crate::battery::{Setting, client};

/// Contents on both sides of what fits into a message, of a frame's end and of what is written at a
/// time.
const SIZES: [usize; 8] = [0, 1, 4087, 4088, 4089, 262_144, 262_145, 5_000_003];

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn with(content: &[u8], last: u8) -> Vec<u8> {
    content.iter().copied().chain([last]).collect()
}

fn path(directory: &Directory, name: &str) -> Argument<'static> {
    Argument::from(directory.0.join(name).to_str().unwrap())
}

fn bytes_of(outputs: &Outputs, name: &str) -> Vec<u8> {
    match outputs.get(name).unwrap() {
        Output::Text(Some(content)) => content.clone(),
        _ => panic!("{name} is a content"),
    }
}

fn written(outputs: &Outputs, name: &str) -> u64 {
    match outputs.get(name).unwrap() {
        Output::Written(bytes) => bytes[0],
        _ => panic!("{name} was written"),
    }
}

pub fn files_there_and_back(setting: Setting) {
    let files = client(setting).routine("files").unwrap();
    let directory = Directory::new();
    for bytes in SIZES {
        let given = content(bytes);
        let changed = content(bytes / 2);
        directory.write_bytes("given", &given);
        directory.write_bytes("changed", &changed);
        let arguments = [
            ("given", path(&directory, "given")),
            ("changed", path(&directory, "changed")),
            ("made", path(&directory, "made")),
        ];
        let outputs = files.call(arguments).unwrap();
        assert_eq!(outputs.scalar::<i64>("size").unwrap(), bytes as i64);
        assert_eq!(outputs.scalar::<i32>("mode").unwrap(), 0o600, "nobody else reads it");
        assert_eq!(
            outputs.scalar::<i32>("known").unwrap(),
            0,
            "what is there of an old result stays with the caller"
        );
        assert_eq!(written(&outputs, "made"), bytes as u64 + 1);
        assert!(directory.read("made") == with(&given, b'!'), "{bytes} bytes");
        assert!(directory.read("changed") == with(&changed, b'+'), "{bytes} bytes");
        assert!(directory.read("given") == given, "{bytes} bytes");
    }
    assert_eq!(directory.names(), ["changed", "given", "made"], "nothing lies beside them");
}

pub fn contents_there_and_back(setting: Setting) {
    let files = client(setting).routine("files").unwrap();
    for bytes in SIZES {
        let given = content(bytes);
        let changed = content(bytes / 2);
        let arguments =
            [("given", Argument::Raw(given.clone())), ("changed", Argument::Raw(changed.clone()))];
        let outputs = files.call(arguments).unwrap();
        assert!(bytes_of(&outputs, "made") == with(&given, b'!'), "{bytes} bytes");
        assert!(bytes_of(&outputs, "changed") == with(&changed, b'+'), "{bytes} bytes");
    }
}

pub fn files_that_are_null(setting: Setting) {
    let files = client(setting).routine("files").unwrap();
    let arguments =
        [("given", Argument::Null), ("changed", Argument::Null), ("made", Argument::Null)];
    let outputs = files.call(arguments).unwrap();
    assert_eq!(outputs.scalar::<i64>("size").unwrap(), -1);
    assert_eq!(outputs.scalar::<i32>("mode").unwrap(), -1);
    for name in ["changed", "made"] {
        assert!(matches!(outputs.get(name).unwrap(), Output::Null), "{name}");
    }
}
