//! Rows of subscribers: a subscriber's own, and one for each data network; what is read is checked as if
//! people had written it.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use sluice_ids::Supi;
use sluice_security::{Algorithm, Credentials, K, Opc, Sqn, Topc, TuakKey};

use super::error::Error;
use crate::draft::keys::Kind;
use crate::draft::value::{self, TYPE_NAMES, method_name};
use crate::draft::{Draft, NetworkDraft, SliceDraft, Text};
use crate::json::{prefix_text, type_names};
use crate::problem::Problem;
use crate::record::{Record, SqnState};
use crate::seal::Sealer;

/// Why a row tells of no subscriber.
pub(super) enum Unreadable {
    Sql(rusqlite::Error),
    Damaged(String),
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Unreadable {
    pub(super) fn in_file(self, path: &Path) -> Error {
        match self {
            Self::Sql(error) => Error::sql(path, error),
            Self::Damaged(what) => Error::Damaged(path.to_owned(), what),
        }
    }
}

/// What a subscriber's keys are bound to.
pub(super) fn row_name(supi: &Supi) -> String {
    format!("subscriber/{}", supi.imsi())
}

pub(super) fn number(db: &Connection) -> rusqlite::Result<u64> {
    let number = db.query_row("SELECT count(*) FROM subscriber", [], |row| {
        row.get::<_, i64>(0)
    })?;
    Ok(number.unsigned_abs())
}

const INSERT: &str = "INSERT INTO subscriber \
    (imsi, keys, sqn, sqn_difference_s, barred, ambr_down_bps, ambr_up_bps, algorithm, method) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (imsi) DO NOTHING";

const INSERT_NETWORK: &str = "INSERT INTO network \
    (imsi, place, slice, is_default, dnn, types, default_type, ambr_down_bps, ambr_up_bps, five_qi, arp, ipv4, ipv6_prefix) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// Adds a subscriber; false if there is one of this IMSI.
pub(super) fn insert(db: &Connection, record: &Record, keys: &[u8]) -> rusqlite::Result<bool> {
    let imsi = record.supi.imsi();
    let (down, up) = record.profile.ambr_bps;
    let added = db.prepare_cached(INSERT)?.execute(params![
        imsi,
        keys,
        record.sqn.last.get() as i64,
        record.sqn.difference_s,
        record.profile.barred,
        down as i64,
        up as i64,
        Kind::of(&record.credentials.algorithm).name(),
        method_name(record.credentials.method),
    ])?;
    if added == 0 {
        return Ok(false);
    }
    let mut statement = db.prepare_cached(INSERT_NETWORK)?;
    let mut place = 0;
    for slice in &record.profile.slices {
        let name = format!("{:?}", slice.snssai);
        if slice.networks.is_empty() {
            let none = rusqlite::types::Null;
            statement.execute(params![
                imsi,
                place,
                name,
                slice.is_default,
                none,
                none,
                none,
                none,
                none,
                none,
                none,
                none,
                none
            ])?;
            place += 1;
        }
        for one in &slice.networks {
            statement.execute(params![
                imsi,
                place,
                name,
                slice.is_default,
                one.dnn.to_string(),
                type_names(one.types).join(" "),
                TYPE_NAMES[usize::from(one.default_type).clamp(1, 3) - 1],
                one.ambr_bps.0 as i64,
                one.ambr_bps.1 as i64,
                one.five_qi,
                one.arp,
                one.ipv4.map(|ipv4| ipv4.to_string()),
                one.ipv6_prefix.map(prefix_text),
            ])?;
            place += 1;
        }
    }
    Ok(true)
}

/// Removes a subscriber; false if there is none.
pub(super) fn remove(db: &Connection, supi: &Supi) -> rusqlite::Result<bool> {
    let mut statement = db.prepare_cached("DELETE FROM subscriber WHERE imsi = ?1")?;
    Ok(statement.execute([supi.imsi()])? > 0)
}

/// A sequence number of a resynchronisation may be below the one that is stored: the SIM has said so.
pub(super) fn set_sqn(db: &Connection, supi: &Supi, state: SqnState) -> rusqlite::Result<()> {
    let update = "UPDATE subscriber SET sqn = ?2, sqn_difference_s = ?3 WHERE imsi = ?1";
    let mut statement = db.prepare_cached(update)?;
    let last = state.last.get() as i64;
    statement.execute(params![supi.imsi(), last, state.difference_s])?;
    Ok(())
}

/// The subscriber's own columns.
struct Own {
    imsi: String,
    keys: Vec<u8>,
    sqn: i64,
    difference_s: i64,
    draft: Draft,
}

const SELECT: &str = "SELECT imsi, keys, sqn, sqn_difference_s, barred, ambr_down_bps, ambr_up_bps, algorithm, method \
    FROM subscriber";

fn own(row: &Row<'_>) -> rusqlite::Result<Own> {
    let imsi: String = row.get(0)?;
    let barred: bool = row.get(4)?;
    Ok(Own {
        keys: row.get(1)?,
        sqn: row.get(2)?,
        difference_s: row.get(3)?,
        draft: Draft {
            imsi: Text::new(imsi.clone()),
            barred: Text::new(if barred { "yes" } else { "no" }),
            ue_ambr_down_bps: integer(row, 5)?,
            ue_ambr_up_bps: integer(row, 6)?,
            algorithm: text(row, 7)?,
            method: text(row, 8)?,
            ..Draft::default()
        },
        imsi,
    })
}

fn integer(row: &Row<'_>, at: usize) -> rusqlite::Result<Text> {
    let value: Option<i64> = row.get(at)?;
    Ok(Text(value.map(|value| value.to_string())))
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Text> {
    row.get(at).map(Text)
}

const SELECT_NETWORK: &str = "SELECT imsi, slice, is_default, dnn, types, default_type, \
    ambr_down_bps, ambr_up_bps, five_qi, arp, ipv4, ipv6_prefix FROM network";

/// A row of a data network, and whose it is.
fn network(row: &Row<'_>) -> rusqlite::Result<(String, SliceDraft)> {
    let is_default: bool = row.get(2)?;
    let network = NetworkDraft {
        dnn: text(row, 3)?,
        types: text(row, 4)?,
        default_type: text(row, 5)?,
        session_ambr_down_bps: integer(row, 6)?,
        session_ambr_up_bps: integer(row, 7)?,
        five_qi: integer(row, 8)?,
        arp: integer(row, 9)?,
        ipv4: text(row, 10)?,
        ipv6_prefix: text(row, 11)?,
    };
    let is_none = network.dnn.is_none();
    let slice = SliceDraft {
        slice: text(row, 1)?,
        default: Text::new(if is_default { "yes" } else { "no" }),
        networks: if is_none { Vec::new() } else { vec![network] },
    };
    Ok((row.get(0)?, slice))
}

/// Adds a row to the slice that it belongs to.
fn join(slices: &mut Vec<SliceDraft>, row: SliceDraft) {
    match slices.last_mut() {
        Some(last) if last.slice == row.slice => last.networks.extend(row.networks),
        _ => slices.push(row),
    }
}

fn record(own: Own, slices: Vec<SliceDraft>, sealer: &Sealer) -> Result<Record, Unreadable> {
    let damaged = |what: &str| Unreadable::Damaged(format!("subscriber {}: {what}", own.imsi));
    let supi = Supi::from_imsi(&own.imsi).ok_or_else(|| damaged("no IMSI"))?;
    if slices.is_empty() {
        return Err(damaged("no slices"));
    }
    let algorithm = algorithm(&own, &supi, sealer);
    let algorithm = algorithm.ok_or_else(|| damaged("its keys cannot be decrypted"))?;
    let method = own.draft.method.0.as_deref().and_then(value::method);
    let method = method.ok_or_else(|| damaged("no method of authentication"))?;
    let draft = Draft {
        slices,
        ..own.draft.clone()
    };
    let mut problems = Vec::new();
    let profile = draft.profile(&mut problems);
    let (Some(profile), None) = (profile, problems.first()) else {
        let what = problems.first().map(ToString::to_string);
        return Err(damaged(&what.unwrap_or_default()));
    };
    let sqn = u64::try_from(own.sqn).ok().filter(|sqn| *sqn < 1 << 48);
    Ok(Record {
        supi,
        credentials: Credentials { method, algorithm },
        sqn: SqnState {
            last: Sqn::new(sqn.ok_or_else(|| damaged("its sequence number is out of range"))?),
            difference_s: own.difference_s,
        },
        profile,
    })
}

/// Keys, whose number of octets follows from the algorithm; none if they are others'.
fn algorithm(own: &Own, supi: &Supi, sealer: &Sealer) -> Option<Algorithm> {
    let row = row_name(supi);
    match own
        .draft
        .algorithm
        .0
        .as_deref()
        .and_then(value::algorithm)?
    {
        Kind::Milenage => {
            let keys = sealer.open::<32>(&row, &own.keys)?;
            let (k, opc) = keys.split_first_chunk::<16>()?;
            let (k, opc) = (K::new(*k), Opc::new(opc.try_into().ok()?));
            Some(Algorithm::Milenage { k, opc })
        }
        Kind::Tuak => {
            let tuak = |keys: &[u8]| {
                let (k, topc) = keys.split_last_chunk::<32>()?;
                let (k, topc) = (TuakKey::new(k)?, Topc::new(*topc));
                Some(Algorithm::Tuak { k, topc })
            };
            let short = sealer.open::<48>(&row, &own.keys);
            match short {
                Some(keys) => tuak(&*keys),
                None => tuak(&*sealer.open::<64>(&row, &own.keys)?),
            }
        }
    }
}

/// One subscriber.
pub(super) fn get(
    db: &Connection,
    sealer: &Sealer,
    supi: &Supi,
) -> Result<Option<Record>, Unreadable> {
    let mut select = db.prepare_cached(&format!("{SELECT} WHERE imsi = ?1"))?;
    let Some(own) = select.query_row([supi.imsi()], own).optional()? else {
        return Ok(None);
    };
    let select = format!("{SELECT_NETWORK} WHERE imsi = ?1 ORDER BY place");
    let mut select = db.prepare_cached(&select)?;
    let mut slices = Vec::new();
    for row in select.query_map([supi.imsi()], network)? {
        join(&mut slices, row?.1);
    }
    record(own, slices, sealer).map(Some)
}

/// All subscribers by IMSI, until `take` has enough.
pub(super) fn each(
    db: &Connection,
    sealer: &Sealer,
    take: &mut dyn FnMut(Record) -> bool,
) -> Result<(), Unreadable> {
    let ordered = |sql: &str, by: &str| -> rusqlite::Result<CachedStatement<'_>> {
        db.prepare_cached(&format!("{sql} ORDER BY {by}"))
    };
    let (mut owns, mut networks) = (
        ordered(SELECT, "imsi")?,
        ordered(SELECT_NETWORK, "imsi, place")?,
    );
    let mut networks = networks.query_map([], network)?.peekable();
    for own in owns.query_map([], own)? {
        let own = own?;
        let mut slices = Vec::new();
        // Rows of nobody are not there: the tables say so, and whoever verifies asks.
        while let Some(row) = networks.next_if(|row| match row {
            Ok((imsi, _)) => *imsi <= own.imsi,
            Err(_) => true,
        }) {
            let (imsi, row) = row?;
            if imsi == own.imsi {
                join(&mut slices, row);
            }
        }
        if !take(record(own, slices, sealer)?) {
            break;
        }
    }
    Ok(())
}

/// An address of a subscriber that another data network of this name has, too.
pub(super) struct Taken {
    pub(super) imsi: String,
    field: &'static str,
    address: String,
    dnn: String,
    other: String,
}

impl Taken {
    pub(super) fn problem(&self, imsi: &str) -> Problem {
        let Self {
            field,
            address,
            dnn,
            other,
            ..
        } = self;
        let what = match other == imsi {
            true => format!("{address} in {dnn} twice"),
            false => format!("{address} in {dnn} is that of imsi {other}"),
        };
        Problem::new(*field, what, "an address that no other has").of(imsi)
    }
}

/// Addresses that are there more than once, of one subscriber or of all.
pub(super) fn taken_addresses(db: &Connection, of: Option<&Supi>) -> rusqlite::Result<Vec<Taken>> {
    let mut all = Vec::new();
    for field in ["ipv4", "ipv6_prefix"] {
        let of_one = if of.is_some() {
            "a.imsi = ?1 AND"
        } else {
            "?1 IS NULL AND"
        };
        let mut select = db.prepare_cached(&format!(
            "SELECT a.imsi, a.{field}, a.dnn, b.imsi FROM network a \
             JOIN network b ON b.{field} = a.{field} AND b.dnn = a.dnn \
             WHERE {of_one} a.{field} IS NOT NULL AND b.{field} IS NOT NULL \
             AND (a.imsi, a.place) <> (b.imsi, b.place) ORDER BY a.imsi, a.place LIMIT 1000"
        ))?;
        let rows = select.query_map([of.map(Supi::imsi)], |row| {
            Ok(Taken {
                imsi: row.get(0)?,
                field,
                address: row.get(1)?,
                dnn: row.get(2)?,
                other: row.get(3)?,
            })
        })?;
        for row in rows {
            all.push(row?);
        }
    }
    Ok(all)
}
