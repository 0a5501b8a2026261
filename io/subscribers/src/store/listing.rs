//! Subscribers by page, and those that are looked for.

use serde::{Deserialize, Serialize};
use sluice_ids::Supi;

use super::db::{Purpose, Value};
use super::error::Error;
use super::{Store, rows};
use crate::draft::value;
use crate::problem::Problem;
use crate::record::Record;

/// Most subscribers of a page.
pub const PAGE: usize = 1000;

/// Which subscribers are looked for; all that is given must fit.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// First digits of the IMSI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imsi_prefix: Option<String>,
    /// A data network that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dnn: Option<String>,
    /// A slice that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Its own IPv4 address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// Its own IPv6 prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_prefix: Option<String>,
    /// Whether it is barred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<bool>,
}

/// Some subscribers in order of IMSI.
#[derive(Debug)]
pub struct Page {
    /// At most as many as were asked for.
    pub records: Vec<Record>,
    /// How many fit in all.
    pub number: u64,
    /// What to ask for next; none if there are no more.
    pub next_after: Option<String>,
}

/// Conditions and their values.
#[derive(Default)]
struct Where {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Where {
    /// `condition` has `?` where its value goes.
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let numbered = format!("?{}", self.values.len());
        self.conditions.push(condition.replace('?', &numbered));
    }

    fn sql(&self) -> String {
        match self.conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", self.conditions.join(" AND ")),
        }
    }
}

impl Filter {
    fn conditions(&self) -> Result<Where, Problem> {
        let mut all = Where::default();
        if let Some(prefix) = &self.imsi_prefix {
            let fits = prefix.len() <= 15 && prefix.bytes().all(|c| c.is_ascii_digit());
            if !fits {
                return Err(Problem::got("imsi_prefix", prefix, "up to 15 digits"));
            }
            // A range of the primary key: digits come before the colon.
            all.and("imsi >= ?", prefix.clone());
            all.and("imsi < ?", format!("{prefix}:"));
        }
        if let Some(barred) = self.barred {
            all.and("barred = ?", barred);
        }
        let known = |read: Option<String>, field: &str, text: &str, expected: &str| {
            read.ok_or_else(|| Problem::got(field, text, expected))
        };
        let has = |column: &str| format!("imsi IN (SELECT imsi FROM network WHERE {column} = ?)");
        if let Some(text) = &self.dnn {
            let name = value::dnn(text).map(|dnn| dnn.to_string());
            all.and(&has("dnn"), known(name, "dnn", text, value::DNN)?);
        }
        if let Some(text) = &self.slice {
            let slice = value::slice(text).map(|slice| slice.to_string());
            all.and(&has("slice"), known(slice, "slice", text, value::SLICE)?);
        }
        if let Some(text) = &self.ipv4 {
            let address = value::ipv4(text).map(|address| address.to_string());
            all.and(&has("ipv4"), known(address, "ipv4", text, value::IPV4)?);
        }
        if let Some(text) = &self.ipv6_prefix {
            let prefix = value::ipv6_prefix(text).map(crate::json::prefix_text);
            all.and(
                &has("ipv6_prefix"),
                known(prefix, "ipv6_prefix", text, value::IPV6)?,
            );
        }
        Ok(all)
    }
}

impl Store {
    /// Subscribers behind the IMSI `after`, at most `limit` (up to [`PAGE`]).
    ///
    /// # Errors
    /// When the filter cannot be understood, or the file cannot be read.
    pub fn list(&self, filter: &Filter, after: Option<&str>, limit: usize) -> Result<Page, Error> {
        if !(1..=PAGE).contains(&limit) {
            let expected = format!("a whole number from 1 to {PAGE}");
            return Err(Problem::got("limit", &limit.to_string(), expected).into());
        }
        let moment = self.db.begin(Purpose::Read);
        let moment = moment.map_err(|error| self.sql(error))?;
        let mut conditions = filter.conditions()?;
        let count = format!("SELECT count(*) FROM subscriber{}", conditions.sql());
        let counted = self.db.query(&count, &conditions.values);
        let counted = counted.and_then(|rows| rows.first().map_or(Ok(0), |row| row.integer(0)));
        let number = counted.map_err(|error| self.sql(error))?.unsigned_abs();
        if let Some(after) = after {
            conditions.and("imsi > ?", after.to_owned());
        }
        let select = format!(
            "SELECT imsi FROM subscriber{} ORDER BY imsi LIMIT {}",
            conditions.sql(),
            limit + 1
        );
        let rows = self.db.query(&select, &conditions.values);
        let imsis = rows.and_then(|rows| rows.iter().map(|row| row.text(0)).collect());
        let mut imsis: Vec<String> = imsis.map_err(|error| self.sql(error))?;
        let has_more = imsis.len() > limit;
        imsis.truncate(limit);
        let next_after = imsis.last().filter(|_| has_more).cloned();
        let mut records = Vec::with_capacity(imsis.len());
        for imsi in imsis {
            let of = || format!("subscriber \"{}\"", imsi.escape_debug());
            let damaged = || Error::Damaged(self.path.clone(), of());
            let supi = Supi::from_imsi(&imsi).ok_or_else(damaged)?;
            let record = rows::get(&self.db, &self.sealer, &supi);
            records.extend(record.map_err(|error| self.rows(error))?);
        }
        moment.commit().map_err(|error| self.sql(error))?;
        Ok(Page {
            records,
            number,
            next_after,
        })
    }
}
