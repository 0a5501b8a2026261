//! What the long way did is written down, as far as it may be of use again.

use super::bind::Done;
use super::domain::{Domain, FormId};
use super::message::MessageForm;
use super::recipe::VALUES;
use super::session::{Place, Written};
use super::values::Values;
use super::{FAILURES_MAX, Learned, Lesson, MESSAGES_MAX, Procedure, RECIPES_MAX, SAME_LENGTH_MAX};
use crate::session::draft::Drafted;
use crate::session::state::State;
use crate::session::store::SessionRef;
use crate::session::store::record::USAGE_LEN;
use core::cell::RefCell;

/// What a session was before a message.
pub struct Before {
    form: FormId,
    values: Vec<(Domain, u32)>,
}

impl Learned {
    fn may_learn(&self, procedure: Procedure, body: &[u8]) -> bool {
        match self
            .find(procedure, body)
            .and_then(|at| self.lessons.get(at))
        {
            Some(lesson) => lesson.failures < FAILURES_MAX && lesson.recipes.len() < RECIPES_MAX,
            None => self.lessons.len() < MESSAGES_MAX,
        }
    }

    /// The lesson whose form the message has; it begins if there is none.
    fn lesson(&mut self, procedure: Procedure, body: &[u8]) -> Option<&mut Lesson> {
        let at = match self.find(procedure, body) {
            Some(at) => at,
            None => self.begin(procedure, body)?,
        };
        self.lessons.get_mut(at)
    }

    fn begin(&mut self, procedure: Procedure, body: &[u8]) -> Option<usize> {
        if self.lessons.len() >= MESSAGES_MAX {
            return None;
        }
        let form = MessageForm::of(body)?;
        debug_assert!(form.fits(body));
        let at = self.lessons.len();
        if self.of_length(procedure, body.len()).count() >= SAME_LENGTH_MAX {
            return None;
        }
        let first = self
            .first
            .get_mut(procedure as usize)?
            .get_mut(body.len())?;
        let next = core::mem::replace(first, at as u16);
        self.lessons.push(Lesson {
            form,
            next,
            recipes: Vec::new(),
            failures: 0,
        });
        Some(at)
    }
}

impl State {
    /// What the session is before the long way; none if nothing can be learned from the message.
    pub fn look(
        &mut self,
        procedure: Procedure,
        body: &[u8],
        session: Option<SessionRef>,
    ) -> Option<Before> {
        self.learned.counters.long_way += 1;
        if self.learned.off || !self.learned.may_learn(procedure, body) {
            return None;
        }
        self.before(session)
    }

    fn before(&self, session: Option<SessionRef>) -> Option<Before> {
        let Some(name) = session else {
            return Some(Before {
                form: FormId::NO_SESSION,
                values: Vec::new(),
            });
        };
        let form = self.store.form(name);
        let marks = &self.learned.sessions.get(form)?.marks;
        let record = self.store.octets(name);
        let values = marks
            .iter()
            .map(|m| Some((m.domain, Place::of(m).read(record)?)));
        let values = values.collect::<Option<_>>()?;
        Some(Before { form, values })
    }

    /// The long way has brought the session where it is: finds out its form, and what the message
    /// does to others.
    pub fn learn(
        &mut self,
        (procedure, body): (Procedure, &[u8]),
        before: Option<Before>,
        drafted: &Drafted,
        name: SessionRef,
    ) {
        if self.learned.off {
            return;
        }
        let mut written = Written::default();
        let user = self.store.user(name);
        let Written { octets, marks, .. } = &mut written;
        written.user = self.store.write_marked(&user, &self.draft, marks, octets);
        let form = self.learned.sessions.keep(&written, USAGE_LEN);
        self.store.set_form(name, form);
        let (Some(before), Some(now)) = (before, self.learned.sessions.get(form)) else {
            return;
        };
        let wide = now.wide;
        let was = self.learned.sessions.get(before.form).cloned();
        let Some(lesson) = self.learned.lesson(procedure, body) else {
            return;
        };
        let mut values = before.values;
        let of_session = values.len();
        values.extend(lesson.form.marks.iter().filter_map(|m| {
            let value = m.value(body).filter(|v| m.domain.is_plain(*v));
            Some((m.domain, value?))
        }));
        let is_whole = values.len() == of_session + lesson.form.marks.len();
        let bare: Values = values.iter().map(|(_, value)| *value).collect();
        let layout = &self.ground.layout;
        let mut recipes = lesson.recipes.iter();
        // What cannot be replayed now is no news: it lacks room, say, or gives the session a name.
        if recipes.any(|r| r.before == before.form && r.agrees(&bare, layout)) {
            return;
        }
        let done = Done {
            before: before.form,
            was,
            used: RefCell::new([false; VALUES]),
            values,
            of_session,
            steps: self.claims.steps(),
            installed: &self.installed,
            draft: &self.draft,
            drafted,
            after: Some((&written, form)),
            wide,
            usage_len: USAGE_LEN,
        };
        match is_whole.then(|| done.bind()).flatten() {
            Some(recipe) => lesson.recipes.push(recipe),
            None => lesson.failures += 1,
        }
    }

    /// What a session is before its end by the long way; none if nothing can be learned.
    pub fn look_at_end(&mut self, name: SessionRef) -> Option<Before> {
        self.learned.counters.long_way += 1;
        if self.learned.off || self.learned.deletion(self.store.form(name)).is_some() {
            return None;
        }
        self.before(Some(name))
    }

    /// The same for the end of a session.
    pub fn learn_end(&mut self, before: Before, drafted: &Drafted) {
        let of_session = before.values.len();
        let done = Done {
            before: before.form,
            was: self.learned.sessions.get(before.form).cloned(),
            used: RefCell::new([false; VALUES]),
            values: before.values,
            of_session,
            steps: &[],
            installed: &self.installed,
            draft: &self.draft,
            drafted,
            after: None,
            wide: true,
            usage_len: USAGE_LEN,
        };
        if let Some(recipe) = done.bind() {
            self.learned.keep_deletion(before.form, recipe);
        }
    }
}
