//! What comes for a region that maps a file goes to the file, to the same bytes.
#![allow(clippy::unwrap_used)]

use farcall_link::strided::{Axis, Strided};
use rustix::fs::MemfdFlags;

use super::*;

const BASE: usize = 64;

/// A heap region in the place of the mapping, and a file that is not mapped: what was written where
/// shows.
struct Rig {
    transfers: Transfers,
    region: Arc<dyn Region>,
    file: Arc<OwnedFd>,
    memory: MemoryId,
}

impl Rig {
    fn new(bytes: usize) -> Rig {
        let mut transfers = Transfers::default();
        let region: Arc<dyn Region> = Arc::new(HeapRegion::new(bytes).unwrap());
        let file = Arc::new(rustix::fs::memfd_create(c"test", MemfdFlags::CLOEXEC).unwrap());
        rustix::fs::ftruncate(&file, bytes as u64).unwrap();
        let memory = transfers.keep_file(region.clone(), Some(file.clone()));
        Rig { transfers, region, file, memory }
    }

    /// Receives `data` for an array, at most `piece` bytes at a time.
    fn receive(&mut self, array: &Strided, data: &[u8], piece: usize) {
        let connection = ConnectionId(1);
        let channel = ChannelId(3);
        let mut offset = 0;
        while offset < data.len() {
            let place = Place { channel, side: Side::Results, slot: 2, offset: offset as u64 };
            let memory =
                SlotMemory { memory: self.memory, base: BASE as u64, array: array.clone() };
            let memory = (offset == 0).then_some(memory);
            let mut space = self
                .transfers
                .space(connection, &place, memory, data.len() - offset)
                .unwrap()
                .unwrap();
            let count = space.length().min(piece);
            space.bytes()[..count].copy_from_slice(&data[offset..offset + count]);
            self.transfers.arrived((connection, channel, Side::Results, 2), count).unwrap();
            offset += count;
        }
    }

    fn in_region(&self) -> &[u8] {
        // SAFETY: the region's own bytes, which nobody writes now.
        unsafe { std::slice::from_raw_parts(self.region.base(), self.region.bytes()) }
    }

    fn in_file(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.region.bytes()];
        let mut done = 0;
        while done < bytes.len() {
            done += rustix::io::pread(&self.file, &mut bytes[done..], done as u64).unwrap();
        }
        bytes
    }
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8 + 1).collect()
}

#[test]
fn long_arrays_are_written_to_the_file_in_any_pieces() {
    for (bytes, piece) in
        [(WRITE_MIN, WRITE_MIN), (3 * WRITE_BYTES + 4711, usize::MAX), (WRITE_BYTES + 9, 70_001)]
    {
        let mut rig = Rig::new(BASE + bytes + 32);
        let data = pattern(bytes);
        rig.receive(&Strided::contiguous(bytes as u64), &data, piece);
        // The tail, once it is shorter than what is worth a system call, lies where the file is
        // mapped.
        let in_file = rig.in_file();
        let in_region = rig.in_region();
        let both: Vec<u8> =
            in_file.iter().zip(in_region).map(|(file, region)| file | region).collect();
        assert_eq!(both[BASE..BASE + bytes], data, "{bytes} bytes in pieces of {piece}");
        assert!(both[..BASE].iter().chain(&both[BASE + bytes..]).all(|byte| *byte == 0));
        assert!(
            in_region.iter().filter(|byte| **byte != 0).count() < WRITE_MIN,
            "it was to be written to the file"
        );
    }
}

#[test]
fn short_runs_and_short_arrays_go_through_the_mapping() {
    let mut rig = Rig::new(1 << 20);
    let data = pattern(WRITE_MIN - 1);
    rig.receive(&Strided::contiguous(data.len() as u64), &data, usize::MAX);
    assert_eq!(rig.in_region()[BASE..BASE + data.len()], data);
    // Every other run of eight bytes.
    let axes =
        [Axis { count: 1, stride: 8 }, Axis { count: 8192, stride: 16 }].into_iter().collect();
    let array = Strided { offset: 0, element_bytes: 8, axes };
    let data = pattern(65_536);
    rig.receive(&array, &data, usize::MAX);
    for (run, bytes) in data.chunks(8).enumerate() {
        assert_eq!(rig.in_region()[BASE + 16 * run..BASE + 16 * run + 8], *bytes, "run {run}");
    }
    assert!(rig.in_file().iter().all(|byte| *byte == 0));
}

/// Its owner may do that at any time; it spares the mapping.
#[test]
fn what_a_sealed_file_does_not_take_goes_through_the_mapping() {
    let bytes = 3 * WRITE_BYTES;
    let mut rig = Rig::new(BASE + bytes);
    let file =
        rustix::fs::memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&file, (BASE + bytes) as u64).unwrap();
    rustix::fs::fcntl_add_seals(&file, rustix::fs::SealFlags::FUTURE_WRITE).unwrap();
    rig.memory = rig.transfers.keep_file(rig.region.clone(), Some(Arc::new(file)));
    let data = pattern(bytes);
    rig.receive(&Strided::contiguous(bytes as u64), &data, 70_001);
    assert_eq!(rig.in_region()[BASE..], data);
    assert!(rig.in_region()[..BASE].iter().all(|byte| *byte == 0));
}

#[test]
fn a_file_that_takes_nothing_is_an_error() {
    let mut rig = Rig::new(1 << 20);
    let closed: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
    rig.memory = rig.transfers.keep_file(rig.region.clone(), Some(Arc::new(closed)));
    let place = Place { channel: ChannelId(3), side: Side::Results, slot: 2, offset: 0 };
    let memory = SlotMemory { memory: rig.memory, base: 0, array: Strided::contiguous(1 << 19) };
    rig.transfers.space(ConnectionId(1), &place, Some(memory), 1 << 19).unwrap().unwrap();
    let key = (ConnectionId(1), ChannelId(3), Side::Results, 2);
    let error = rig.transfers.arrived(key, 4096).unwrap_err();
    assert!(error.to_string().contains("write into a client's memory"), "{error}");
}

#[test]
fn what_comes_for_prepared_memory_goes_where_it_is_mapped() {
    let bytes = 1 << 20;
    let mut rig = Rig::new(bytes);
    let part = BASE as u64..bytes as u64;
    rig.transfers.expect(rig.memory, part.clone());
    let mut turns = 0;
    while rig.transfers.has_to_prepare() {
        rig.transfers.prepare();
        turns += 1;
    }
    assert_eq!(turns, part.end.div_ceil(PREPARE_BYTES));
    let data = pattern(bytes - BASE);
    rig.receive(&Strided::contiguous(data.len() as u64), &data, 100_000);
    assert_eq!(&rig.in_region()[BASE..], &data[..]);
    assert!(rig.in_file().iter().all(|byte| *byte == 0), "nothing goes through the file");
    assert_eq!(rig.transfers.prepared, part.end - part.start);
    rig.transfers.release(rig.memory);
    assert_eq!(rig.transfers.prepared, 0);
}

#[test]
fn what_is_prepared_is_bounded() {
    let mut rig = Rig::new(1 << 20);
    // What is over is forgotten when its turn comes, or when there is too much of it.
    (0..2 * EXPECTED_MAX as u64)
        .for_each(|number| rig.transfers.expect(rig.memory, number..number + 1));
    assert_eq!(rig.transfers.expected.len(), EXPECTED_MAX);
    rig.transfers.release(rig.memory);
    (0..EXPECTED_MAX).for_each(|_| rig.transfers.prepare());
    assert!(!rig.transfers.has_to_prepare());
    // Nor is a part prepared that does not lie in its region, or more than all calls may have.
    let mut rig = Rig::new(1 << 20);
    rig.transfers.expect(rig.memory, 0..(1 << 20) + 1);
    (0..9).for_each(|_| rig.transfers.prepare());
    assert!(!rig.transfers.has_to_prepare());
    assert_eq!(rig.transfers.prepared, 1 << 20);
    rig.transfers.prepared = PREPARED_MAX;
    rig.transfers.expect(rig.memory, 0..PREPARE_BYTES);
    rig.transfers.prepare();
    assert_eq!((rig.transfers.has_to_prepare(), rig.transfers.prepared), (false, PREPARED_MAX));
}

#[test]
fn bytes_that_are_thrown_away_end_what_was_under_way_under_their_number() {
    let mut rig = Rig::new(256);
    let array = Strided::contiguous(16);
    rig.receive(&array, &[7; 16], 16);
    let key = (ConnectionId(1), ChannelId(3), Side::Results, 2);
    rig.transfers.discard(key);
    // As the driver does for a frame that had no place.
    rig.transfers.arrived(key, 16).unwrap();
    assert!(rig.transfers.packings.is_empty());
}
