//! The tables in the file, within one transaction.
//!
//! | table | key | value |
//! |---|---|---|
//! | `entries` | the key | its version (8 bytes, the lowest first), then the sealed value |
//! | `leased` | a key with a lease | the lease: all of them end with the process |
//! | `numbers` | `version`, `bytes` | of the last write; of all keys and plain values |
//! | `seal` | `farcall store` | a sealed text, which shows that the key is the right one |

use std::ops::Bound;

use farcall_base::{Error, Result};
use farcall_sealed::{OVERHEAD_BYTES, Sealer};
use farcall_services::store::{
    Change, Changed, Condition, Entry, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Version,
};
use farcall_system::random_bytes::random_bytes;
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

use super::{broken, fault};
use crate::state::{Numbers, State};
use crate::step::{self, Found};

pub const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("entries");
pub const SEAL: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("seal");
const LEASED: TableDefinition<'_, &str, u64> = TableDefinition::new("leased");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// Of the version before a sealed value.
const VERSION_BYTES: usize = 8;

/// The tables of one transaction.
pub struct Tables<'t> {
    pub entries: Table<'t, &'static str, &'static [u8]>,
    leased: Table<'t, &'static str, u64>,
    numbers: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    /// Opens them, and makes those that are not there.
    pub fn open(transaction: &'t WriteTransaction) -> Result<Tables<'t>> {
        Ok(Tables {
            entries: transaction.open_table(ENTRIES).map_err(fault)?,
            leased: transaction.open_table(LEASED).map_err(fault)?,
            numbers: transaction.open_table(NUMBERS).map_err(fault)?,
        })
    }

    /// Removes all keys that have a lease. Gives the file's numbers.
    pub fn end_leases(&mut self) -> Result<Numbers> {
        let leased = self.leased.iter().map_err(fault)?;
        let keys = leased.map(|entry| Ok(entry.map_err(fault)?.0.value().to_owned()));
        let keys = keys.collect::<Result<Vec<String>>>()?;
        let number = |name: &str| -> Result<u64> {
            Ok(self.numbers.get(name).map_err(fault)?.map_or(0, |number| number.value()))
        };
        let mut numbers = Numbers { version: number("version")?, bytes: number("bytes")? };
        for key in keys {
            let freed = self.remove(&key)?.unwrap_or(0);
            numbers.bytes = numbers.bytes.saturating_sub(freed);
        }
        Ok(numbers)
    }

    /// Writes the file's numbers.
    pub fn keep(&mut self, numbers: Numbers) -> Result<()> {
        self.numbers.insert("version", numbers.version).map_err(fault)?;
        self.numbers.insert("bytes", numbers.bytes).map_err(fault)?;
        Ok(())
    }

    /// One write. An inner error is the request's fault, an outer one the file's.
    pub fn write(
        &mut self,
        state: &mut State,
        sealer: &Sealer,
        conditions: &[Condition],
        changes: Vec<Change>,
        told: &mut Vec<Changed>,
    ) -> Result<Result<Option<Version>>> {
        let numbers = match state.judge(conditions, &changes, self)? {
            Ok(Some(numbers)) => numbers,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        let mut bytes = state.numbers.bytes;
        for change in changes {
            match change {
                Change::Put { key, value, lease } => {
                    bytes = bytes.saturating_sub(self.remove(&key)?.unwrap_or(0));
                    bytes += (key.len() + value.len()) as u64;
                    let mut record = numbers.version.to_le_bytes().to_vec();
                    record.extend(sealer.seal(random_bytes()?, &key, &value));
                    self.entries.insert(key.as_str(), record.as_slice()).map_err(fault)?;
                    if let Some(lease) = lease {
                        self.leased.insert(key.as_str(), lease.0).map_err(fault)?;
                    }
                    told.push(Changed::Put(key));
                }
                Change::Delete { key } => bytes -= self.delete(key, told)?.min(bytes),
                Change::DeleteAll { prefix } => {
                    for key in self.keys(&prefix)? {
                        bytes -= self.delete(key, told)?.min(bytes);
                    }
                }
            }
        }
        state.numbers = Numbers { bytes, ..numbers };
        Ok(Ok(Some(Version(numbers.version))))
    }

    /// Gives the bytes that are free then.
    fn delete(&mut self, key: String, told: &mut Vec<Changed>) -> Result<u64> {
        let Some(freed) = self.remove(&key)? else { return Ok(0) };
        told.push(Changed::Gone(key));
        Ok(freed)
    }

    /// The same; `None`: it was not there.
    fn remove(&mut self, key: &str) -> Result<Option<u64>> {
        self.leased.remove(key).map_err(fault)?;
        let old = self.entries.remove(key).map_err(fault)?;
        old.map(|record| Ok(found(key, record.value())?.bytes)).transpose()
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        for entry in self.entries.range(prefix..).map_err(fault)? {
            let (key, _) = entry.map_err(fault)?;
            if !key.value().starts_with(prefix) {
                break;
            }
            keys.push(key.value().to_owned());
        }
        Ok(keys)
    }
}

impl step::Table for Tables<'_> {
    type Fault = Error;

    fn find(&self, key: &str) -> Result<Option<Found>> {
        let record = self.entries.get(key).map_err(fault)?;
        record.map(|record| found(key, record.value())).transpose()
    }

    fn bytes_below(&self, prefix: &str) -> Result<u64> {
        let mut bytes = 0;
        for key in self.keys(prefix)? {
            bytes += self.find(&key)?.map_or(0, |found| found.bytes);
        }
        Ok(bytes)
    }
}

fn found(key: &str, record: &[u8]) -> Result<Found> {
    let (version, sealed) = split(key, record)?;
    let bytes = (key.len() + sealed.len().saturating_sub(OVERHEAD_BYTES)) as u64;
    Ok(Found { version, bytes })
}

fn split<'r>(key: &str, record: &'r [u8]) -> Result<(Version, &'r [u8])> {
    let (version, sealed) = record
        .split_first_chunk::<VERSION_BYTES>()
        .ok_or_else(|| broken("a record has no version").with("name", key))?;
    Ok((Version(u64::from_le_bytes(*version)), sealed))
}

/// One page, sealed as it is.
pub fn page(
    entries: &impl ReadableTable<&'static str, &'static [u8]>,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let from = match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    };
    let mut page = Vec::new();
    let mut bytes = 0;
    let range = entries.range::<&str>((from, Bound::Unbounded)).map_err(fault)?;
    for entry in range.take(limit.min(PAGE_ENTRIES_MAX)) {
        let (key, record) = entry.map_err(fault)?;
        if !key.value().starts_with(prefix) || bytes >= PAGE_BYTES_MAX {
            break;
        }
        let (version, sealed) = split(key.value(), record.value())?;
        bytes += sealed.len();
        page.push(Entry { key: key.value().to_owned(), value: sealed.to_vec(), version });
    }
    Ok(page)
}
