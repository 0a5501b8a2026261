//! Databases in folders of their own, and subscribers to put into them.

use std::path::PathBuf;

use sluice_ids::Supi;
use sluice_subscribers::draft::{Secret, Text};
use sluice_subscribers::{Access, Draft, Error, Store, StoreKey};
use tempfile::TempDir;

/// Some moment.
pub const NOW_S: u64 = 1_790_000_000;

/// A folder with a database, and its key.
pub struct Place {
    folder: TempDir,
    pub key: StoreKey,
}

impl Place {
    pub fn new() -> (Self, Store) {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
            key: StoreKey::new([9; 32]),
        };
        let store = Store::create(&place.database(), &place.key).unwrap();
        (place, store)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn database(&self) -> PathBuf {
        self.file("subscribers.db")
    }

    pub fn open(&self, access: Access) -> Result<Store, Error> {
        Store::open(&self.database(), &self.key, access)
    }

    /// Octets of the database and of what lies beside it.
    pub fn all_octets(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files
            .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .collect()
    }
}

pub fn imsi(number: u32) -> String {
    format!("00101{number:010}")
}

pub fn supi(number: u32) -> Supi {
    Supi::from_imsi(&imsi(number)).unwrap()
}

/// Keys that differ from subscriber to subscriber.
pub fn k(number: u32) -> String {
    format!(
        "{:032x}",
        0xa1b2_c3d4_e5f6_0718_u128 << 64 | u128::from(number) << 13 | 0x1fff
    )
}

pub fn opc(number: u32) -> String {
    format!(
        "{:032x}",
        0x5e4d_3c2b_1a09_f8e7_u128 << 64 | u128::from(number) << 7 | 0x7f
    )
}

pub fn draft(number: u32) -> Draft {
    Draft {
        imsi: Text::new(imsi(number)),
        k: Secret::new(k(number)),
        opc: Secret::new(opc(number)),
        ..Draft::default()
    }
}

/// A table of so many subscribers with addresses of their own.
pub fn table(number: u32) -> String {
    let mut text = "imsi,k,opc,slice,dnn,ipv4\n".to_owned();
    for at in 0..number {
        let [_, a, b, c] = at.to_be_bytes();
        text += &format!(
            "{},{},{},1,internet,10.{a}.{b}.{c}\n",
            imsi(at),
            k(at),
            opc(at)
        );
    }
    text
}

pub fn contains(octets: &[u8], wanted: &[u8]) -> bool {
    octets.windows(wanted.len()).any(|window| window == wanted)
}
