//! A PostgreSQL database of an earlier release: what it has is kept, what came since is added, all of it or nothing.

use std::sync::{Arc, Barrier};

use sluice_host::postgres::Postgres;
use sluice_ids::{UpProtection, UpSecurity};
use sluice_subscribers::draft::Text;
use sluice_subscribers::{Access, Draft, Error, Location, ServerAddress, Store, StoreKey};

use crate::kit::{NOW_S, draft, server, supi};

const VERSION_1: &str = include_str!("version-1.sql");

/// Columns, indexes and constraints of all tables.
const SHAPE: [&str; 3] = [
    "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, collation_name \
     FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint \
     WHERE connamespace = 'public'::regnamespace ORDER BY 2",
];

struct Earlier {
    server: Arc<Postgres>,
    database: String,
}

impl Earlier {
    fn new() -> Option<Self> {
        let server = server()?;
        let database = server.new_database().unwrap();
        server.sql(&database, VERSION_1).unwrap();
        Some(Self { server, database })
    }

    fn location(&self) -> Location {
        let url = self.server.url(&self.database);
        Location::Server(ServerAddress::read(&url).unwrap())
    }

    fn open(&self, access: Access) -> Result<Store, Error> {
        Store::open_at(&self.location(), &key(), access)
    }

    fn sql(&self, statements: &str) -> String {
        let told = self.server.sql(&self.database, statements).unwrap();
        told.trim().to_owned()
    }

    fn version(&self) -> u32 {
        self.sql("SELECT version FROM about").parse().unwrap()
    }

    fn shape(&self) -> [String; 3] {
        SHAPE.map(|select| self.sql(select))
    }
}

fn key() -> StoreKey {
    StoreKey::new([9; 32])
}

/// A new database of this release.
fn new_database() -> Option<Earlier> {
    let server = server()?;
    let database = server.new_database().unwrap();
    let new = Earlier { server, database };
    Store::create_at(&new.location(), &key()).unwrap();
    Some(new)
}

#[test]
fn tables_of_an_earlier_release_become_those_of_a_new_database() {
    let (Some(earlier), Some(new)) = (Earlier::new(), new_database()) else {
        return;
    };
    assert_eq!(earlier.version(), 1);
    assert_ne!(earlier.shape(), new.shape());
    earlier.open(Access::Change).unwrap();
    assert_eq!(earlier.version(), new.version());
    assert_eq!(earlier.shape(), new.shape());
}

#[test]
fn what_an_earlier_release_wrote_is_kept_and_can_be_changed() {
    let Some(earlier) = Earlier::new() else {
        return;
    };
    let mut store = earlier.open(Access::Serve).unwrap();
    assert_eq!(store.verify().unwrap(), 2);
    for number in [1, 2] {
        let record = store.get(&supi(number)).unwrap().unwrap();
        let networks = record.profile.slices.iter().flat_map(|one| &one.networks);
        assert!(networks.map(|one| one.up_security).all(|one| one.is_none()));
        // Its keys were these, or its sequence numbers would begin again.
        let same = draft(number);
        let (k, opc) = (same.k, same.opc);
        let again = store.change(&supi(number), NOW_S, |before| {
            Ok(Draft { k, opc, ..before })
        });
        assert_eq!(again.unwrap(), record);
    }
    let two = store.get(&supi(2)).unwrap().unwrap();
    assert!(two.profile.barred);
    assert_eq!(two.sqn.last.get(), 0xabcd);
    assert_eq!(
        two.profile.slices[0].networks[0].ipv4,
        Some([10, 0, 0, 2].into())
    );
    let keys = store.home_keys().unwrap();
    assert_eq!(keys.keys().collect::<Vec<_>>(), [&1, &2]);
    let protected = store.change(&supi(1), NOW_S, |mut draft| {
        let network = &mut draft.slices[0].networks[0];
        network.up_integrity = Text::new("required");
        network.up_confidentiality = Text::new("preferred");
        Ok(draft)
    });
    let policy = UpSecurity {
        integrity: UpProtection::Required,
        confidentiality: UpProtection::Preferred,
    };
    let slices = protected.unwrap().profile.slices;
    assert_eq!(slices[0].networks[0].up_security, Some(policy));
    store.add(&draft(3), NOW_S).unwrap();
    assert_eq!(earlier.open(Access::Read).unwrap().verify().unwrap(), 3);
}

#[test]
fn who_may_not_change_an_earlier_database_leaves_it_as_it_is() {
    let Some(earlier) = Earlier::new() else {
        return;
    };
    let before = earlier.shape();
    let reads = earlier.open(Access::Read).unwrap_err();
    assert!(matches!(reads, Error::Older(_, 1)), "{reads}");
    for access in [Access::Change, Access::Serve] {
        let another = StoreKey::new([8; 32]);
        let refused = Store::open_at(&earlier.location(), &another, access).unwrap_err();
        assert!(matches!(refused, Error::WrongKey(_)), "{refused}");
    }
    assert_eq!((earlier.version(), earlier.shape()), (1, before));
}

#[test]
fn cores_that_open_an_earlier_database_at_a_time_bring_it_up_to_date_once() {
    let Some(earlier) = Earlier::new() else {
        return;
    };
    let begin = Arc::new(Barrier::new(4));
    let cores = [(); 4].map(|()| {
        let (begin, location) = (begin.clone(), earlier.location());
        std::thread::spawn(move || {
            begin.wait();
            let store = Store::open_at(&location, &key(), Access::Serve);
            store.map(|store| store.number().unwrap())
        })
    });
    for core in cores {
        assert_eq!(core.join().unwrap().unwrap(), 2);
    }
}

#[test]
fn a_step_that_fails_leaves_the_earlier_database_whole() {
    let Some(earlier) = Earlier::new() else {
        return;
    };
    // The second of two columns is there already.
    earlier.sql("ALTER TABLE network ADD COLUMN up_confidentiality TEXT");
    let before = earlier.shape();
    let failed = earlier.open(Access::Serve).unwrap_err();
    assert!(
        failed.to_string().contains("up_confidentiality"),
        "{failed}"
    );
    assert_eq!((earlier.version(), earlier.shape()), (1, before));
    earlier.sql("ALTER TABLE network DROP COLUMN up_confidentiality");
    assert_eq!(earlier.open(Access::Serve).unwrap().verify().unwrap(), 2);
}
