//! Messages as people see them.

use std::fmt;

use super::Message;

impl fmt::Display for Message {
    /// Name and outcome, and no more: messages have keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(failure) => write!(f, "Failure ({})", failure.problem),
            Self::Transferred(answer) => write!(f, "{} ({})", self.name(), answer.cause),
            Self::NfsDiscovered(answer) => write!(f, "{} ({})", self.name(), answer.found),
            message => f.write_str(message.name()),
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
