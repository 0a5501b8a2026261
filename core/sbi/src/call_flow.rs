//! The call flow of a procedure: who sent what to whom, and at which step of TS 23.502.

use std::fmt;

use sluice_ids::Supi;

use crate::message::Message;

/// A message as an operator sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Who sent it.
    pub from: &'static str,
    /// Who received it.
    pub to: &'static str,
    /// Its name in the TS, and what matters of it.
    pub what: String,
    /// Step of the call flow, if it is one.
    pub step: &'static str,
    /// Whose procedure, as far as that is known.
    pub supi: Option<Supi>,
    /// The AMF's number of the UE: it joins what was said before the subscriber was known with what
    /// was said afterwards.
    pub ue: Option<u64>,
}

impl fmt::Display for Line {
    /// ` 9b   UE   <- AMF   Authentication Request`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            what,
            step,
            ..
        } = self;
        write!(f, "{step:<5} {from:<4} -> {to:<4}  {what}")
    }
}

/// The lines of a network function's procedures, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallFlow(pub Vec<Line>);

impl fmt::Display for CallFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_is_read_from_top_to_bottom() {
        let line = |from, to, what: &str, step| Line {
            from,
            to,
            what: what.into(),
            step,
            supi: None,
            ue: None,
        };
        let call_flow = CallFlow(vec![
            line("UE", "AMF", "Registration Request", "1"),
            line(
                "AMF",
                "AUSF",
                "Nausf_UEAuthentication_Authenticate Request",
                "9a",
            ),
        ]);
        let expected = "\
1     UE   -> AMF   Registration Request
9a    AMF  -> AUSF  Nausf_UEAuthentication_Authenticate Request
";
        assert_eq!(call_flow.to_string(), expected);
    }
}
