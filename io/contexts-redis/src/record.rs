//! A context as Redis has it: a field whose name tells nothing, and a value that is encrypted and bound to
//! its field and to its instance.
//!
//! The name of the field is a keyed hash of the context's key, for that has SUPIs in it. The value is sealed,
//! with the key inside: `length of the key (16 bits) | key | context`.

use std::io;

use sluice_seal::{NameKey, Sealer, StoreKey};
use zeroize::Zeroizing;

/// Octets of the name of a field.
const FIELD: usize = 16;

/// Seals and opens the contexts of an instance.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    names: NameKey,
    sealer: Sealer,
    instance: Vec<u8>,
}

impl Records {
    pub(crate) fn new(key: &StoreKey, instance: &str) -> Self {
        Self {
            names: NameKey::new(&key.derived("names of contexts")),
            sealer: Sealer::new(&key.derived("values of contexts")),
            instance: instance.as_bytes().to_vec(),
        }
    }

    /// The field of a context.
    pub(crate) fn field(&self, key: &[u8]) -> [u8; FIELD] {
        self.names.of(&self.place(key))
    }

    /// What stands in the field of a context.
    pub(crate) fn seal(&self, key: &[u8], value: &[u8]) -> io::Result<Vec<u8>> {
        let length = u16::try_from(key.len())
            .map_err(|_| io::Error::other("a context's key is longer than 65,535 octets"))?;
        let secret = Zeroizing::new([&length.to_be_bytes()[..], key, value].concat());
        self.sealer.seal(&self.place(&self.field(key)), &secret)
    }

    /// Key and context of a field; none if it is damaged, of another key, field or instance.
    pub(crate) fn open(&self, field: &[u8], sealed: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let secret = self.sealer.open_any(&self.place(field), sealed)?;
        let (length, rest) = secret.split_first_chunk::<2>()?;
        let (key, value) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        Some((key.to_vec(), value.to_vec()))
    }

    /// Names of instances are shorter than 256 octets, so that no two places are the same.
    fn place(&self, name: &[u8]) -> Vec<u8> {
        [&[self.instance.len() as u8][..], &self.instance, name].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_opens_in_its_field_and_instance_with_its_key_alone() {
        let key = StoreKey::new([1; 32]);
        let records = Records::new(&key, "a");
        let name = b"amf/ue/001010000000001";
        let field = records.field(name);
        let sealed = records.seal(name, b"keys of NAS").expect("random numbers");
        let opened = records.open(&field, &sealed);
        assert_eq!(opened, Some((name.to_vec(), b"keys of NAS".to_vec())));
        for octets in [&field[..], &sealed] {
            let has = |what: &[u8]| octets.windows(what.len()).any(|run| run == what);
            assert!(!has(b"0000000001") && !has(b"NAS"), "{octets:?}");
        }
        let other = records.field(b"amf/ue/001010000000002");
        assert_eq!(records.open(&other, &sealed), None, "another field");
        let elsewhere = Records::new(&key, "b");
        assert_ne!(elsewhere.field(name), field);
        assert_eq!(elsewhere.open(&field, &sealed), None, "another instance");
        let foreign = Records::new(&StoreKey::new([2; 32]), "a");
        assert_ne!(foreign.field(name), field);
        assert_eq!(foreign.open(&field, &sealed), None, "another key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(records.open(&field, &changed), None, "octet {at}");
            assert_eq!(records.open(&field, &sealed[..at]), None, "{at} octets");
        }
    }
}
