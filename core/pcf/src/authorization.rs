//! Applications that are no part of the core (Npcf_PolicyAuthorization: TS 29.514, 4.2): their requests, and news that they
//! are told.

use sluice_sbi::{
    AppSessionNews, AppSessionStored, AppSessionText, Done, Effect, Message, Nf, NotifyAppSession,
    PccRule, Place, Problem, RULES,
};

use crate::app_session::{AppSessionProblem, AppSessionRequest};
use crate::apps::Lost;
use crate::{CALL_MS, Pcf, Waiter};

impl Pcf {
    /// A request of an application; none if it is another one.
    pub(crate) fn authorize(&mut self, message: &Message) -> Option<Message> {
        let answer = match message {
            Message::CreateAppSession(request) => {
                let stored = self.create_for(&request.request);
                stored.map(Message::from)
            }
            Message::UpdateAppSession(request) => {
                let stored = self.update_for(request.app.get(), &request.request);
                stored.map(Message::from)
            }
            Message::DeleteAppSession(request) => {
                let (now, mut effects) = (self.now, Vec::new());
                let deleted = self.delete_app_session(now, request.app.get(), &mut effects);
                self.effects.extend(effects);
                deleted.map(|()| Done::ALL.into()).map_err(problem_of)
            }
            _ => return None,
        };
        Some(answer.unwrap_or_else(Message::from))
    }

    fn create_for(&mut self, text: &AppSessionText) -> Result<AppSessionStored, Problem> {
        let (now, mut effects) = (self.now, Vec::new());
        let app = self.create_app_session(now, &read(text)?, &mut effects);
        self.effects.extend(effects);
        let app = app.map_err(problem_of)?;
        self.apps.change(app, |session| session.is_told = true);
        Ok(AppSessionStored { app: app.into() })
    }

    fn update_for(&mut self, app: u64, text: &AppSessionText) -> Result<AppSessionStored, Problem> {
        let (now, mut effects) = (self.now, Vec::new());
        let updated = self.update_app_session(now, app, &read(text)?, &mut effects);
        self.effects.extend(effects);
        updated.map_err(problem_of)?;
        self.apps.change(app, |session| session.is_told = true);
        Ok(AppSessionStored { app: app.into() })
    }

    /// Tells applications of rules that they have lost: `rules` are those of the session before, and `over` says why one is
    /// over that has none left.
    pub(crate) fn tell_apps(&mut self, rules: &[PccRule], lost: &[Lost], over: AppSessionNews) {
        for one in lost {
            if !(one.is_over && over == AppSessionNews::SessionOver) {
                let its = rules.iter().filter(|rule| one.rules & 1 << rule.id != 0);
                let media: Vec<u32> = its.filter_map(medium).collect();
                self.tell_app(one.app, AppSessionNews::Failed, &media);
            }
            if one.is_over {
                self.tell_app(one.app, over, &[]);
            }
        }
    }

    /// Npcf_PolicyAuthorization_Notify (4.2.5).
    fn tell_app(&mut self, app: u64, news: AppSessionNews, media: &[u32]) {
        let deadline = self.now.instant.plus_ms(CALL_MS);
        let Some(call) = self.calls.begin_until(deadline, Waiter::App(app)) else {
            self.counters.no_room += 1;
            return;
        };
        let mut message = NotifyAppSession {
            app: app.into(),
            news,
            media: 0,
            medium: [0.into(); RULES],
        };
        for (into, number) in message.medium.iter_mut().zip(media) {
            *into = (*number).into();
            message.media += 1;
        }
        self.effects.push(Effect::Call {
            to: Place::outside(Nf::Pcf),
            call,
            deadline,
            message: Message::from(message).into(),
        });
    }

    /// An application has heard. One that does not know its session is told no more.
    pub(crate) fn app_answered(&mut self, app: u64, message: &Message) {
        if *message == Problem::ContextNotFound.into() {
            self.apps.change(app, |session| session.is_told = false);
        }
    }
}

/// Number of the component of a rule's medium, which is in its name.
fn medium(rule: &PccRule) -> Option<u32> {
    let (_, number) = rule.name.text().rsplit_once('-')?;
    number.parse().ok()
}

fn read(text: &AppSessionText) -> Result<AppSessionRequest, Problem> {
    serde_json::from_slice(text.get()).map_err(|_| Problem::Protocol)
}

fn problem_of(problem: AppSessionProblem) -> Problem {
    match problem.cause {
        "APPLICATION_SESSION_CONTEXT_NOT_FOUND" => Problem::ContextNotFound,
        "PDU_SESSION_NOT_AVAILABLE" => Problem::UserNotFound,
        "REQUESTED_SERVICE_NOT_AUTHORIZED" => Problem::QosNotAuthorized,
        "NF_CONGESTION" => Problem::Overload,
        _ => Problem::Protocol,
    }
}

#[cfg(test)]
mod tests;
