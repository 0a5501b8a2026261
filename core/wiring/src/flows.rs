//! QoS flows that operators and applications want: the PCF of a host says what is to be, and its SMF whether there is room.

use sluice_core_host::{self as host, Host};
use sluice_ids::Supi;
use sluice_pcf::{AppSession, AppSessionProblem, AppSessionRequest, FlowRefused, Pcf};
use sluice_sbi::{Effect, Nf, Now, PccRule};

use crate::{Apart, Core};

/// Policy control of a host, as far as it has it.
pub struct Flows<'a, F>(&'a mut Host<F>);

impl Core {
    /// Policy control, for operators; none of a core without it, or whose PCF is another host's.
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

    /// Flows that operators and applications want.
    pub fn flows(&mut self) -> Flows<'_, impl host::Functions + AsRef<Apart> + AsMut<Apart>> {
        Flows(&mut self.host)
    }
}

impl<'a, F: host::Functions + AsRef<Apart> + AsMut<Apart>> From<&'a mut Host<F>> for Flows<'a, F> {
    fn from(host: &'a mut Host<F>) -> Self {
        Self(host)
    }
}

impl<F: host::Functions + AsRef<Apart> + AsMut<Apart>> Flows<'_, F> {
    /// Starts a flow of a session for the operator (TS 23.502, 4.3.3.2, step 1b); without the session's
    /// identity, of the UE's first one. An idle UE is paged. The SMF may have no room for it:
    /// [`Flows::has_started`] tells once it was asked.
    ///
    /// # Errors
    /// [`FlowRefused`]: nothing has changed.
    pub fn start(
        &mut self,
        now: Now,
        supi: &Supi,
        session: Option<u8>,
        rule: PccRule,
    ) -> Result<(), FlowRefused> {
        self.with_pcf_do(now, FlowRefused::NoSession, |pcf, effects| {
            pcf.start_flow(now, supi, session, rule, effects)
        })
    }

    /// Whether the SMF had room for a flow; none while it has not answered.
    pub fn has_started(
        &self,
        supi: &Supi,
        session: Option<u8>,
        name: &str,
    ) -> Option<Result<(), FlowRefused>> {
        let Some(pcf) = self.pcf() else {
            return Some(Err(FlowRefused::NoSession));
        };
        if pcf.is_asking_for(supi, session) {
            return None;
        }
        let has = pcf.has_flow(supi, session, name);
        Some(has.then_some(()).ok_or(FlowRefused::NoRoom))
    }

    /// Stops a flow of a session for the operator, whoever started it.
    ///
    /// # Errors
    /// [`FlowRefused`]: nothing has changed.
    pub fn stop(
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

    /// Npcf_PolicyAuthorization_Create (TS 29.514, 4.2.2): the number of the application's session. The SMF may have
    /// no room for it: [`Flows::has_app_session`] tells once it was asked.
    ///
    /// # Errors
    /// [`AppSessionProblem`]: nothing has changed.
    pub fn create_app_session(
        &mut self,
        now: Now,
        request: &AppSessionRequest,
    ) -> Result<u64, AppSessionProblem> {
        let none = AppSessionProblem::from(FlowRefused::NoSession);
        self.with_pcf_do(now, none, |pcf, effects| {
            pcf.create_app_session(now, request, effects)
        })
    }

    /// Npcf_PolicyAuthorization_Update (TS 29.514, 4.2.3): the application has these flows from now on. Where there is
    /// no room for them, the session is over: [`Flows::has_app_session`] tells once the SMF was asked.
    ///
    /// # Errors
    /// [`AppSessionProblem`].
    pub fn update_app_session(
        &mut self,
        now: Now,
        app: u64,
        request: &AppSessionRequest,
    ) -> Result<(), AppSessionProblem> {
        let none = AppSessionProblem::not_found();
        self.with_pcf_do(now, none, |pcf, effects| {
            pcf.update_app_session(now, app, request, effects)
        })
    }

    /// Whether the SMF had room for the flows of an application; none while it has not answered.
    pub fn has_app_session(&self, app: u64) -> Option<Result<(), AppSessionProblem>> {
        let pcf = self.pcf();
        if pcf.is_some_and(|pcf| pcf.is_asking_for_app(app)) {
            return None;
        }
        let has = pcf.is_some_and(|pcf| pcf.app_session(app).is_some());
        Some(has.then_some(()).ok_or(FlowRefused::NoRoom.into()))
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
        self.pcf()?.app_session(app)
    }

    fn pcf(&self) -> Option<&Pcf> {
        self.0.functions.as_ref().pcf.as_ref()
    }

    fn with_pcf_do<T, E>(
        &mut self,
        now: Now,
        none: E,
        act: impl FnOnce(&mut Pcf, &mut Vec<Effect>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut effects = Vec::new();
        let pcf = self.0.functions.as_mut().pcf.as_mut().ok_or(none)?;
        let acted = act(pcf, &mut effects);
        self.0.follow(now, Nf::Pcf, effects);
        acted
    }
}
