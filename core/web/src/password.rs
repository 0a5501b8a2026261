//! Passwords: argon2id hashes (RFC 9106) as PHC strings.

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use argon2::{Argon2, Params};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// Fewest characters of a password that is set.
pub const SHORTEST: usize = 10;
/// Most octets of a password.
pub const LONGEST: usize = 256;
const SALT_OCTETS: usize = 16;

/// Why a password cannot be set.
///
/// # Errors
/// The problem in words.
pub fn check(password: &str) -> Result<(), &'static str> {
    match (password.chars().count(), password.len()) {
        (..SHORTEST, _) => Err("the password is too short: expected 10 characters or more"),
        (_, LONGEST..) => Err("the password is too long: expected less than 256 octets"),
        _ => Ok(()),
    }
}

/// The hash of a password with a new salt.
pub fn hash(password: &str) -> Option<String> {
    let mut salt = [0; SALT_OCTETS];
    random(&mut salt);
    let hashed = hasher().hash_password_with_salt(password.as_bytes(), &salt);
    hashed.ok().map(|hash| hash.to_string())
}

/// Whether a text is such a hash.
pub fn is_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok_and(|hash| hash.algorithm.as_str() == "argon2id")
}

/// Whether a password is that of a hash. It takes some 20 ms and 19 MiB.
pub fn is_of(password: &str, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else {
        return false;
    };
    password.len() < LONGEST && hasher().verify_password(password.as_bytes(), &hash).is_ok()
}

/// Takes as long as [`is_of`]: how long a refusal takes does not tell whether there is a user of the name.
pub fn of_nobody(password: &str) {
    let hashed = hasher().hash_password_with_salt(password.as_bytes(), &[0; SALT_OCTETS]);
    std::hint::black_box(hashed.is_ok());
}

fn hasher() -> Argon2<'static> {
    Argon2::from(Params::default())
}

/// Random octets of the kernel.
///
/// # Panics
/// When the kernel has none: sessions that can be guessed are worse than none.
pub(crate) fn random(mut octets: &mut [u8]) {
    while !octets.is_empty() {
        match getrandom(&mut *octets, GetRandomFlags::empty()) {
            Ok(filled) => octets = octets.get_mut(filled..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => panic!("the kernel has no random numbers: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password_alone_and_has_a_salt() {
        let one = hash("correct horse").unwrap();
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert!(is_hash(&one) && is_of("correct horse", &one));
        assert!(!is_of("correct horsf", &one) && !is_of("", &one));
        assert_ne!(hash("correct horse").unwrap(), one);
        let cut = &one[..one.len() - 4];
        assert!(!is_of("correct horse", cut), "{cut}");
        for bad in [
            "",
            "x",
            "$argon2i$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAA",
        ] {
            assert!(!is_hash(bad), "{bad}");
        }
    }

    #[test]
    fn short_and_endless_passwords_are_not_set() {
        assert!(check("ninechars").is_err() && check("tenletters").is_ok());
        assert!(check(&"x".repeat(256)).is_err());
    }
}
