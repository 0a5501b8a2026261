//! What several cores of one server have to agree on: tables and their version, what others have changed,
//! and who uses which sequence number.

use std::path::Path;

use sluice_ids::Supi;
use sluice_security::Sqn;

use super::db::{Db, Purpose, SqlError, Transaction};
use super::error::Error;
use super::schema::{KEY_CHECK, KEY_CHECK_ROW, check_key};
use super::{Access, Store};
use crate::operation::Changed;
use crate::record::SqnState;
use crate::seal::Sealer;

/// What brings a server's tables of version n to version n + 1; the first one makes them.
///
/// Columns are of three types alone. `changed` is the number of the change that a row is of: `write` says it to
/// the server for each transaction. Text is compared octet by octet, as SQLite does it.
const STEPS: &[&str] = &[
    r#"
CREATE TABLE about (
    id BIGINT PRIMARY KEY CHECK (id = 0),
    program TEXT NOT NULL,
    version BIGINT NOT NULL,
    key_check BYTEA NOT NULL,
    changes BIGINT NOT NULL DEFAULT 0,
    home_keys_changed BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE subscriber (
    imsi TEXT COLLATE "C" PRIMARY KEY,
    keys BYTEA NOT NULL,
    sqn BIGINT NOT NULL,
    sqn_difference_s BIGINT NOT NULL,
    barred BIGINT NOT NULL,
    ambr_down_bps BIGINT NOT NULL,
    ambr_up_bps BIGINT NOT NULL,
    algorithm TEXT NOT NULL,
    method TEXT NOT NULL,
    changed BIGINT NOT NULL DEFAULT current_setting('sluice.change')::BIGINT
);
CREATE INDEX subscriber_changed ON subscriber (changed);
CREATE TABLE network (
    imsi TEXT COLLATE "C" NOT NULL REFERENCES subscriber ON DELETE CASCADE,
    place BIGINT NOT NULL,
    slice TEXT COLLATE "C" NOT NULL,
    is_default BIGINT NOT NULL,
    dnn TEXT COLLATE "C",
    types TEXT,
    default_type TEXT,
    ambr_down_bps BIGINT,
    ambr_up_bps BIGINT,
    five_qi BIGINT,
    arp BIGINT,
    ipv4 TEXT COLLATE "C",
    ipv6_prefix TEXT COLLATE "C",
    PRIMARY KEY (imsi, place)
);
CREATE INDEX network_ipv4 ON network (ipv4, dnn) WHERE ipv4 IS NOT NULL;
CREATE INDEX network_ipv6 ON network (ipv6_prefix, dnn) WHERE ipv6_prefix IS NOT NULL;
CREATE TABLE home_key (
    id BIGINT PRIMARY KEY,
    profile TEXT NOT NULL,
    private BYTEA NOT NULL,
    public BYTEA NOT NULL
);
CREATE TABLE removed (
    imsi TEXT COLLATE "C" PRIMARY KEY,
    changed BIGINT NOT NULL DEFAULT current_setting('sluice.change')::BIGINT
);
CREATE INDEX removed_changed ON removed (changed);
"#,
    "
ALTER TABLE network ADD COLUMN up_integrity TEXT;
ALTER TABLE network ADD COLUMN up_confidentiality TEXT;
",
];

/// What this release writes.
const VERSION: u32 = STEPS.len() as u32;
const PROGRAM: &str = "sluice subscribers";

/// So many changes are told apart; who has missed more reads everything anew.
const CHANGES_KEPT: i64 = 10_000;
/// More subscribers than these are read all at once.
const SUBSCRIBERS_OF_A_CHANGE: usize = 10_000;

/// Makes the tables of an empty database.
pub(super) fn create(db: &Db, sealer: &Sealer, place: &Path) -> Result<(), Error> {
    let failed = |error: SqlError| error.at(place);
    let sealed = sealer.seal(KEY_CHECK_ROW.as_bytes(), KEY_CHECK);
    let sealed = sealed.map_err(|error| Error::Io(place.to_owned(), error))?;
    // Two that make them at a time: one waits, and finds them.
    let tx = db.begin(Purpose::Claim).map_err(failed)?;
    db.batch("SELECT pg_advisory_xact_lock(1397511507)")
        .map_err(failed)?;
    if has_tables(db).map_err(failed)? {
        return Err(Error::Exists(place.to_owned()));
    }
    for step in STEPS {
        db.batch(step).map_err(failed)?;
    }
    let insert = "INSERT INTO about (id, program, version, key_check) VALUES (0, ?1, ?2, ?3)";
    let values = [
        PROGRAM.into(),
        i64::from(VERSION).into(),
        sealed.as_slice().into(),
    ];
    db.execute(insert, &values).map_err(failed)?;
    tx.commit().map_err(failed)
}

fn has_tables(db: &Db) -> Result<bool, SqlError> {
    let number = db.number("SELECT count(to_regclass('about'))")?;
    Ok(number > 0)
}

/// Checks that tables and key are ours and the version this one; earlier tables are brought up to it.
pub(super) fn check(db: &Db, sealer: &Sealer, access: Access, place: &Path) -> Result<(), Error> {
    let failed = |error: SqlError| error.at(place);
    if !has_tables(db).map_err(failed)? {
        return Err(Error::Missing(place.to_owned()));
    }
    let version = version(db).map_err(|error| match error {
        SqlError::Server(_) | SqlError::Column(_) => foreign(place),
        other => other.at(place),
    })?;
    let version = version.ok_or_else(|| foreign(place))?;
    if version > VERSION {
        return Err(Error::Newer(place.to_owned(), version));
    }
    if version < VERSION && access == Access::Read {
        return Err(Error::Older(place.to_owned(), version));
    }
    // A key of another database changes nothing.
    check_key(db, sealer, place)?;
    if version < VERSION {
        migrate(db, STEPS).map_err(failed)?;
    }
    Ok(())
}

fn foreign(place: &Path) -> Error {
    Error::Foreign(place.to_owned(), "its tables are not ours".to_owned())
}

fn version(db: &Db) -> Result<Option<u32>, SqlError> {
    let rows = db.query("SELECT program, version FROM about WHERE id = 0", &[])?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let is_ours = row.text(0)? == PROGRAM;
    let version = u32::try_from(row.integer(1)?).ok();
    Ok(version.filter(|version| is_ours && *version > 0))
}

/// Runs the steps that are missing, all or none.
fn migrate(db: &Db, steps: &[&str]) -> Result<(), SqlError> {
    let tx = db.begin(Purpose::Claim)?;
    db.batch("SELECT pg_advisory_xact_lock(1397511507)")?;
    // Another may have done it meanwhile.
    let there = version(db)?.unwrap_or_default() as usize;
    for step in steps.get(there..).unwrap_or_default() {
        db.batch(step)?;
    }
    let update = "UPDATE about SET version = ?1 WHERE id = 0";
    db.execute(update, &[(steps.len() as i64).into()])?;
    tx.commit()
}

/// Begins a change: one at a time, with a number. None with SQLite, where nobody else changes anything.
pub(super) fn begin(db: &Db) -> Result<(Transaction<'_>, Option<i64>), SqlError> {
    let tx = db.begin(Purpose::Change)?;
    if db.server().is_none() {
        return Ok((tx, None));
    }
    let number = 1 + db.number("SELECT changes FROM about WHERE id = 0 FOR UPDATE")?;
    let say = "SELECT set_config('sluice.change', ?1, true)";
    db.query(say, &[number.to_string().into()])?;
    Ok((tx, Some(number)))
}

/// Ends a change: from now on others see that there is one.
pub(super) fn end(db: &Db, tx: Transaction<'_>, number: Option<i64>) -> Result<(), SqlError> {
    if let Some(number) = number {
        let update = "UPDATE about SET changes = ?1 WHERE id = 0";
        db.execute(update, &[number.into()])?;
        let forget = "DELETE FROM removed WHERE changed < ?1";
        db.execute(forget, &[(number - CHANGES_KEPT).into()])?;
    }
    tx.commit()
}

/// Notes that a subscriber is gone.
pub(super) fn removed(db: &Db, supi: &str) -> Result<(), SqlError> {
    if db.server().is_some() {
        let insert = "INSERT INTO removed (imsi) VALUES (?1) \
                      ON CONFLICT (imsi) DO UPDATE SET changed = EXCLUDED.changed";
        db.execute(insert, &[supi.into()])?;
    }
    Ok(())
}

/// Notes that keys of the home network are otherwise.
pub(super) fn home_keys(db: &Db) -> Result<(), SqlError> {
    match db.server() {
        None => Ok(()),
        Some(_) => db.batch(
            "UPDATE about SET home_keys_changed = current_setting('sluice.change')::BIGINT WHERE id = 0",
        ),
    }
}

/// The number of the last change.
pub(super) fn last_change(db: &Db) -> Result<i64, SqlError> {
    match db.server() {
        None => Ok(0),
        Some(_) => db.number("SELECT changes FROM about WHERE id = 0"),
    }
}

/// A sequence number that is to be used, and the one that was the last before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Whose.
    pub supi: Supi,
    /// What is to be stored.
    pub state: SqnState,
    /// What is stored until then, as far as the claimant knows.
    pub before: Sqn,
}

impl Store {
    /// Stores sequence numbers, each if nobody has stored another since `before` (compare and set). For each claim:
    /// none if it is stored, else what is stored instead. A subscriber that is gone has no others' numbers.
    ///
    /// # Errors
    /// When the database cannot be reached or written; then it may be that nothing or that all was stored.
    pub fn claim_sqns(&mut self, claims: &[Claim]) -> Result<Vec<Option<SqnState>>, Error> {
        let mut order: Vec<usize> = (0..claims.len()).collect();
        // Whoever claims several takes them in the same order: nobody waits in a circle.
        order.sort_by_key(|at| claims[*at].supi);
        let mut told = vec![None; claims.len()];
        let db = &self.db;
        let all = || {
            let tx = db.begin(Purpose::Claim)?;
            for at in order {
                told[at] = claim(db, &claims[at])?;
            }
            tx.commit()
        };
        let done: Result<(), SqlError> = all();
        done.map_err(|error| error.at(&self.path))?;
        Ok(told)
    }

    /// What others have changed since [`Store::saw`] and what this one changed itself; none if nothing.
    /// With SQLite nobody else changes anything.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn changes(&self) -> Result<Option<(i64, Changed)>, Error> {
        let failed = |error: SqlError| error.at(&self.path);
        if self.db.server().is_none() {
            return Ok(None);
        }
        let tx = self.db.begin(Purpose::Read).map_err(failed)?;
        let found = changes_since(&self.db, self.seen).map_err(failed)?;
        tx.commit().map_err(failed)?;
        Ok(found)
    }

    /// Has taken over what was changed up to this number.
    pub fn saw(&mut self, number: i64) {
        self.seen = number;
    }
}

fn claim(db: &Db, claim: &Claim) -> Result<Option<SqnState>, SqlError> {
    let imsi = claim.supi.imsi();
    let update =
        "UPDATE subscriber SET sqn = ?2, sqn_difference_s = ?3 WHERE imsi = ?1 AND sqn = ?4";
    let values = [
        imsi.into(),
        (claim.state.last.get() as i64).into(),
        claim.state.difference_s.into(),
        (claim.before.get() as i64).into(),
    ];
    if db.execute(update, &values)? > 0 {
        return Ok(None);
    }
    let select = "SELECT sqn, sqn_difference_s FROM subscriber WHERE imsi = ?1";
    let rows = db.query(select, &[imsi.into()])?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    Ok(Some(SqnState {
        last: Sqn::new(row.integer(0)?.unsigned_abs()),
        difference_s: row.integer(1)?,
    }))
}

fn changes_since(db: &Db, seen: i64) -> Result<Option<(i64, Changed)>, SqlError> {
    let last = last_change(db)?;
    if last == seen {
        return Ok(None);
    }
    let mut changed = Changed {
        all: true,
        home_keys: true,
        ..Changed::default()
    };
    // A number that went back is one of a restored server.
    if last < seen || last - seen > CHANGES_KEPT {
        return Ok(Some((last, changed)));
    }
    let of_subscribers = format!(
        "SELECT imsi FROM subscriber WHERE changed > ?1 LIMIT {}",
        SUBSCRIBERS_OF_A_CHANGE + 1
    );
    let of_removed = "SELECT imsi FROM removed WHERE changed > ?1".to_owned();
    let mut supis = Vec::new();
    for select in [of_subscribers, of_removed] {
        for row in db.query(&select, &[seen.into()])? {
            supis.extend(Supi::from_imsi(&row.text(0)?));
        }
    }
    if supis.len() <= SUBSCRIBERS_OF_A_CHANGE {
        changed.all = false;
        changed.subscribers = supis;
    }
    changed.home_keys = db.number("SELECT home_keys_changed FROM about WHERE id = 0")? > seen;
    Ok(Some((last, changed)))
}
