//! Claims of an access token (AccessTokenClaims: TS 29.510, 6.3.5.2.4), as its signature vouches for them.

use serde_json::Value;

/// Producers that a token is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Audience {
    /// All of a type.
    Type(String),
    /// These instances.
    Instances(Vec<String>),
}

/// Claims of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Instance of the NRF that signed it.
    pub issuer: String,
    /// Instance that it was given to.
    pub subject: String,
    /// Producers that it is for.
    pub audience: Audience,
    /// Services that it is for.
    pub scopes: Vec<String>,
    /// Second since 1970 at which it ends.
    pub ends_unix_s: u64,
    /// PLMN of the producers, `001-01`, if it is for those of one alone.
    pub producer_plmn: Option<String>,
}

impl Claims {
    /// Of a payload.
    ///
    /// # Errors
    /// Name of a claim that is missing or wrong.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, &'static str> {
        let payload: Value = serde_json::from_slice(payload).map_err(|_| "payload")?;
        let text = |name: &'static str| {
            let text = payload.get(name).and_then(Value::as_str);
            text.map(str::to_owned).ok_or(name)
        };
        let ends = payload.get("exp");
        // Other libraries may have parts of a second.
        let ends = ends.and_then(|ends| ends.as_u64().or_else(|| Some(ends.as_f64()? as u64)));
        Ok(Self {
            issuer: text("iss")?.to_ascii_lowercase(),
            subject: text("sub")?.to_ascii_lowercase(),
            audience: audience(payload.get("aud")).ok_or("aud")?,
            scopes: text("scope")?.split(' ').map(str::to_owned).collect(),
            ends_unix_s: ends.ok_or("exp")?,
            producer_plmn: plmn(payload.get("producerPlmnId"))?,
        })
    }

    /// Whether it is for a service.
    pub fn has_scope(&self, service: &str) -> bool {
        self.scopes.iter().any(|one| one == service)
    }
}

fn audience(claim: Option<&Value>) -> Option<Audience> {
    match claim? {
        Value::String(kind) => Some(Audience::Type(kind.clone())),
        Value::Array(list) => {
            let one = |id: &Value| Some(id.as_str()?.to_ascii_lowercase());
            let all: Option<Vec<String>> = list.iter().map(one).collect();
            all.map(Audience::Instances)
        }
        _ => None,
    }
}

fn plmn(claim: Option<&Value>) -> Result<Option<String>, &'static str> {
    let Some(claim) = claim.filter(|claim| !claim.is_null()) else {
        return Ok(None);
    };
    let digits = |name: &str| claim.get(name).and_then(Value::as_str);
    match (digits("mcc"), digits("mnc")) {
        (Some(mcc), Some(mnc)) => Ok(Some(format!("{mcc}-{mnc}"))),
        _ => Err("producerPlmnId"),
    }
}
