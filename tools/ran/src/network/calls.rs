//! Calls that block until they are done, and what callers ask of UEs.

use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_host::link::LinkCounters;
use sluice_n1::RegistrationKind;
use sluice_n2::RanUeId;
use sluice_smf_emulator::{SmfError, Traffic, UrrUsage};
use sluice_ue::{FleetUe, RadioSession};

use super::Network;
use super::ues::{Served, Ue};
use crate::scenario::{By, SignalKind};
use crate::{CallError, GnbHandle, LeftTunnel, RanError, UeReport};

/// How long a procedure may take, on a busy machine too.
pub const CALL_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at what is waited for.
const PATIENCE: Duration = Duration::from_millis(10);

/// A UE's device as the kernel has counted for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Seen from the UE: `tx` is uplink.
    pub counters: LinkCounters,
    /// Of its uplink, octets of its own link: no UPF passes them on.
    pub link_local_bytes: u64,
}

/// Procedures of UEs with SIMs (TS 23.502); each gives its duration.
///
/// # Errors
/// Whatever kept it from being done, in words.
impl Network {
    /// Initial registration (4.2.2.2.2).
    pub fn register(&mut self, ue: usize) -> Result<Duration, CallError> {
        self.call(ue, SignalKind::Register(RegistrationKind::Initial))
    }

    /// PDU session establishment (4.3.2.2.1); the session has a device then.
    pub fn establish_session(&mut self, ue: usize, session: u8) -> Result<Duration, CallError> {
        self.call(ue, SignalKind::Establish(Some(session)))
    }

    /// AN release (4.2.6).
    pub fn go_idle(&mut self, ue: usize) -> Result<Duration, CallError> {
        self.call(ue, SignalKind::Idle)
    }

    /// Service request (4.2.3.2).
    pub fn request_service(&mut self, ue: usize) -> Result<Duration, CallError> {
        self.call(ue, SignalKind::Service)
    }

    /// Handover to a gNB (4.9.1.2, 4.9.1.3).
    pub fn handover(&mut self, ue: usize, by: By, to: usize) -> Result<Duration, CallError> {
        self.call(ue, SignalKind::HandOver(by, Some(to)))
    }

    /// Deregistration (4.2.2.3.2); the UE is idle then.
    pub fn deregister(&mut self, ue: usize) -> Result<Duration, CallError> {
        let switch_off = false;
        let took = self.call(ue, SignalKind::Deregister { switch_off })?;
        self.await_release(ue)?;
        Ok(took)
    }

    /// Waits until a UE is idle that is released or sent away.
    pub fn await_release(&mut self, ue: usize) -> Result<(), CallError> {
        self.wait("the release of a UE", |n| n.gnb_of(ue).is_none())
    }

    fn call(&mut self, ue: usize, what: SignalKind) -> Result<Duration, CallError> {
        let name = self.ues.get(ue).map(Ue::name).unwrap_or_default();
        let name = format!("{name}: to {}", what.describe());
        self.wait(&name, |n| !n.is_busy(ue))?;
        self.without_failure(|n| {
            if !n.begin(ue, what, clock::monotonic_ns(), CALL_LIMIT) {
                return Err(CallError::Failed(format!("{name}: it has no SIM")));
            }
            n.wait(&name, |n| !n.is_busy(ue))
        })?;
        let done = self.n2.as_ref().and_then(|n2| n2.last_done);
        let done = done.filter(|(whose, _)| *whose == ue);
        done.map(|(_, took)| took)
            .ok_or(CallError::Failed(format!("{name}: nothing was done")))
    }
}

/// Sessions that the SMF of the scenario makes.
///
/// # Errors
/// Whatever kept it from being done, in words.
impl Network {
    /// UEs get sessions, devices and tunnels.
    pub fn attach_all(&mut self, ues: &[usize]) -> Result<(), CallError> {
        self.without_failure(|n| {
            n.attach(ues, None);
            Ok(())
        })
    }

    /// A UE goes to a gNB, and the UPF is told (TS 23.502, 4.9.1.2); the tunnel that it left.
    pub fn switch_path(&mut self, ue: usize, to: usize) -> Result<LeftTunnel, CallError> {
        self.without_failure(|n| {
            n.hand_over(&[ue], None, Some(to));
            Ok(())
        })?;
        let left = self.take_left(ue);
        left.ok_or_else(|| CallError::Failed("handover: the UE was not moved".to_owned()))
    }

    /// A UE's session is deleted, and its gNB is not told; what the UPF has measured in all.
    pub fn end_session(&mut self, ue: usize) -> Result<Traffic, CallError> {
        self.take_reports();
        let one = self.ues.get_mut(ue);
        let session = one.and_then(|ue| {
            ue.is_given_up = true;
            ue.session_mut()?.take()
        });
        let (core, session) = self.core.as_ref().zip(session).ok_or_else(no_session)?;
        let usage = core.smf().delete(session.cp_seid)?;
        let last = usage.urrs.iter().map(UrrUsage::traffic);
        let before = session.reported.into_iter().map(|(_, traffic)| traffic);
        Ok(before.chain(last).fold(Traffic::default(), Traffic::plus))
    }

    /// Ends the association of SMF and UPF.
    pub fn release_association(&mut self) -> Result<(), CallError> {
        let release = |core: &super::Core| core.smf().release();
        self.core.as_ref().map_or(Ok(()), release)?;
        self.core = None;
        Ok(())
    }
}

impl Network {
    /// Devices stay when their sessions end, for those who compare counters.
    pub fn keep_devices(&mut self) {
        self.keeps_devices = true;
    }

    /// Looks after everything until a condition holds.
    ///
    /// # Errors
    /// The condition did not hold in time; somebody wants the end; the condition's own.
    pub fn wait_for<E: From<CallError>>(
        &mut self,
        what: &str,
        mut condition: impl FnMut(&Self) -> Result<bool, E>,
    ) -> Result<(), E> {
        let (end, limit) = (Instant::now() + CALL_LIMIT, CALL_LIMIT);
        while !condition(self)? {
            self.until.check().map_err(CallError::from)?;
            if Instant::now() >= end {
                let what = what.to_owned();
                return Err(CallError::TooLate { what, limit }.into());
            }
            self.go_on();
        }
        Ok(())
    }

    fn wait(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> Result<(), CallError> {
        self.wait_for(what, |network| Ok(condition(network)))
    }

    /// Looks after everything for a moment.
    pub fn go_on(&mut self) {
        self.turn(PATIENCE);
        self.pulse();
    }

    /// Plays a script while some work goes on, on a thread of its own; gives what came of the work, and whether it
    /// went on for the whole script.
    ///
    /// # Errors
    /// Errors of the script, then of the work.
    pub fn meanwhile<T: Send, E: Send>(
        &mut self,
        work: impl FnOnce() -> Result<T, E> + Send,
        script: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(T, bool), E> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(work);
            let played = script(self);
            let is_whole = !thread.is_finished();
            while !thread.is_finished() {
                self.go_on();
            }
            let done = thread.join();
            played?;
            let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((done?, is_whole))
        })
    }

    /// Turns a failure that is counted meanwhile into an error.
    fn without_failure(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let before = self.totals.failures;
        act(self)?;
        match self.totals.failures > before {
            true => Err(CallError::Failed(self.last_failure.clone())),
            false => Ok(()),
        }
    }

    /// Waits for the End Marker in the tunnel that a UE has left last, which is forgotten then.
    ///
    /// # Errors
    /// None came, or the UE has left none.
    pub fn await_end_marker(&mut self, ue: usize) -> Result<(), CallError> {
        let left = self.take_left(ue);
        let left = left.ok_or_else(|| CallError::Failed("no handover before".to_owned()))?;
        self.wait_for::<CallError>("an End Marker", |n| Ok(n.has_ended(&left)?))?;
        self.gnb(left.gnb)?.forget_tunnel(left.teid)?;
        Ok(())
    }

    /// Controls a gNB.
    pub fn gnb(&self, gnb: usize) -> Result<&GnbHandle, RanError> {
        let station = self.stations.get(gnb);
        let stopped = || RanError::Stopped(format!("number {gnb}"));
        station.map(super::NetworkGnb::handle).ok_or_else(stopped)
    }

    /// A UE as its gNB has it on N3.
    pub fn report(&self, ue: usize) -> Result<UeReport, CallError> {
        let Served { gnb, id, .. } = self.served(ue)?;
        Ok(self.gnb(*gnb)?.ue(*id)?)
    }

    /// Index of the gNB that serves a UE on N3.
    pub fn serving_gnb(&self, ue: usize) -> Result<usize, CallError> {
        Ok(self.served(ue)?.gnb)
    }

    fn served(&self, ue: usize) -> Result<&Served, CallError> {
        let served = self.ues.get(ue).and_then(Ue::served);
        served.ok_or_else(|| CallError::Failed(format!("UE {} has no tunnel", ue + 1)))
    }

    /// A UE's device.
    pub fn device(&self, ue: usize) -> Result<Device, CallError> {
        let one = self.ues.get(ue).ok_or_else(no_session)?;
        let now = match one.served() {
            Some(_) => self.report(ue)?.counters.by_family.link_local_uplink.bytes,
            None => 0,
        };
        Ok(Device {
            counters: one.link()?.counters()?,
            link_local_bytes: one.link_local_bytes + now,
        })
    }

    /// A UE with a SIM, as it is on N1.
    pub fn sim(&self, ue: usize) -> Option<&FleetUe> {
        let n2 = self.n2.as_ref()?;
        n2.fleet().ues().get(*n2.fleet_ue_of.get(&ue)?)
    }

    /// A session of a UE with a SIM as its gNB has it; none while its user plane is down.
    pub fn radio(&self, ue: usize, session: u8) -> Option<RadioSession> {
        let n2 = self.n2.as_ref()?;
        n2.fleet().radio(*n2.fleet_ue_of.get(&ue)?, session)
    }

    /// The gNB at which a UE with a SIM is connected, on N2, and its name of the connection.
    pub fn connection(&self, ue: usize) -> Option<(&sluice_ue::Gnb, RanUeId)> {
        let (gnb, ran) = self.sim(ue)?.at()?;
        Some((self.n2.as_ref()?.fleet().gnbs().get(gnb)?, ran))
    }

    /// Index of that gNB.
    pub fn gnb_of(&self, ue: usize) -> Option<usize> {
        let (gnb, _) = self.sim(ue)?.at()?;
        self.n2.as_ref()?.gnb_of.get(gnb).copied()
    }

    /// N2 of all gNBs.
    pub fn n2(&self) -> Option<&super::Signalling> {
        self.n2.as_ref()
    }
}

fn no_session() -> CallError {
    SmfError::Stopped.into()
}
