//! Contents there and back, and what becomes of those that change on the way.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;

use super::*;

/// Sends in pieces of so many bytes, and receives in the same.
fn pass(reader: &mut ContentReader, piece: usize) -> (Vec<u8>, Result<()>) {
    let mut check = ContentCheck::new(reader.travelling()).unwrap();
    let mut left = reader.travelling() as usize;
    let mut content = Vec::new();
    while left > 0 {
        let length = left.min(piece);
        for block in reader.piece(length).unwrap().blocks(length).unwrap() {
            content.extend_from_slice(check.take(block.bytes()));
        }
        left -= length;
    }
    (content, check.finish())
}

/// A file of this test's own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("farcall-content-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn reader(&self) -> ContentReader {
        ContentReader::of_file(File::open(&self.0).unwrap()).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn contents_come_as_they_were_in_pieces_of_any_size() {
    for bytes in [0_usize, 1, 7, 8, 9, 1000] {
        let content: Vec<u8> = (0..bytes).map(|i| (i * 37) as u8).collect();
        let scratch = Scratch::new("pieces", &content);
        for piece in [1, 3, 8, 4096] {
            let (came, outcome) = pass(&mut scratch.reader(), piece);
            assert!(came == content && outcome.is_ok(), "{bytes} bytes in pieces of {piece}");
            let (came, outcome) = pass(&mut ContentReader::of_bytes(content.clone()), piece);
            assert!(
                came == content && outcome.is_ok(),
                "{bytes} bytes of memory in pieces of {piece}"
            );
        }
    }
}

#[test]
fn the_checksum_is_that_of_the_specification() {
    // XXH3-64 of no bytes, as the reference implementation has it.
    let inline = ContentReader::of_bytes(Vec::new()).inline().unwrap();
    assert_eq!(inline.as_slice(), 0x2d06_8005_38d3_94c2_u64.to_le_bytes());
}

#[test]
fn a_bit_that_turned_is_found_wherever_it_is() {
    let inline = ContentReader::of_bytes(b"numbers".to_vec()).inline().unwrap();
    for bit in 0..inline.as_slice().len() * 8 {
        let mut came = inline.as_slice().to_vec();
        came[bit / 8] ^= 1 << (bit % 8);
        let mut check = ContentCheck::new(came.len() as u64).unwrap();
        check.take(&came);
        assert_eq!(check.finish().unwrap_err().kind(), ErrorKind::Damaged, "bit {bit}");
    }
}

#[test]
fn a_file_that_gets_shorter_or_changes_is_not_believed() {
    let shorter: fn(&mut File) = |file| file.set_len(10).unwrap();
    let other: fn(&mut File) = |file| file.write_all(b"others").unwrap();
    for change in [shorter, other] {
        let scratch = Scratch::new("changes", &[1; 100]);
        let mut reader = scratch.reader();
        let first = reader.piece(50).unwrap().blocks(50).unwrap();
        // Its time of change must differ: the clock of files ticks every few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        change(&mut std::fs::OpenOptions::new().write(true).open(&scratch.0).unwrap());
        let rest = reader.piece(58).unwrap().blocks(58).unwrap();
        let mut check = ContentCheck::new(108).unwrap();
        for block in first.iter().chain(&rest) {
            check.take(block.bytes());
        }
        assert_eq!(check.finish().unwrap_err().kind(), ErrorKind::Damaged);
        assert!(reader.trouble().unwrap().to_string().contains("changed while it was sent"));
    }
}

#[test]
fn what_has_no_checksum_is_no_content() {
    assert_eq!(ContentCheck::new(7).err().unwrap().kind(), ErrorKind::Protocol);
    let check = ContentCheck::new(8).unwrap();
    assert_eq!(check.finish().unwrap_err().kind(), ErrorKind::Damaged, "nothing of it came");
}
