//! Interface names.

use crate::HostError;

/// An interface name that the kernel takes: 1 to 15 bytes, no '/', ':' or white space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IfName(String);

impl IfName {
    /// Checks the rules above.
    pub fn new(name: &str) -> Result<Self, HostError> {
        let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        let legal = (1..=15).contains(&name.len()) && !name.contains(bad);
        if legal && name != "." && name != ".." {
            Ok(Self(name.to_owned()))
        } else {
            Err(HostError::InterfaceName(name.to_owned()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_refuses_are_refused_here() {
        for name in ["", "a/b", "a b", "a:1", ".", "..", "sixteen-bytes-xx"] {
            assert!(IfName::new(name).is_err(), "{name:?}");
        }
        assert!(IfName::new("fifteen-bytes-x").is_ok());
    }
}
