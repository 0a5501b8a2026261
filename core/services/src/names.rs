//! Names that a program gives and takes in its requests: its own root and identities, and URIs of resources and callbacks
//! that others gave.

use std::collections::{BTreeMap, VecDeque};

use sluice_ids::{Guami, Plmn, Snssai, Tai};
use sluice_sbi::{Nf, NfInstance};

use crate::deviations::Deviations;

/// Most URIs of resources of other producers, and most callbacks: the oldest is forgotten.
const NAMES: usize = 65_536;

/// Longest URI that is kept, in octets; a longer one counts as one that was forgotten.
const URI_OCTETS: usize = 2_048;

/// Bit of a handle that stands for a URI; other numbers are our producers' own, which stand in the URI themselves.
const IS_HANDLE: u64 = 1 << 63;

/// Identities that a program tells in its requests.
#[derive(Clone, Debug)]
pub struct Own {
    /// API root of its server, `http://host:port`, by which callbacks reach it.
    pub root: String,
    /// The AMF of the core.
    pub guami: Guami,
    /// PLMN of the core.
    pub plmn: Plmn,
    /// A slice of the core, which its functions name when they discover others.
    pub slice: Option<Snssai>,
    /// Tracking areas that an SMF without any of its own serves, for an NRF of another core: free5GC's finds no SMF whose
    /// profile does not list the area that is asked for. Empty for an NRF of this core.
    pub areas: Vec<Tai>,
    /// Services of the program want access tokens, and profiles say so.
    pub needs_tokens: bool,
    /// Identities of functions of the core, of this program or of others.
    pub instances: BTreeMap<Nf, NfInstance>,
}

/// State of the services of a program: bounded, and lost with the program. A producer of another core whose URI is
/// forgotten is not found any more, and the call fails as one whose context is not known.
#[derive(Debug)]
pub struct Memory {
    /// Identities of the program.
    pub own: Own,
    /// API root of the NRF; empty if it is not known.
    pub nrf: String,
    /// Deviations that were taken.
    pub deviations: Deviations,
    uris: Bounded<u64>,
    handles: BTreeMap<String, u64>,
    next: u64,
    callbacks: Bounded<String>,
    notes: Bounded<String>,
    subscribers: Bounded<String>,
}

impl Memory {
    /// Of a program with these identities.
    pub fn new(own: Own) -> Self {
        Self {
            own,
            nrf: String::new(),
            deviations: Deviations::default(),
            uris: Bounded::default(),
            handles: BTreeMap::new(),
            next: 0,
            callbacks: Bounded::default(),
            notes: Bounded::default(),
            subscribers: Bounded::default(),
        }
    }

    /// Number that stands for the URI of a resource in messages; the same for the same URI.
    pub fn keep(&mut self, uri: &str) -> u64 {
        if let Some(handle) = self.handles.get(uri) {
            return *handle;
        }
        self.next += 1;
        let handle = IS_HANDLE | self.next;
        if uri.len() > URI_OCTETS {
            return handle;
        }
        if let Some(gone) = self.uris.put(handle, uri) {
            self.handles.remove(&gone);
        }
        self.handles.insert(uri.to_owned(), handle);
        handle
    }

    /// URI of a number that [`keep`](Self::keep) gave; none of a number of our own producers, and of one that was forgotten.
    pub fn uri(&self, number: u64) -> Option<&str> {
        self.uris.get(&number)
    }

    /// Whether a number stands for a URI, known or forgotten.
    pub fn is_handle(number: u64) -> bool {
        number & IS_HANDLE != 0
    }

    /// Forgets the URI of a resource that is gone.
    pub fn forget(&mut self, number: u64) {
        if let Some(uri) = self.uris.remove(&number) {
            self.handles.remove(&uri);
        }
    }

    /// Keeps the URI at which a consumer wants to hear of something, `key` by its kind and subject: `dereg imsi-001...`.
    pub fn keep_callback(&mut self, key: &str, uri: &str) {
        if uri.len() <= URI_OCTETS {
            self.callbacks.put(key.to_owned(), uri);
        }
    }

    /// URI at which a consumer wants to hear of something.
    pub fn callback(&self, key: &str) -> Option<&str> {
        self.callbacks.get(&key.to_owned())
    }

    /// URIs of all callbacks whose keys begin so, each once.
    pub fn callbacks(&self, prefix: &str) -> Vec<String> {
        let all = self.callbacks.by_key.range(prefix.to_owned()..);
        let its = all.take_while(|(key, _)| key.starts_with(prefix));
        let mut uris: Vec<String> = its.map(|(_, (_, uri))| uri.clone()).collect();
        uris.sort();
        uris.dedup();
        uris
    }

    /// Identity of a function of the core; zeros, but for what makes a UUID, of one that is none of its own.
    pub fn instance(&self, nf: Nf) -> NfInstance {
        let its = self.own.instances.get(&nf).copied();
        its.unwrap_or_else(|| NfInstance::of([0; 16]))
    }

    /// Nobody wants to hear of it any more.
    pub fn forget_callback(&mut self, key: &str) {
        self.callbacks.remove(&key.to_owned());
    }

    /// Notes a text that later requests about a subject need, `key` by its kind and subject: `slice imsi-001... 5`.
    pub fn note(&mut self, key: &str, text: &str) {
        self.notes.put(key.to_owned(), text);
    }

    /// Text that was noted.
    pub fn noted(&self, key: &str) -> Option<&str> {
        self.notes.get(&key.to_owned())
    }

    /// Keeps what a subscriber has said, `key` by its kind and subscription: `amf-events 00...`.
    pub fn keep_subscriber(&mut self, key: &str, text: &str) {
        self.subscribers.put(key.to_owned(), text);
    }

    /// Text that a subscriber has said.
    pub fn subscriber(&self, key: &str) -> Option<&str> {
        self.subscribers.get(&key.to_owned())
    }

    /// The subscriber is told no more.
    pub fn forget_subscriber(&mut self, key: &str) {
        self.subscribers.remove(&key.to_owned());
    }

    /// Nobody needs it any more.
    pub fn forget_note(&mut self, key: &str) {
        self.notes.remove(&key.to_owned());
    }
}

/// URIs by a key, the newest of them.
#[derive(Debug)]
struct Bounded<K> {
    by_key: BTreeMap<K, (u64, String)>,
    /// Keys by age; one that was put again or removed stands here with another number.
    ages: VecDeque<(u64, K)>,
    age: u64,
}

impl<K> Default for Bounded<K> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            ages: VecDeque::new(),
            age: 0,
        }
    }
}

impl<K: Ord + Clone> Bounded<K> {
    fn get(&self, key: &K) -> Option<&str> {
        self.by_key.get(key).map(|(_, uri)| uri.as_str())
    }

    /// Puts a URI, and gives the oldest one if it had to go.
    fn put(&mut self, key: K, uri: &str) -> Option<String> {
        self.age += 1;
        self.ages.push_back((self.age, key.clone()));
        self.by_key.insert(key, (self.age, uri.to_owned()));
        let gone = (self.by_key.len() > NAMES).then(|| self.take_oldest());
        // What was removed or put again leaves its age behind.
        if self.ages.len() > 2 * NAMES {
            let by_key = &self.by_key;
            self.ages
                .retain(|(age, key)| by_key.get(key).is_some_and(|(its, _)| its == age));
        }
        gone.flatten()
    }

    fn take_oldest(&mut self) -> Option<String> {
        while let Some((age, key)) = self.ages.pop_front() {
            if self.by_key.get(&key).is_some_and(|(its, _)| *its == age) {
                return self.remove(&key);
            }
        }
        None
    }

    fn remove(&mut self, key: &K) -> Option<String> {
        self.by_key.remove(key).map(|(_, uri)| uri)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sluice_ids::AmfId;

    /// Of a program at 127.0.0.1:7777.
    pub(crate) fn memory() -> Memory {
        let plmn = Plmn::new("001", "01").expect("a PLMN");
        Memory::new(Own {
            root: "http://127.0.0.1:7777".to_owned(),
            guami: Guami {
                plmn,
                amf: AmfId::new(1, 1, 0).expect("an AMF"),
            },
            plmn,
            slice: None,
            areas: Vec::new(),
            needs_tokens: false,
            instances: BTreeMap::new(),
        })
    }

    #[test]
    fn the_oldest_name_is_forgotten() {
        let mut memory = memory();
        let first = memory.keep("http://a/0");
        assert_eq!(memory.keep("http://a/0"), first);
        assert!(Memory::is_handle(first));
        let rest: Vec<u64> = (1..NAMES)
            .map(|n| memory.keep(&format!("http://a/{n}")))
            .collect();
        assert_eq!(memory.uri(first), Some("http://a/0"));
        memory.keep("http://a/last");
        assert_eq!(memory.uri(first), None);
        assert_eq!(memory.uri(rest[0]), Some("http://a/1"));
        memory.forget(rest[0]);
        assert_eq!(memory.uri(rest[0]), None);
        assert_ne!(memory.keep("http://a/1"), rest[0]);
    }

    #[test]
    fn a_uri_that_is_too_long_is_not_kept() {
        let mut memory = memory();
        let long = format!("http://a/{}", "x".repeat(URI_OCTETS));
        let handle = memory.keep(&long);
        assert_eq!((memory.uri(handle), memory.handles.len()), (None, 0));
        memory.keep_callback("one", &long);
        assert_eq!(memory.callback("one"), None);
    }

    #[test]
    fn a_callback_is_replaced() {
        let mut memory = memory();
        for n in 0..3 * NAMES {
            memory.keep_callback("one", &format!("http://a/{n}"));
        }
        assert_eq!(
            memory.callback("one"),
            Some(format!("http://a/{}", 3 * NAMES - 1).as_str())
        );
        assert!(memory.callbacks.ages.len() <= 2 * NAMES);
        memory.forget_callback("one");
        assert_eq!(memory.callback("one"), None);
    }
}
