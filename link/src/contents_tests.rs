//! Arrays of contents there and back; what lies about them.

#![allow(clippy::unwrap_used)]

use crate::content::ContentCheck;

use super::*;

fn promised(bytes: &[u8]) -> Option<Promised> {
    let content = bytes.to_vec();
    Some(Promised {
        bytes: bytes.len() as u64,
        open: Box::new(|| Ok(ContentReader::of_bytes(content))),
    })
}

/// What is received of `sent`, taken in pieces of so many bytes.
fn received(count: u64, sent: &[u8], piece: usize) -> Result<Vec<Option<Vec<u8>>>> {
    let mut parts = ContentsParts::new(count, sent.len() as u64)?;
    let mut all = Vec::new();
    let mut check = None;
    for mut bytes in sent.chunks(piece) {
        while let Some(part) = parts.next(&mut bytes)? {
            match part {
                Part::Begins(None) => all.push(None),
                Part::Begins(Some(length)) => {
                    check = Some(ContentCheck::new(length)?);
                    all.push(Some(Vec::new()));
                }
                Part::Bytes(bytes) => {
                    let content = check.as_mut().unwrap().take(bytes);
                    all.last_mut().unwrap().as_mut().unwrap().extend_from_slice(content);
                }
                Part::Ends => check.take().unwrap().finish()?,
            }
        }
    }
    let mut nothing: &[u8] = &[];
    while let Some(part) = parts.next(&mut nothing)? {
        assert_eq!(part, Part::Ends);
        check.take().unwrap().finish()?;
    }
    parts.finish().map(|()| all)
}

fn sent(contents: Vec<Option<Promised>>, piece: usize) -> (Vec<u8>, ContentsReader) {
    let mut reader = ContentsReader::new(contents);
    let mut all = vec![0; reader.travelling() as usize];
    for room in all.chunks_mut(piece) {
        reader.read(room).unwrap();
    }
    assert_eq!(reader.left(), 0);
    (all, reader)
}

#[test]
fn they_come_as_they_were_in_pieces_of_any_size() {
    let contents: [Option<&[u8]>; 5] = [Some(b"one"), None, Some(b""), Some(&[7; 1000]), None];
    for piece in [1, 3, 8, 9, 4096] {
        let promises = contents.iter().map(|content| content.and_then(promised)).collect();
        let (bytes, reader) = sent(promises, piece);
        assert!(reader.trouble().is_none());
        for other in [1, 5, 8, 5000] {
            let came = received(5, &bytes, other).unwrap();
            let wanted: Vec<Option<Vec<u8>>> =
                contents.iter().map(|content| content.map(<[u8]>::to_vec)).collect();
            assert_eq!(came, wanted, "sent by {piece}, received by {other}");
        }
    }
    assert_eq!(received(0, &[], 1).unwrap(), Vec::<Option<Vec<u8>>>::new());
}

#[test]
fn one_that_cannot_be_had_any_more_keeps_its_length_and_is_not_believed() {
    let gone = || Error::new(ErrorKind::NotFound, "read a file", "it is gone");
    let lost = Some(Promised { bytes: 5, open: Box::new(move || Err(gone())) });
    let longer =
        Some(Promised { bytes: 5, open: Box::new(|| Ok(ContentReader::of_bytes(vec![1; 6]))) });
    for (broken, words) in [(lost, "it is gone"), (longer, "changed")] {
        let (bytes, reader) = sent(vec![promised(b"good"), broken, promised(b"more")], 7);
        assert!(reader.trouble().unwrap().to_string().contains(words));
        assert_eq!(received(3, &bytes, 100).unwrap_err().kind(), ErrorKind::Damaged);
    }
}

#[test]
fn lies_about_them_are_seen() {
    let (bytes, _) = sent(vec![promised(b"one"), promised(b"two")], 100);
    let kind = |count: u64, bytes: &[u8]| received(count, bytes, 100).unwrap_err().kind();
    assert_eq!(kind(3, &bytes), ErrorKind::Protocol, "one too few");
    assert_eq!(kind(1, &bytes), ErrorKind::Protocol, "one too many");
    assert_eq!(kind(u64::MAX, &bytes), ErrorKind::Protocol, "a number without end");
    let mut longer = bytes.clone();
    longer[0] = 200;
    assert_eq!(kind(2, &longer), ErrorKind::Protocol, "longer than all");
    let mut shorter = bytes.clone();
    shorter[0] = 3;
    assert_eq!(kind(2, &shorter), ErrorKind::Protocol, "without a checksum");
    assert_eq!(kind(2, &bytes[..bytes.len() - 1]), ErrorKind::Protocol, "cut off");
    let mut damaged = bytes;
    damaged[9] ^= 1;
    assert_eq!(kind(2, &damaged), ErrorKind::Damaged, "changed on the way");
}
