//! Keys of the home network, which phones conceal their SUPI for (TS 33.501, annex C): private ones encrypted,
//! public ones as SIMs have them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sluice_security::suci::HomeKey;
use zeroize::Zeroizing;

use super::db::SqlError;
use super::error::Error;
use super::{Store, shared};
use crate::hex;
use crate::key_file::random;
use crate::problem::Problem;

/// Protection scheme that a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HomeKeyProfile {
    /// X25519, protection scheme 1.
    A,
    /// secp256r1, protection scheme 2.
    B,
}

impl HomeKeyProfile {
    /// Its number in SIMs (TS 31.102, 4.4.11.8) and SUCIs.
    pub fn scheme(self) -> u8 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::A, Self::B]
            .into_iter()
            .find(|one| one.name() == name)
    }

    fn key(self, private: [u8; 32]) -> Option<HomeKey> {
        match self {
            Self::A => Some(HomeKey::profile_a(private)),
            Self::B => HomeKey::profile_b(private),
        }
    }
}

/// A key as operators see it: what belongs into SIMs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HomeKeyView {
    /// Home Network Public Key Identifier, 1 to 255.
    pub id: u8,
    /// Its profile.
    pub profile: HomeKeyProfile,
    /// Protection scheme identifier.
    pub scheme: u8,
    /// Home Network Public Key, hexadecimal: 32 octets of profile A, a compressed point of 33 of profile B.
    pub public: String,
}

fn row_name(id: u8, profile: HomeKeyProfile) -> String {
    format!("home-key/{id}/{}", profile.name())
}

impl Store {
    /// Makes a key of random numbers, or takes the one that SIMs of another core have been made for
    /// (`private`, 64 hexadecimal digits). Without an identifier it has the lowest free one.
    ///
    /// # Errors
    /// When the identifier is had, or the private key is none of the profile.
    pub fn new_home_key(
        &mut self,
        profile: HomeKeyProfile,
        id: Option<u8>,
        private: Option<&str>,
    ) -> Result<HomeKeyView, Error> {
        let given = private.map(|digits| {
            let octets = hex::read::<32>(digits.trim());
            let expected = "64 hexadecimal digits of a private key of this profile";
            octets.ok_or_else(|| Problem::new("private", "no such key", expected))
        });
        let given = given.transpose()?;
        let path = self.path.clone();
        let (private, key) = match given {
            Some(octets) => {
                let expected = "a number that the curve has";
                let key = profile.key(*octets);
                let none = || Problem::new("private", "no private key of this profile", expected);
                (octets, key.ok_or_else(none)?)
            }
            None => made(profile).map_err(|error| Error::Io(path, error))?,
        };
        let public = key.public().octets();
        self.write(|store, tx| {
            let failed = |error| store.sql(error);
            let rows = tx.query("SELECT id FROM home_key", &[]).map_err(failed)?;
            let ids = rows.iter().filter_map(|row| row.integer(0).ok());
            let taken: Vec<u8> = ids.filter_map(|id| u8::try_from(id).ok()).collect();
            let free = || (1..=u8::MAX).find(|id| !taken.contains(id));
            let problem = |what: &str| Problem::new("id", what, "a free number from 1 to 255");
            let id = match id {
                Some(0) => return Err(problem("0 is the null scheme's").into()),
                Some(id) if taken.contains(&id) => {
                    return Err(problem(&format!("there is a key {id} already")).into());
                }
                Some(id) => id,
                None => free().ok_or_else(|| problem("none is free"))?,
            };
            let sealed = store
                .sealer
                .seal(row_name(id, profile).as_bytes(), &*private);
            let sealed = sealed.map_err(|error| Error::Io(store.path.to_owned(), error))?;
            let insert =
                "INSERT INTO home_key (id, profile, private, public) VALUES (?1, ?2, ?3, ?4)";
            let values = [
                id.into(),
                profile.name().into(),
                sealed.as_slice().into(),
                public.as_slice().into(),
            ];
            tx.execute(insert, &values).map_err(failed)?;
            shared::home_keys(tx).map_err(failed)?;
            Ok(view(id, profile, &public))
        })
    }

    /// All keys, without their private parts.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn home_key_views(&self) -> Result<Vec<HomeKeyView>, Error> {
        let keys = self.home_keys()?;
        let of = |(id, key): (&u8, &HomeKey)| {
            let profile = match key {
                HomeKey::A(_) => HomeKeyProfile::A,
                HomeKey::B(_) => HomeKeyProfile::B,
            };
            view(*id, profile, &key.public().octets())
        };
        Ok(keys.iter().map(of).collect())
    }

    /// All keys by identifier, as the UDM takes them.
    ///
    /// # Errors
    /// When the file cannot be read, or a key is damaged.
    pub fn home_keys(&self) -> Result<BTreeMap<u8, HomeKey>, Error> {
        let failed = |error| self.sql(error);
        let select = "SELECT id, profile, private, public FROM home_key ORDER BY id";
        let rows = self.db.query(select, &[]).map_err(failed)?;
        let mut keys = BTreeMap::new();
        for row in rows {
            let read = || -> Result<_, SqlError> {
                Ok((row.integer(0)?, row.text(1)?, row.blob(2)?, row.blob(3)?))
            };
            let (id, profile, private, public) = read().map_err(failed)?;
            let damaged = || Error::Damaged(self.path.clone(), format!("home network key {id}"));
            let id = u8::try_from(id)
                .ok()
                .filter(|id| *id > 0)
                .ok_or_else(damaged)?;
            let profile = HomeKeyProfile::of(&profile).ok_or_else(damaged)?;
            let private = self
                .sealer
                .open::<32>(row_name(id, profile).as_bytes(), &private);
            let key = private.and_then(|octets| profile.key(*octets));
            let key = key.filter(|key| key.public().octets() == public);
            keys.insert(id, key.ok_or_else(damaged)?);
        }
        Ok(keys)
    }

    /// Removes a key: phones that conceal their SUPI for it cannot register any more. False if there is
    /// none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove_home_key(&mut self, id: u8) -> Result<bool, Error> {
        self.write(|store, tx| {
            let removed = tx.execute("DELETE FROM home_key WHERE id = ?1", &[id.into()]);
            let removed = removed.map_err(|error| store.sql(error))?;
            shared::home_keys(tx).map_err(|error| store.sql(error))?;
            Ok(removed > 0)
        })
    }
}

fn view(id: u8, profile: HomeKeyProfile, public: &[u8]) -> HomeKeyView {
    HomeKeyView {
        id,
        profile,
        scheme: profile.scheme(),
        public: hex::write(public),
    }
}

/// A key of random numbers; of the few that secp256r1 does not have, another is taken.
fn made(profile: HomeKeyProfile) -> std::io::Result<(Zeroizing<[u8; 32]>, HomeKey)> {
    loop {
        let mut octets = Zeroizing::new([0; 32]);
        random(&mut *octets)?;
        if let Some(key) = profile.key(*octets) {
            return Ok((octets, key));
        }
    }
}
