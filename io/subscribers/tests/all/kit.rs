//! Databases in folders of their own, and subscribers to put into them.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sluice_host::postgres::Postgres;
use sluice_ids::Supi;
use sluice_subscribers::draft::{Secret, Text};
use sluice_subscribers::{Access, Draft, Error, Location, ServerAddress, Store, StoreKey};
use tempfile::TempDir;

/// Some moment.
pub const NOW_S: u64 = 1_790_000_000;

thread_local! {
    static SERVER: RefCell<Option<Arc<Postgres>>> = const { RefCell::new(None) };
}

/// The server that all tests of a time share; it ends with the last of them.
static RUNNING: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

pub fn server() -> Option<Arc<Postgres>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = running.upgrade() {
        return Some(server);
    }
    match Postgres::start() {
        Ok(server) => {
            let server = Arc::new(server);
            *running = Arc::downgrade(&server);
            Some(server)
        }
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// Runs a test whose databases are a server's.
pub fn on_a_server(test: fn()) {
    if let Some(server) = server() {
        SERVER.set(Some(server));
        test();
        SERVER.set(None);
    }
}

/// A folder with a database or beside one of a server, and its key.
pub struct Place {
    folder: TempDir,
    pub key: StoreKey,
    pub location: Location,
}

impl Place {
    pub fn new() -> (Self, Store) {
        let folder = tempfile::tempdir().unwrap();
        let server = SERVER.with_borrow(Clone::clone);
        let location = match server {
            None => Location::File(folder.path().join("subscribers.db")),
            Some(server) => {
                let url = server.url(&server.new_database().unwrap());
                Location::Server(ServerAddress::read(&url).unwrap())
            }
        };
        let place = Self {
            folder,
            key: StoreKey::new([9; 32]),
            location,
        };
        let store = Store::create_at(&place.location, &place.key).unwrap();
        (place, store)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn database(&self) -> PathBuf {
        self.file("subscribers.db")
    }

    pub fn open(&self, access: Access) -> Result<Store, Error> {
        Store::open_at(&self.location, &self.key, access)
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
