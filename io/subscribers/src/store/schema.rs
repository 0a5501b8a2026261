//! Tables of the database, their version, and whether a file has them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::db::Db;
use super::error::Error;
use crate::seal::Sealer;

/// "SLUS": so `file` and SQLite know whose it is.
const APPLICATION: i32 = 0x534c_5553;

/// What brings a database of version n to version n + 1; the first one makes it.
const STEPS: &[&str] = &[
    "
CREATE TABLE about (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    key_check BLOB NOT NULL
) STRICT;
CREATE TABLE subscriber (
    imsi TEXT PRIMARY KEY,
    keys BLOB NOT NULL,
    sqn INTEGER NOT NULL,
    sqn_difference_s INTEGER NOT NULL,
    barred INTEGER NOT NULL,
    ambr_down_bps INTEGER NOT NULL,
    ambr_up_bps INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE network (
    imsi TEXT NOT NULL REFERENCES subscriber ON DELETE CASCADE,
    place INTEGER NOT NULL,
    slice TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    dnn TEXT,
    types TEXT,
    default_type TEXT,
    ambr_down_bps INTEGER,
    ambr_up_bps INTEGER,
    five_qi INTEGER,
    arp INTEGER,
    ipv4 TEXT,
    ipv6_prefix TEXT,
    PRIMARY KEY (imsi, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX network_ipv4 ON network (ipv4, dnn) WHERE ipv4 IS NOT NULL;
CREATE INDEX network_ipv6 ON network (ipv6_prefix, dnn) WHERE ipv6_prefix IS NOT NULL;
CREATE TABLE home_key (
    id INTEGER PRIMARY KEY,
    profile TEXT NOT NULL,
    private BLOB NOT NULL,
    public BLOB NOT NULL
) STRICT;
",
    "
ALTER TABLE subscriber ADD COLUMN algorithm TEXT NOT NULL DEFAULT 'milenage';
ALTER TABLE subscriber ADD COLUMN method TEXT NOT NULL DEFAULT '5g_aka';
",
    "
ALTER TABLE network ADD COLUMN up_integrity TEXT;
ALTER TABLE network ADD COLUMN up_confidentiality TEXT;
",
];

/// What this release writes.
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// Encrypted, so that a wrong key is found before anything is written with it.
pub(super) const KEY_CHECK: &[u8; 16] = b"sluice subscribe";
pub(super) const KEY_CHECK_ROW: &str = "about";
const KEY_CHECK_QUERY: &str = "SELECT key_check FROM about WHERE id = 0";

/// Makes the tables of an empty database.
pub(super) fn create(db: &mut Connection, sealer: &Sealer, path: &Path) -> Result<(), Error> {
    let failed = |error| Error::sql(path, error);
    let sealed = sealer.seal(KEY_CHECK_ROW.as_bytes(), KEY_CHECK);
    let sealed = sealed.map_err(|error| Error::Io(path.to_owned(), error))?;
    // Readers and one writer at a time do not wait for each other.
    db.pragma_update(None, "journal_mode", "WAL")
        .map_err(failed)?;
    migrate(db, STEPS, 0).map_err(failed)?;
    db.pragma_update(None, "application_id", APPLICATION)
        .map_err(failed)?;
    let insert = "INSERT INTO about (id, key_check) VALUES (0, ?1)";
    db.execute(insert, [sealed]).map_err(failed)?;
    Ok(())
}

/// Runs the steps from `version` on, all or none.
fn migrate(db: &mut Connection, steps: &[&str], version: u32) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in steps.get(version as usize..).unwrap_or_default() {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "user_version", steps.len() as u32)?;
    tx.commit()
}

/// Checks that a database is one of ours and of this version; an earlier one is brought up to it, if the key is its own.
pub(super) fn check(
    db: &mut Connection,
    sealer: &Sealer,
    may_change: bool,
    path: &Path,
) -> Result<(), Error> {
    let failed = |error| Error::sql(path, error);
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id").map_err(failed)? != i64::from(APPLICATION) {
        return Err(Error::Foreign(
            path.to_owned(),
            "of another program".to_owned(),
        ));
    }
    let version = number("user_version").map_err(failed)?;
    let version = u32::try_from(version).unwrap_or(u32::MAX);
    match version {
        VERSION => {}
        0 => {
            return Err(Error::Foreign(
                path.to_owned(),
                "it was never finished".to_owned(),
            ));
        }
        _ if version > VERSION => return Err(Error::Newer(path.to_owned(), version)),
        _ if !may_change => return Err(Error::Older(path.to_owned(), version)),
        _ => {
            let sealed = db
                .query_row(KEY_CHECK_QUERY, [], |row| row.get(0))
                .optional();
            verify_key(sealed.map_err(failed)?, sealer, path)?;
            migrate(db, STEPS, version).map_err(failed)?;
        }
    }
    // A file may come from anywhere (a backup): tables of another form, triggers and views are refused.
    let ours = Connection::open_in_memory().and_then(|mut ours| {
        migrate(&mut ours, STEPS, 0)?;
        tables(&ours)
    });
    if tables(db).map_err(failed)? != ours.map_err(failed)? {
        return Err(Error::Foreign(
            path.to_owned(),
            "its tables are not ours".to_owned(),
        ));
    }
    Ok(())
}

/// Everything that a database has, and how it was made.
fn tables(db: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut all = db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Whether the key is the one that the database was made with.
pub(super) fn check_key(db: &Db, sealer: &Sealer, path: &Path) -> Result<(), Error> {
    let rows = db.query(KEY_CHECK_QUERY, &[]);
    let rows = rows.map_err(|error| error.at(path))?;
    verify_key(rows.first().and_then(|row| row.blob(0).ok()), sealer, path)
}

fn verify_key(sealed: Option<Vec<u8>>, sealer: &Sealer, path: &Path) -> Result<(), Error> {
    match sealer.open::<16>(KEY_CHECK_ROW.as_bytes(), &sealed.unwrap_or_default()) {
        Some(check) if *check == *KEY_CHECK => Ok(()),
        _ => Err(Error::WrongKey(path.to_owned())),
    }
}

/// Whether SQLite finds all pages and indexes right.
pub(super) fn integrity(db: &Connection, path: &Path) -> Result<(), Error> {
    let failed = |error| Error::sql(path, error);
    let what: String = db
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    match what.as_str() {
        "ok" => Ok(()),
        _ => Err(Error::Damaged(path.to_owned(), what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_file::StoreKey;

    fn version(db: &Connection) -> u32 {
        db.pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    }

    fn sealer() -> Sealer {
        Sealer::new(&StoreKey::new([9; 32]))
    }

    /// A database of an earlier version with these rows, and its key.
    fn earlier(version: usize, rows: &str) -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, &STEPS[..version], 0).unwrap();
        db.pragma_update(None, "application_id", APPLICATION)
            .unwrap();
        let sealed = sealer().seal(KEY_CHECK_ROW.as_bytes(), KEY_CHECK).unwrap();
        let insert = "INSERT INTO about (id, key_check) VALUES (0, ?1)";
        db.execute(insert, [sealed]).unwrap();
        db.execute_batch(rows).unwrap();
        db
    }

    #[test]
    fn subscribers_of_before_have_milenage_and_5g_aka() {
        let rows = "INSERT INTO subscriber VALUES ('00101', x'00', 0, 0, 0, 1, 1)";
        let mut db = earlier(1, rows);
        check(&mut db, &sealer(), true, Path::new("db")).unwrap();
        assert_eq!(version(&db), VERSION);
        let row = db.query_row("SELECT algorithm, method FROM subscriber", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        assert_eq!(row, Ok(("milenage".to_owned(), "5g_aka".to_owned())));
    }

    #[test]
    fn data_networks_of_before_have_no_user_plane_security_policy() {
        let rows = "INSERT INTO subscriber VALUES ('00101', x'00', 0, 0, 0, 1, 1, 'milenage', '5g_aka');
            INSERT INTO network (imsi, place, slice, is_default, dnn) VALUES ('00101', 0, '1', 1, 'internet');";
        let mut db = earlier(2, rows);
        check(&mut db, &sealer(), true, Path::new("db")).unwrap();
        let select = "SELECT up_integrity, up_confidentiality FROM network";
        let row = db.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(row, Ok((None::<String>, None::<String>)));
    }

    #[test]
    fn a_key_of_another_database_brings_none_up_to_date() {
        let mut db = earlier(2, "");
        let another = Sealer::new(&StoreKey::new([8; 32]));
        let refused = check(&mut db, &another, true, Path::new("db"));
        assert!(matches!(refused, Err(Error::WrongKey(_))), "{refused:?}");
        assert_eq!(version(&db), 2);
    }

    #[test]
    fn steps_run_from_the_version_that_is_there_and_all_or_none() {
        let mut db = Connection::open_in_memory().unwrap();
        let one = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (7);";
        migrate(&mut db, &[one], 0).unwrap();
        assert_eq!(version(&db), 1);
        let two = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 8;";
        migrate(&mut db, &[one, two, "CREATE TABLE a (x)"], 1).unwrap_err();
        assert_eq!(version(&db), 1);
        assert!(db.prepare("SELECT y FROM a").is_err());
        migrate(&mut db, &[one, two], 1).unwrap();
        assert_eq!(version(&db), 2);
        let row = db.query_row("SELECT x, y FROM a", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        assert_eq!(row, Ok((7, 8)));
    }
}
