//! Contexts that survive their process: octets that a later process can read, and never trusts.
//!
//! A context is a version and fields in a fixed order. Whoever reads checks each of them; what cannot be
//! read is as if it had never been stored.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use core::task::Poll;
use std::collections::BTreeMap;
use std::sync::Arc;

use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

use crate::slab::Key;

/// Longest run of octets, and most items of a list: more than any context has.
const LONGEST: usize = 65_535;

/// Store of contexts; each call takes as long as the store does.
pub trait Contexts {
    /// Stores all of these or nothing; a value of none deletes its key. One that fails for want of room may have
    /// deleted what goes.
    ///
    /// # Errors
    /// Why they are not stored, and what becomes of them.
    fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure>;

    /// Whether a key may be stored. One that cannot be need not be deleted, so that what waits for a store that is
    /// away, or full, is bounded by what there is and what was stored.
    fn may_have(&self, key: &[u8]) -> bool {
        let _ = key;
        true
    }

    /// Whether it has failed a moment ago, and is not to be tried again yet.
    fn is_paused(&self) -> bool {
        false
    }

    /// Does what is due by time: the core calls it at least twice a second, whether or not it has changes.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn tend(&mut self) -> Result<(), StoreFailure> {
        Ok(())
    }
}

/// A store as a host uses it, which never waits for one that takes long. Whatever is stored at once is such a store, too.
pub trait ContextWriter {
    /// Begins to store all of these or nothing, as [`Contexts::put`] says. One that is pending is told of by
    /// [`ContextWriter::outcome`], and none begins before.
    fn begin(&mut self, changes: &Arc<Changes>) -> Poll<Outcome>;

    /// The outcome of the put that is under way.
    fn outcome(&mut self) -> Poll<Outcome>;

    /// The same at the end of the host: it waits for a while.
    fn last_outcome(&mut self) -> Poll<Outcome>;

    /// How long what follows from contexts waits for them at most, in milliseconds; none if it waits as long as it takes.
    fn patience_ms(&self) -> Option<u64>;

    /// See [`Contexts::may_have`].
    fn may_have(&self, key: &[u8]) -> bool;

    /// Whether it has failed a moment ago, and is not to be tried again yet.
    fn is_paused(&self) -> bool;

    /// Does what is due by time, or tells why it could not be done. At least twice a second.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn tend(&mut self) -> Result<(), StoreFailure>;
}

/// Outcome of a put.
pub type Outcome = Result<(), StoreFailure>;

impl<T: Contexts> ContextWriter for T {
    fn begin(&mut self, changes: &Arc<Changes>) -> Poll<Outcome> {
        Poll::Ready(self.put(changes))
    }

    fn outcome(&mut self) -> Poll<Outcome> {
        Poll::Pending
    }

    fn last_outcome(&mut self) -> Poll<Outcome> {
        Poll::Pending
    }

    fn patience_ms(&self) -> Option<u64> {
        None
    }

    fn may_have(&self, key: &[u8]) -> bool {
        Contexts::may_have(self, key)
    }

    fn is_paused(&self) -> bool {
        Contexts::is_paused(self)
    }

    fn tend(&mut self) -> Result<(), StoreFailure> {
        Contexts::tend(self)
    }
}

/// Why contexts are not stored as they should be; each has the reason in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreFailure {
    /// They are not stored, or nobody knows whether they are: the caller gives them again, with later ones.
    NotStored(String),
    /// They are stored, but less safely than they should be: the caller need not give them again.
    StoredWeakly(String),
    /// The contexts are another core's now: this one never stores any again.
    NoLongerOurs(String),
}

impl StoreFailure {
    /// The reason in words.
    pub fn why(&self) -> &str {
        match self {
            Self::NotStored(why) | Self::StoredWeakly(why) | Self::NoLongerOurs(why) => why,
        }
    }
}

/// Keys and values that are to be stored; no value takes a key away.
pub type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Keys and values as they are stored.
pub type Stored = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes a context.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A context of this version of its form.
    pub fn new(version: u8) -> Self {
        Self(vec![version])
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A value whose octets are the same everywhere.
    pub fn flat<T: IntoBytes + Immutable + ?Sized>(&mut self, value: &T) {
        self.0.extend_from_slice(value.as_bytes());
    }

    /// An octet.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// True or false.
    pub fn bool(&mut self, value: bool) {
        self.u8(value.into());
    }

    /// 16 bits.
    pub fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// 32 bits.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// 64 bits.
    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// Octets, at most 65,535; what is longer is cut, and no context has any.
    pub fn octets(&mut self, value: &[u8]) {
        let value = &value[..value.len().min(LONGEST)];
        self.u16(value.len() as u16);
        self.0.extend_from_slice(value);
    }

    /// Whether there is a value, and that.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// How many values there are, and those.
    pub fn list<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let number = values.len().min(LONGEST);
        self.u16(number as u16);
        values.take(number).for_each(|value| write(self, value));
    }

    /// A key of a slab.
    pub fn key(&mut self, key: Key) {
        self.u32(key.slot);
        self.u16(key.generation);
    }

    /// An IPv4 address.
    pub fn ipv4(&mut self, address: Ipv4Addr) {
        self.flat(&address.octets());
    }

    /// An IPv6 address.
    pub fn ipv6(&mut self, address: Ipv6Addr) {
        self.flat(&address.octets());
    }

    /// An address and a port.
    pub fn socket(&mut self, address: SocketAddr) {
        match address.ip() {
            IpAddr::V4(ip) => {
                self.u8(4);
                self.ipv4(ip);
            }
            IpAddr::V6(ip) => {
                self.u8(6);
                self.ipv6(ip);
            }
        }
        self.u16(address.port());
    }
}

/// Reads a context; none is what cannot be read.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Of a context of this version of its form.
    pub fn new(version: u8, octets: &'a [u8]) -> Option<Self> {
        match octets {
            [first, rest @ ..] if *first == version => Some(Self(rest)),
            _ => None,
        }
    }

    /// Whether all was read.
    pub fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    /// What [`Writer::flat`] has written.
    pub fn flat<T: TryFromBytes + KnownLayout + Immutable + Unaligned>(&mut self) -> Option<T> {
        let (value, rest) = T::try_read_from_prefix(self.0).ok()?;
        self.0 = rest;
        Some(value)
    }

    /// An octet.
    pub fn u8(&mut self) -> Option<u8> {
        self.flat()
    }

    /// True or false.
    pub fn bool(&mut self) -> Option<bool> {
        self.flat()
    }

    /// 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        self.flat().map(u16::from_be_bytes)
    }

    /// 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.flat().map(u32::from_be_bytes)
    }

    /// 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.flat().map(u64::from_be_bytes)
    }

    /// Octets.
    pub fn octets(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.u16()?);
        let (octets, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(octets)
    }

    /// A value, if there is one.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.bool()? {
            true => read(self).map(Some),
            false => Some(None),
        }
    }

    /// Values.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let number = self.u16()?;
        (0..number).map(|_| read(self)).collect()
    }

    /// A key of a slab.
    pub fn key(&mut self) -> Option<Key> {
        let (slot, generation) = (self.u32()?, self.u16()?);
        Some(Key { slot, generation })
    }

    /// An IPv4 address.
    pub fn ipv4(&mut self) -> Option<Ipv4Addr> {
        self.flat::<[u8; 4]>().map(Into::into)
    }

    /// An IPv6 address.
    pub fn ipv6(&mut self) -> Option<Ipv6Addr> {
        self.flat::<[u8; 16]>().map(Into::into)
    }

    /// An address and a port.
    pub fn socket(&mut self) -> Option<SocketAddr> {
        let ip = match self.u8()? {
            4 => IpAddr::V4(self.ipv4()?),
            6 => IpAddr::V6(self.ipv6()?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.u16()?))
    }
}

/// A number that differs for contexts that differ (FNV-1a of 64 bits): whether one is stored already.
pub fn fingerprint(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut w = Writer::new(3);
        w.u8(1);
        w.u16(2);
        w.u32(3);
        w.u64(4);
        w.octets(b"abc");
        w.option(None::<u8>, Writer::u8);
        w.option(Some(7), Writer::u8);
        w.list([8_u16, 9].into_iter(), Writer::u16);
        w.key(Key {
            slot: 5,
            generation: 6,
        });
        w.socket("[2001:db8::1]:8805".parse().expect("an address"));
        w.finish()
    }

    fn read(octets: &[u8]) -> Option<()> {
        let mut r = Reader::new(3, octets)?;
        let numbers = (r.u8()?, r.u16()?, r.u32()?, r.u64()?);
        assert_eq!(numbers, (1, 2, 3, 4));
        assert_eq!(r.octets()?, b"abc");
        assert_eq!(r.option(Reader::u8)?, None);
        assert_eq!(r.option(Reader::u8)?, Some(7));
        assert_eq!(r.list(Reader::u16)?, [8, 9]);
        let key = r.key()?;
        assert_eq!((key.slot, key.generation), (5, 6));
        assert_eq!(r.socket()?.to_string(), "[2001:db8::1]:8805");
        r.end()
    }

    #[test]
    fn what_was_written_is_read_and_nothing_that_is_cut_or_longer() {
        let octets = written();
        assert_eq!(read(&octets), Some(()));
        for length in 0..octets.len() {
            assert_eq!(read(&octets[..length]), None, "{length} octets");
        }
        assert_eq!(read(&[&octets[..], &[0]].concat()), None);
        assert!(Reader::new(4, &octets).is_none(), "another version");
    }

    #[test]
    fn a_bool_is_0_or_1() {
        assert_eq!(Reader(&[2]).bool(), None);
        assert_eq!(Reader(&[9, 1, 2, 3, 4]).socket(), None);
    }
}
