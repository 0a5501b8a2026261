//! Check of access tokens: signature and end once for each token, which is known by its hash from then on.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::claims::Claims;
use crate::file::{FileError, Watched};
use crate::key::{Algorithm, PublicKeys};

/// Most tokens that are known; the oldest is forgotten, and checked again when it comes.
pub const KNOWN: usize = 4_096;

/// Longest token, in octets.
pub const TOKEN_OCTETS: usize = 8_192;

/// Seconds for which a token holds beyond its end, as clocks differ.
const LEEWAY_S: u64 = 5;

/// Why a token is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    /// No JWS in its compact form, or too long.
    #[error("the token is no signed JWT")]
    Form,
    /// Signed by an algorithm that is not taken.
    #[error("the token is signed with {0}; expected ES256 or RS512")]
    Algorithm(String),
    /// Nobody who is trusted has signed it.
    #[error("no key of sbi.tokens.public has signed the token")]
    Signature,
    /// A claim is missing or wrong.
    #[error("claim {0} of the token is missing or wrong")]
    Claim(&'static str),
    /// Over.
    #[error("the token ended {0} s ago")]
    Ended(u64),
}

/// Public keys, and tokens that they have signed.
#[derive(Debug)]
pub struct Verifier {
    keys: Watched<PublicKeys>,
    looked_unix_s: u64,
    known: HashMap<[u8; 32], Rc<Claims>>,
    /// Hashes of these, the oldest first.
    ages: VecDeque<[u8; 32]>,
    verified: u64,
    found: u64,
    trouble: Option<FileError>,
}

impl Verifier {
    /// With the keys of a file.
    ///
    /// # Errors
    /// See [`PublicKeys::read`].
    pub fn open(file: &Path) -> Result<Self, FileError> {
        Ok(Self {
            keys: Watched::open(file, PublicKeys::read)?,
            looked_unix_s: 0,
            known: HashMap::new(),
            ages: VecDeque::new(),
            verified: 0,
            found: 0,
            trouble: None,
        })
    }

    /// Tokens whose signature was right, and tokens that were known already.
    pub fn counts(&self) -> (u64, u64) {
        (self.verified, self.found)
    }

    /// Why a file of keys that changed since the last call is not used.
    pub fn take_trouble(&mut self) -> Option<FileError> {
        self.trouble.take()
    }

    /// Claims of a token that is right and not over.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn check(&mut self, token: &str, now_unix_s: u64) -> Result<Rc<Claims>, Wrong> {
        self.look(now_unix_s);
        if token.len() > TOKEN_OCTETS {
            return Err(Wrong::Form);
        }
        let hash = digest(&SHA256, token.as_bytes());
        let hash: [u8; 32] = hash.as_ref().try_into().map_err(|_| Wrong::Form)?;
        if let Some(claims) = self.known.get(&hash) {
            let claims = Rc::clone(claims);
            not_over(&claims, now_unix_s)?;
            self.found += 1;
            return Ok(claims);
        }
        let claims = Rc::new(claims_of(token, self.keys.value())?);
        not_over(&claims, now_unix_s)?;
        self.verified += 1;
        if self.ages.len() >= KNOWN
            && let Some(oldest) = self.ages.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.ages.push_back(hash);
        self.known.insert(hash, Rc::clone(&claims));
        Ok(claims)
    }

    /// Keys are looked at once a second: tokens of those that are gone are known no more.
    fn look(&mut self, now_unix_s: u64) {
        if self.looked_unix_s != now_unix_s {
            self.looked_unix_s = now_unix_s;
            match self.keys.look() {
                Ok(false) => {}
                Ok(true) => {
                    self.known.clear();
                    self.ages.clear();
                }
                Err(why) => self.trouble = Some(why),
            }
        }
    }
}

fn not_over(claims: &Claims, now_unix_s: u64) -> Result<(), Wrong> {
    let over_s = now_unix_s.saturating_sub(claims.ends_unix_s);
    if over_s > LEEWAY_S {
        return Err(Wrong::Ended(over_s));
    }
    Ok(())
}

/// Claims of a token that one of these keys has signed.
fn claims_of(token: &str, keys: &PublicKeys) -> Result<Claims, Wrong> {
    let (signed, signature) = token.rsplit_once('.').ok_or(Wrong::Form)?;
    let (header, payload) = signed.split_once('.').ok_or(Wrong::Form)?;
    let octets = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| Wrong::Form);
    let header: Value = serde_json::from_slice(&octets(header)?).map_err(|_| Wrong::Form)?;
    // An extension that is critical has to be understood (RFC 7515, 4.1.11).
    if header.get("crit").is_some() {
        return Err(Wrong::Form);
    }
    let name = header
        .get("alg")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let algorithm = Algorithm::of(name);
    let algorithm = algorithm.ok_or_else(|| Wrong::Algorithm(name.chars().take(16).collect()))?;
    if !keys.verify(algorithm, signed.as_bytes(), &octets(signature)?) {
        return Err(Wrong::Signature);
    }
    Claims::read(&octets(payload)?).map_err(Wrong::Claim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Audience;
    use crate::key::SigningKey;
    use rcgen::KeyPair;
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use tempfile::TempDir;

    const NOW: u64 = 1_795_910_400;

    fn pair(folder: &TempDir, name: &str) -> (std::path::PathBuf, String) {
        let pair = KeyPair::generate().expect("a key");
        let file = folder.path().join(name);
        fs::write(&file, pair.serialize_pem()).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("own file");
        (file, pair.public_key_pem())
    }

    fn claims() -> Value {
        json!({
            "iss": "1ece6a3c-1b2a-4d5e-8f00-0123456789ab",
            "sub": "2ECE6A3C-1b2a-4d5e-8f00-0123456789ab",
            "aud": "UDM",
            "scope": "nudm-sdm nudm-uecm",
            "exp": NOW + 1_000,
            "producerPlmnId": { "mcc": "001", "mnc": "01" },
        })
    }

    fn signed(key: &SigningKey, header: &Value, claims: &Value) -> String {
        let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", text(header), text(claims));
        let signature = key.sign(signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn token(key: &SigningKey, claims: &Value) -> String {
        let header = json!({ "alg": key.algorithm().name(), "typ": "JWT" });
        signed(key, &header, claims)
    }

    #[test]
    fn a_token_is_checked_once_and_known_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, public) = pair(&folder, "token.key");
        let keys = folder.path().join("token.pem");
        fs::write(&keys, public).expect("a file");
        let key = SigningKey::read(&file).expect("a key");
        let mut verifier = Verifier::open(&keys).expect("keys");
        let token = token(&key, &claims());
        let read = verifier.check(&token, NOW).expect("a token");
        assert_eq!(read.audience, Audience::Type("UDM".to_owned()));
        assert_eq!(read.subject, "2ece6a3c-1b2a-4d5e-8f00-0123456789ab");
        assert_eq!(read.producer_plmn.as_deref(), Some("001-01"));
        assert!(read.has_scope("nudm-uecm") && !read.has_scope("nudm"));
        verifier
            .check(&token, NOW + 1_000 + LEEWAY_S)
            .expect("known");
        assert_eq!(verifier.counts(), (1, 1));
        let late = verifier.check(&token, NOW + 1_010);
        assert_eq!(late.expect_err("over"), Wrong::Ended(10));
    }

    #[test]
    fn a_token_that_is_not_right_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, public) = pair(&folder, "token.key");
        let (other, _) = pair(&folder, "other.key");
        let keys = folder.path().join("token.pem");
        fs::write(&keys, public).expect("a file");
        let [key, other] = [file, other].map(|file| SigningKey::read(&file).expect("a key"));
        let mut verifier = Verifier::open(&keys).expect("keys");
        let right = token(&key, &claims());
        let mut changed = right.clone();
        changed.replace_range(60..61, if &right[60..61] == "A" { "B" } else { "A" });
        let without = |name: &str| {
            let mut claims = claims();
            claims.as_object_mut().expect("claims").remove(name);
            token(&key, &claims)
        };
        let none = signed(&key, &json!({ "alg": "none" }), &claims());
        let critical = json!({ "alg": "ES256", "crit": ["b64"] });
        for (text, wrong) in [
            (token(&other, &claims()), Wrong::Signature),
            (changed, Wrong::Signature),
            (none, Wrong::Algorithm("none".to_owned())),
            (
                signed(&key, &json!({ "alg": "RS512" }), &claims()),
                Wrong::Signature,
            ),
            (signed(&key, &critical, &claims()), Wrong::Form),
            (without("sub"), Wrong::Claim("sub")),
            (without("aud"), Wrong::Claim("aud")),
            (without("scope"), Wrong::Claim("scope")),
            (without("exp"), Wrong::Claim("exp")),
            ("x.y".to_owned(), Wrong::Form),
            ("x.y.z".to_owned(), Wrong::Form),
            (String::new(), Wrong::Form),
            ("a".repeat(TOKEN_OCTETS + 1), Wrong::Form),
        ] {
            assert_eq!(verifier.check(&text, NOW).expect_err(&text), wrong);
        }
        verifier.check(&right, NOW).expect("a token");
    }

    #[test]
    fn keys_that_are_gone_are_no_more_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, public) = pair(&folder, "token.key");
        let (next, next_public) = pair(&folder, "next.key");
        let keys = folder.path().join("token.pem");
        fs::write(&keys, &public).expect("a file");
        let [key, next] = [file, next].map(|file| SigningKey::read(&file).expect("a key"));
        let mut verifier = Verifier::open(&keys).expect("keys");
        let [old, new] = [&key, &next].map(|key| token(key, &claims()));
        verifier.check(&old, NOW).expect("a token");
        fs::write(&keys, format!("{public}{next_public}")).expect("a file");
        verifier.check(&old, NOW + 1).expect("still there");
        verifier.check(&new, NOW + 1).expect("both are");
        fs::write(&keys, "none").expect("a file");
        verifier.check(&old, NOW + 2).expect("the keys of before");
        let trouble = verifier.take_trouble().expect("a wrong file").to_string();
        assert!(trouble.contains("token.pem"), "{trouble}");
        fs::write(&keys, next_public).expect("a file");
        assert_eq!(verifier.check(&old, NOW + 3), Err(Wrong::Signature));
        verifier.check(&new, NOW + 3).expect("a token");
        assert_eq!(verifier.take_trouble(), None);
        // The oldest of too many is forgotten.
        let mut claims = claims();
        for number in 0..=KNOWN {
            claims["jti"] = number.into();
            verifier
                .check(&token(&next, &claims), NOW + 3)
                .expect("a token");
        }
        assert_eq!((verifier.known.len(), verifier.ages.len()), (KNOWN, KNOWN));
    }

    /// Keys as openssl makes them, where it is there: ring makes none of RSA.
    #[test]
    fn keys_of_openssl_are_read_and_rs512_is_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let openssl = |arguments: &[&str]| {
            let mut command = Command::new("openssl");
            let ran = command.args(arguments).current_dir(folder.path()).output();
            ran.is_ok_and(|output| output.status.success())
        };
        if !openssl(&[
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-out",
            "rsa.key",
        ]) {
            return;
        }
        let curve = "ec_paramgen_curve:P-256";
        assert!(openssl(&[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            curve,
            "-out",
            "ec.key"
        ]));
        let mut both = Vec::new();
        for name in ["rsa", "ec"] {
            let (key, public) = (format!("{name}.key"), format!("{name}.pem"));
            assert!(openssl(&["pkey", "-in", &key, "-pubout", "-out", &public]));
            both.extend(fs::read(path(&public)).expect("a file"));
            fs::set_permissions(path(&key), fs::Permissions::from_mode(0o600)).expect("own file");
        }
        fs::write(path("both.pem"), both).expect("a file");
        let mut verifier = Verifier::open(&path("both.pem")).expect("keys");
        for (name, algorithm) in [("rsa.key", Algorithm::Rs512), ("ec.key", Algorithm::Es256)] {
            let key = SigningKey::read(&path(name)).expect("a key");
            assert_eq!(key.algorithm(), algorithm);
            verifier
                .check(&token(&key, &claims()), NOW)
                .expect("a token");
        }
        assert!(SigningKey::read(&path("both.pem")).is_err());
        assert!(PublicKeys::read(&path("ec.key")).is_err());
    }
}
