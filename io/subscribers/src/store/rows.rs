//! Rows of subscribers: a subscriber's own, and one for each data network; what is read is checked as if
//! people had written it.

use std::path::Path;

use sluice_ids::Supi;
use sluice_security::{Algorithm, Credentials, K, Opc, Sqn, Topc, TuakKey};

use super::db::{Db, Row, SqlError, Value};
use super::error::Error;
use crate::draft::keys::Kind;
use crate::draft::value::{self, TYPE_NAMES, method_name};
use crate::draft::{Draft, NetworkDraft, SliceDraft, Text};
use crate::json::{prefix_text, type_names};
use crate::problem::Problem;
use crate::record::{Network, Record, SqnState};
use crate::seal::Sealer;

/// Why a row tells of no subscriber.
pub(super) enum Unreadable {
    Sql(SqlError),
    Damaged(String),
}

impl From<SqlError> for Unreadable {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl Unreadable {
    pub(super) fn in_file(self, path: &Path) -> Error {
        match self {
            Self::Sql(error) => error.at(path),
            Self::Damaged(what) => Error::Damaged(path.to_owned(), what),
        }
    }
}

/// What a subscriber's keys are bound to.
pub(super) fn row_name(supi: &Supi) -> String {
    format!("subscriber/{}", supi.imsi())
}

pub(super) fn number(db: &Db) -> Result<u64, SqlError> {
    let number = db.number("SELECT count(*) FROM subscriber")?;
    Ok(number.unsigned_abs())
}

const INSERT: &str = "INSERT INTO subscriber \
    (imsi, keys, sqn, sqn_difference_s, barred, ambr_down_bps, ambr_up_bps, algorithm, method) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (imsi) DO NOTHING";

const INSERT_NETWORK: &str = "INSERT INTO network \
    (imsi, place, slice, is_default, dnn, types, default_type, ambr_down_bps, ambr_up_bps, five_qi, arp, ipv4, ipv6_prefix, \
    up_integrity, up_confidentiality) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

/// Adds a subscriber; false if there is one of this IMSI.
pub(super) fn insert(db: &Db, record: &Record, keys: &[u8]) -> Result<bool, SqlError> {
    let imsi = record.supi.imsi();
    let (down, up) = record.profile.ambr_bps;
    let own = [
        imsi.into(),
        keys.into(),
        (record.sqn.last.get() as i64).into(),
        record.sqn.difference_s.into(),
        record.profile.barred.into(),
        (down as i64).into(),
        (up as i64).into(),
        Kind::of(&record.credentials.algorithm).name().into(),
        method_name(record.credentials.method).into(),
    ];
    if db.execute(INSERT, &own)? == 0 {
        return Ok(false);
    }
    let mut place = 0_i64;
    for slice in &record.profile.slices {
        let name = slice.snssai.to_string();
        let networks = match slice.networks.is_empty() {
            true => vec![None],
            false => slice.networks.iter().map(Some).collect(),
        };
        for one in networks {
            let mut row: Vec<Value> = vec![
                imsi.into(),
                place.into(),
                name.clone().into(),
                slice.is_default.into(),
            ];
            match one {
                Some(network) => row.extend(columns(network)),
                None => row.resize(15, Value::Null),
            }
            db.execute(INSERT_NETWORK, &row)?;
            place += 1;
        }
    }
    Ok(true)
}

/// Of a data network, from its name on.
fn columns(one: &Network) -> [Value; 11] {
    let security = one.up_security;
    [
        one.dnn.to_string().into(),
        type_names(one.types).join(" ").into(),
        TYPE_NAMES[usize::from(one.default_type).clamp(1, 3) - 1].into(),
        (one.ambr_bps.0 as i64).into(),
        (one.ambr_bps.1 as i64).into(),
        one.five_qi.into(),
        one.arp.into(),
        one.ipv4.map(|ipv4| ipv4.to_string()).into(),
        one.ipv6_prefix.map(prefix_text).into(),
        security.map(|one| one.integrity.to_string()).into(),
        security.map(|one| one.confidentiality.to_string()).into(),
    ]
}

/// Removes a subscriber; false if there is none.
pub(super) fn remove(db: &Db, supi: &Supi) -> Result<bool, SqlError> {
    let delete = "DELETE FROM subscriber WHERE imsi = ?1";
    Ok(db.execute(delete, &[supi.imsi().into()])? > 0)
}

/// A sequence number of a resynchronisation may be below the one that is stored: the SIM has said so.
pub(super) fn set_sqn(db: &Db, supi: &Supi, state: SqnState) -> Result<(), SqlError> {
    let update = "UPDATE subscriber SET sqn = ?2, sqn_difference_s = ?3 WHERE imsi = ?1";
    let last = state.last.get() as i64;
    let values = [supi.imsi().into(), last.into(), state.difference_s.into()];
    db.execute(update, &values)?;
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

fn own(row: &Row) -> Result<Own, SqlError> {
    let imsi = row.text(0)?;
    let barred = row.integer(4)? != 0;
    Ok(Own {
        keys: row.blob(1)?,
        sqn: row.integer(2)?,
        difference_s: row.integer(3)?,
        draft: Draft {
            imsi: Text::new(imsi.clone()),
            barred: Text::new(if barred { "yes" } else { "no" }),
            ue_ambr_down_bps: text(row, 5)?,
            ue_ambr_up_bps: text(row, 6)?,
            algorithm: text(row, 7)?,
            method: text(row, 8)?,
            ..Draft::default()
        },
        imsi,
    })
}

fn text(row: &Row, at: usize) -> Result<Text, SqlError> {
    row.any_text(at).map(Text)
}

const SELECT_NETWORK: &str = "SELECT imsi, slice, is_default, dnn, types, default_type, \
    ambr_down_bps, ambr_up_bps, five_qi, arp, ipv4, ipv6_prefix, up_integrity, up_confidentiality FROM network";

/// A row of a data network, and whose it is.
fn network(row: &Row) -> Result<(String, SliceDraft), SqlError> {
    let is_default = row.integer(2)? != 0;
    let network = NetworkDraft {
        dnn: text(row, 3)?,
        types: text(row, 4)?,
        default_type: text(row, 5)?,
        session_ambr_down_bps: text(row, 6)?,
        session_ambr_up_bps: text(row, 7)?,
        five_qi: text(row, 8)?,
        arp: text(row, 9)?,
        ipv4: text(row, 10)?,
        ipv6_prefix: text(row, 11)?,
        up_integrity: text(row, 12)?,
        up_confidentiality: text(row, 13)?,
    };
    let is_none = network.dnn.is_none();
    let slice = SliceDraft {
        slice: text(row, 1)?,
        default: Text::new(if is_default { "yes" } else { "no" }),
        networks: if is_none { Vec::new() } else { vec![network] },
    };
    Ok((row.text(0)?, slice))
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
            let keys = sealer.open::<32>(row.as_bytes(), &own.keys)?;
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
            let short = sealer.open::<48>(row.as_bytes(), &own.keys);
            match short {
                Some(keys) => tuak(&*keys),
                None => tuak(&*sealer.open::<64>(row.as_bytes(), &own.keys)?),
            }
        }
    }
}

/// One subscriber.
pub(super) fn get(db: &Db, sealer: &Sealer, supi: &Supi) -> Result<Option<Record>, Unreadable> {
    let imsi = [supi.imsi().into()];
    let select = format!("{SELECT} WHERE imsi = ?1{}", db.locking());
    let rows = db.query(&select, &imsi)?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let own = own(row)?;
    let select = format!("{SELECT_NETWORK} WHERE imsi = ?1 ORDER BY place");
    let mut slices = Vec::new();
    for row in db.query(&select, &imsi)? {
        join(&mut slices, network(&row)?.1);
    }
    record(own, slices, sealer).map(Some)
}

/// So many are read at a time.
const AT_A_TIME: usize = 1000;

/// All subscribers by IMSI, until `take` has enough.
pub(super) fn each(
    db: &Db,
    sealer: &Sealer,
    take: &mut dyn FnMut(Record) -> bool,
) -> Result<(), Unreadable> {
    let of_page = format!("{SELECT} WHERE imsi > ?1 ORDER BY imsi LIMIT {AT_A_TIME}");
    let of_them = format!("{SELECT_NETWORK} WHERE imsi > ?1 AND imsi <= ?2 ORDER BY imsi, place");
    let mut after = String::new();
    loop {
        let page = db.query(&of_page, &[after.as_str().into()])?;
        let Some(last) = page.last().map(|row| row.text(0)).transpose()? else {
            return Ok(());
        };
        let limits = [after.as_str().into(), last.as_str().into()];
        let rows = db.query(&of_them, &limits)?;
        let rows: Vec<_> = rows.iter().map(network).collect::<Result<_, _>>()?;
        let mut rows = rows.into_iter().peekable();
        for row in &page {
            let own = own(row)?;
            let mut slices = Vec::new();
            // Rows of nobody are not there: the tables say so, and whoever verifies asks.
            while let Some((imsi, row)) = rows.next_if(|(imsi, _)| *imsi <= own.imsi) {
                if imsi == own.imsi {
                    join(&mut slices, row);
                }
            }
            if !take(record(own, slices, sealer)?) {
                return Ok(());
            }
        }
        if page.len() < AT_A_TIME {
            return Ok(());
        }
        after = last;
    }
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
pub(super) fn taken_addresses(db: &Db, of: Option<&Supi>) -> Result<Vec<Taken>, SqlError> {
    let mut all = Vec::new();
    for field in ["ipv4", "ipv6_prefix"] {
        let (of_one, values) = match of {
            Some(supi) => ("a.imsi = ?1 AND", vec![supi.imsi().into()]),
            None => ("", Vec::new()),
        };
        let select = format!(
            "SELECT a.imsi, a.{field}, a.dnn, b.imsi FROM network a \
             JOIN network b ON b.{field} = a.{field} AND b.dnn = a.dnn \
             WHERE {of_one} a.{field} IS NOT NULL AND b.{field} IS NOT NULL \
             AND (a.imsi, a.place) <> (b.imsi, b.place) ORDER BY a.imsi, a.place LIMIT 1000"
        );
        for row in db.query(&select, &values)? {
            all.push(Taken {
                imsi: row.text(0)?,
                field,
                address: row.text(1)?,
                dnn: row.text(2)?,
                other: row.text(3)?,
            });
        }
    }
    Ok(all)
}
