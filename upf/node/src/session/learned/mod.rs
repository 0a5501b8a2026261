//! Forms that were learned: what the same message did to another session is done again without
//! reading rules.
//!
//! SMFs send the same few messages for a million sessions; only identifiers and addresses in them
//! differ. Procedures do nothing with those values but compare them with each other and pass them
//! on ([`domain`]). So when a message of some form has been dealt with by the long way, everything
//! that it did can be written down with the places of the values in it ([`recipe`], found by
//! [`bind`]). When a message of that form comes for a session whose record has the same form, and
//! the same of its values are equal, the same is done: take what was taken, put the values into
//! record and operations ([`replay`]). Whatever does not fit goes the long way. Nothing is assumed
//! that is not checked; what can fail (an address in use, no line left) is done for real.
//!
//! Memory is taken when something is learned, up to fixed limits; then nothing more is learned, what is
//! known stays, and nothing is forgotten. Rates of QERs are compared, as names of network instances
//! are: rules with other rates are another form.

pub mod bind;
mod bind_op;
mod bind_record;
mod choose;
pub mod domain;
mod effects;
pub mod message;
mod reading;
pub mod recipe;
pub mod replay;
pub mod session;
mod study;
mod take;
pub mod values;

use domain::FormId;
use message::{LEN_MAX, MessageForm};
use recipe::Recipe;
use session::SessionForms;

/// The most forms of messages.
const MESSAGES_MAX: usize = 1024;

/// The most forms of messages of one length, which are compared one after the other.
const SAME_LENGTH_MAX: usize = 16;

/// The most recipes of one form: sessions of different forms, and values that are equal or not.
const RECIPES_MAX: usize = 32;

/// A form of which so many messages could not be learned is given up.
const FAILURES_MAX: u8 = 8;

/// What a message asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Procedure {
    /// Session Establishment.
    Establish,
    /// Session Modification.
    Modify,
}

/// A form of messages and what they do.
#[derive(Debug)]
struct Lesson {
    form: MessageForm,
    recipes: Vec<Recipe>,
    failures: u8,
    /// Another form of the same length.
    next: u16,
}

/// How often it was of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LearnedCounters {
    /// Messages dealt with by a recipe.
    pub replayed: u64,
    /// Messages dealt with by the long way.
    pub long_way: u64,
    /// Recipes that are known.
    pub recipes: u64,
    /// Forms of messages that are known.
    pub messages: u64,
    /// Forms of sessions that are known.
    pub sessions: u64,
}

/// No lesson.
const NONE: u16 = u16::MAX;

/// All that was learned.
#[derive(Debug)]
pub struct Learned {
    /// By procedure and length: the newest form.
    first: [Box<[u16]>; 2],
    lessons: Vec<Lesson>,
    sessions: SessionForms,
    /// By the session's form: what its deletion does.
    deletions: Vec<Option<Box<Recipe>>>,
    counters: LearnedCounters,
    /// Nothing is learned and nothing replayed.
    off: bool,
}

impl Default for Learned {
    fn default() -> Self {
        let none = || vec![NONE; LEN_MAX + 1].into_boxed_slice();
        Self {
            first: [none(), none()],
            lessons: Vec::new(),
            sessions: SessionForms::default(),
            deletions: Vec::new(),
            counters: LearnedCounters::default(),
            off: false,
        }
    }
}

impl Learned {
    /// From now on everything goes the long way.
    #[cfg(test)]
    pub fn turn_off(&mut self) {
        self.off = true;
    }

    /// How often it was of use.
    pub fn counters(&self) -> LearnedCounters {
        let recipes = self.lessons.iter().map(|l| l.recipes.len()).sum::<usize>();
        let deletions = self.deletions.iter().flatten().count();
        LearnedCounters {
            recipes: (recipes + deletions) as u64,
            messages: self.lessons.len() as u64,
            sessions: self.sessions.len() as u64,
            ..self.counters
        }
    }

    /// Messages dealt with by the long way.
    pub fn long_way(&self) -> u64 {
        self.counters.long_way
    }

    /// The lesson whose form a message has.
    fn find(&self, procedure: Procedure, body: &[u8]) -> Option<usize> {
        let mut those = self.of_length(procedure, body.len());
        let found = those.find(|(_, lesson)| lesson.form.fits(body));
        found.map(|(at, _)| at)
    }

    /// Those of a length, the newest first.
    fn of_length(
        &self,
        procedure: Procedure,
        len: usize,
    ) -> impl Iterator<Item = (usize, &Lesson)> {
        let first = self.first.get(procedure as usize);
        let mut next = first.and_then(|first| first.get(len)).copied();
        core::iter::from_fn(move || {
            let at = usize::from(next?);
            let lesson = self.lessons.get(at)?;
            next = Some(lesson.next);
            Some((at, lesson))
        })
    }

    /// What the deletion of a session of this form does.
    fn deletion(&self, before: FormId) -> Option<&Recipe> {
        self.deletions.get(usize::from(before.0))?.as_deref()
    }

    fn keep_deletion(&mut self, before: FormId, recipe: Recipe) {
        let at = usize::from(before.0);
        if self.deletions.len() <= at {
            self.deletions.resize_with(at + 1, || None);
        }
        if let Some(place) = self.deletions.get_mut(at) {
            *place = Some(Box::new(recipe));
        }
    }
}
