//! QoS flows that operators and applications want: what the PCF says, once the SMF was asked.

use sluice_ids::Supi;
use sluice_pcf::{AppSession, AppSessionProblem, AppSessionRequest, FlowRefused, Pcf};
use sluice_sbi::{Effect, Nf, Now, PccRule};

use crate::Core;

impl Core {
    /// Policy control, for operators; none of a core without it.
    pub fn pcf(&self) -> Option<&Pcf> {
        self.host.functions.pcf.as_ref()
    }

    /// The PCF goes on with other policies, for sessions that begin from now on.
    ///
    /// # Errors
    /// Fault in them; those of before stay.
    pub fn reconfigure_pcf(&mut self, config: sluice_pcf::Config) -> Result<(), &'static str> {
        match &mut self.host.functions.pcf {
            Some(pcf) => pcf.reconfigure(config),
            None => Ok(()),
        }
    }

    /// Starts a flow of a session for the operator (TS 23.502, 4.3.3.2, step 1b); without the session's
    /// identity, of the UE's first one. An idle UE is paged.
    ///
    /// # Errors
    /// [`FlowRefused`]: nothing has changed.
    pub fn start_flow(
        &mut self,
        now: Now,
        supi: &Supi,
        session: Option<u8>,
        rule: PccRule,
    ) -> Result<(), FlowRefused> {
        self.with_pcf_do(now, FlowRefused::NoSession, |pcf, effects| {
            pcf.start_flow(now, supi, session, rule, effects)
        })?;
        // The SMF was asked meanwhile, and may have no room.
        let pcf = self.host.functions.pcf.as_ref();
        let is_there = pcf.is_some_and(|pcf| pcf.has_flow(supi, session, rule.name.text()));
        is_there.then_some(()).ok_or(FlowRefused::NoRoom)
    }

    /// Stops a flow of a session for the operator, whoever started it.
    ///
    /// # Errors
    /// [`FlowRefused`]: nothing has changed.
    pub fn stop_flow(
        &mut self,
        now: Now,
        supi: &Supi,
        session: Option<u8>,
        name: &str,
    ) -> Result<(), FlowRefused> {
        self.with_pcf_do(now, FlowRefused::NoSession, |pcf, effects| {
            pcf.stop_flow(now, supi, session, name, effects)
        })
    }

    /// Npcf_PolicyAuthorization_Create (TS 29.514, 4.2.2): the number of the application's session.
    ///
    /// # Errors
    /// [`AppSessionProblem`]: nothing has changed.
    pub fn create_app_session(
        &mut self,
        now: Now,
        request: &AppSessionRequest,
    ) -> Result<u64, AppSessionProblem> {
        let none = AppSessionProblem::from(FlowRefused::NoSession);
        let app = self.with_pcf_do(now, none, |pcf, effects| {
            pcf.create_app_session(now, request, effects)
        })?;
        match self.app_session(app) {
            Some(_) => Ok(app),
            None => Err(FlowRefused::NoRoom.into()),
        }
    }

    /// Npcf_PolicyAuthorization_Update (TS 29.514, 4.2.3): the application has these flows from now on.
    ///
    /// # Errors
    /// [`AppSessionProblem`]; where there is no room for the new flows, the session is over.
    pub fn update_app_session(
        &mut self,
        now: Now,
        app: u64,
        request: &AppSessionRequest,
    ) -> Result<(), AppSessionProblem> {
        let none = AppSessionProblem::not_found();
        self.with_pcf_do(now, none, |pcf, effects| {
            pcf.update_app_session(now, app, request, effects)
        })?;
        match self.app_session(app) {
            Some(_) => Ok(()),
            None => Err(FlowRefused::NoRoom.into()),
        }
    }

    /// Npcf_PolicyAuthorization_Delete (TS 29.514, 4.2.4).
    ///
    /// # Errors
    /// There is no session of this number.
    pub fn delete_app_session(&mut self, now: Now, app: u64) -> Result<(), AppSessionProblem> {
        let none = AppSessionProblem::not_found();
        self.with_pcf_do(now, none, |pcf, effects| {
            pcf.delete_app_session(now, app, effects)
        })
    }

    /// A session of an application; none if there is none of this number, or not any more.
    pub fn app_session(&self, app: u64) -> Option<&AppSession> {
        self.host.functions.pcf.as_ref()?.app_session(app)
    }

    fn with_pcf_do<T, E>(
        &mut self,
        now: Now,
        none: E,
        act: impl FnOnce(&mut Pcf, &mut Vec<Effect>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut effects = Vec::new();
        let acted = act(self.host.functions.pcf.as_mut().ok_or(none)?, &mut effects);
        self.follow(now, Nf::Pcf, effects);
        acted
    }
}
