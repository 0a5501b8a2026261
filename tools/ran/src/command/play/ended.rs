//! Exit status of commands.

use crate::scenario::RunProgram;

/// Commands that failed, of which is told what they said.
const TOLD: usize = 3;

#[derive(Debug, Default)]
pub struct Ended {
    /// In the order in which they ended.
    pub all: Vec<Said>,
}

/// How one command ended.
#[derive(Debug)]
pub struct Said {
    pub name: String,
    pub how: How,
    pub text: String,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal,
    /// By us, when its time was over.
    TimedOut,
    /// The command did not start.
    NotStarted,
}

impl Said {
    /// A command that could not start, with the reason as its output.
    pub fn not_started(name: String, why: &impl std::fmt::Display) -> Self {
        Self {
            name,
            how: How::NotStarted,
            text: why.to_string(),
        }
    }
}

impl Ended {
    /// Expected result, actual result, and whether they agree.
    pub fn judge(&self, program: &RunProgram) -> (String, String, bool) {
        let (good, all) = (self.good(program).count(), self.all.len());
        let exit = program.exit;
        if all == 0 {
            let seen = "none of these UEs is attached".to_owned();
            return (format!("exit {exit}"), seen, false);
        }
        let mut seen = format!("{good} of {all}");
        if let Some(wrong) = self.wrong(program).next() {
            let how = wrong.how.describe(program);
            seen.push_str(&format!("; {}: {how}", wrong.name));
        }
        (format!("exit {exit}: {all} of {all}"), seen, good == all)
    }

    /// Outputs of commands that did not end as expected.
    pub fn complaints(&self, program: &RunProgram) -> Vec<String> {
        let said = self.wrong(program).take(TOLD).flat_map(|said| {
            let lines: Vec<_> = said.text.trim().lines().rev().take(5).collect();
            let lines = lines.into_iter().rev();
            lines.map(move |line| format!("{}: {line}", said.name))
        });
        said.collect()
    }

    fn good(&self, program: &RunProgram) -> impl Iterator<Item = &Said> {
        let wanted = How::Code(program.exit);
        self.all.iter().filter(move |said| said.how == wanted)
    }

    fn wrong(&self, program: &RunProgram) -> impl Iterator<Item = &Said> {
        let wanted = How::Code(program.exit);
        self.all.iter().filter(move |said| said.how != wanted)
    }
}

impl How {
    fn describe(self, program: &RunProgram) -> String {
        match self {
            Self::Code(code) => format!("exit {code}"),
            Self::Signal => "ended by a signal".to_owned(),
            Self::TimedOut => format!("ended after {:?}, its timeout", program.timeout),
            Self::NotStarted => "could not be started".to_owned(),
        }
    }
}
