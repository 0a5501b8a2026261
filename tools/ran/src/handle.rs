//! Thread-safe handle of a gNB: each call is run by the gNB's own thread.
//!
//! Each call is a piece of work that the gNB's own thread does between two bursts.

use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_host::poll::Waker;
use sluice_n1::QosRule;
use sluice_smf_emulator::UeAddresses;
use sluice_wire::ids::{Qfi, Teid};

use crate::ue::Ue;
use crate::worker::{AfterRelease, GnbThread};
use crate::{
    Detached, FTeid, GnbCounters, Mute, RanError, TunnelCounters, UeConfig, UeId, UeReport,
};

/// Work for the gNB's thread.
pub(crate) type Job = Box<dyn FnOnce(&mut GnbThread) + Send>;

/// Brings work to the gNB's thread and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) jobs: Sender<Job>,
    pub(crate) waker: Waker,
}

/// Controls a gNB; clones control the same one.
#[derive(Clone, Debug)]
pub struct GnbHandle {
    name: Arc<str>,
    n3: IpAddr,
    control: Control,
}

/// Place of a UE after a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverTarget {
    /// The endpoint of the new gNB for its downlink.
    pub downlink_teid: Teid,
    /// The UPF's endpoint for its uplink; mostly the old one.
    pub uplink: FTeid,
}

/// How packets follow a UE that is handed over (TS 38.300, 9.2.3.2.2; by N2: TS 23.502, 4.9.1.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Endpoint of the new gNB, or of a UPF, to which the old gNB forwards late packets. None: they are dropped as
    /// late.
    pub to: Option<FTeid>,
    /// A further endpoint of the new gNB, for what is forwarded.
    pub takes: Option<Teid>,
}

/// The answer to an Echo Request, which may come.
#[derive(Debug)]
pub struct EchoAnswer {
    answer: Receiver<Duration>,
    deadline: Instant,
}

impl EchoAnswer {
    /// The time until the answer; `Err` when none came in time, `Ok(None)` while it may come.
    pub fn poll(&self) -> Result<Option<Duration>, NoAnswer> {
        match self.answer.try_recv() {
            Ok(took) => Ok(Some(took)),
            Err(TryRecvError::Empty) if Instant::now() < self.deadline => Ok(None),
            Err(_) => Err(NoAnswer),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no Echo Response came in time")]
pub struct NoAnswer;

impl GnbHandle {
    pub(crate) fn new(name: String, n3: IpAddr, control: Control) -> Self {
        Self {
            name: name.into(),
            n3,
            control,
        }
    }

    /// The gNB's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// N3 address of the gNB.
    pub fn n3(&self) -> IpAddr {
        self.n3
    }

    /// Serves a UE from now on. Refused when another UE has its TEID or its MTU is too large;
    /// the device is taken down then.
    pub fn attach(&self, config: UeConfig) -> Result<UeId, RanError> {
        let ue = Box::new(Ue::new(config));
        let id = ue.id;
        self.adopt(ue).map(|()| id).map_err(|refused| refused.error)
    }

    /// Serves a UE no more; packets to its TEID get Error Indications from now on.
    pub fn detach(&self, ue: UeId) -> Result<Detached, RanError> {
        Ok(self.release(ue, AfterRelease::Forget)?.into_detached())
    }

    /// Moves a UE to the gNB `to`, like a handover without forwarding between the two: no
    /// uplink packet is lost or sent twice, and all that this gNB sent leaves before what the
    /// other sends. What the UPF still sends to the old TEID is dropped as
    /// [`crate::DropReason::Late`] and counted by [`GnbHandle::tunnel`], until
    /// [`GnbHandle::forget_tunnel`]. If `to` refuses, the UE stays here.
    pub fn hand_over(&self, ue: UeId, to: &Self, target: HandoverTarget) -> Result<(), RanError> {
        self.hand_over_with(ue, to, target, Forwarding::default())
    }

    /// The same, and packets follow the UE: what the UPF still sends to the old TEID is forwarded, End
    /// Markers as well, and counted by [`GnbHandle::tunnel`].
    pub fn hand_over_with(
        &self,
        ue: UeId,
        to: &Self,
        target: HandoverTarget,
        forwarding: Forwarding,
    ) -> Result<(), RanError> {
        let mut moving = self.release(ue, AfterRelease::KeepTunnel(forwarding.to))?;
        let old = HandoverTarget {
            downlink_teid: moving.config.downlink_teid,
            uplink: moving.config.uplink,
        };
        let left: Vec<Teid> = moving.teids().collect();
        moving.set_tunnel(target, forwarding);
        let Err(refused) = to.adopt(moving) else {
            // Nobody would have taken a packet there before.
            return self.ask(move |worker| worker.begin_forwarding(&left));
        };
        if let Some(mut ue) = refused.ue {
            ue.set_tunnel(old, Forwarding::default());
            self.adopt(ue).map_err(|again| again.error)?;
        }
        Err(refused.error)
    }

    /// Sends the UE's packets to another endpoint from now on.
    pub fn set_uplink(&self, ue: UeId, uplink: FTeid) -> Result<(), RanError> {
        self.ask(move |worker| worker.ue_mut(ue).map(|ue| ue.config.uplink = uplink))?
    }

    /// Puts the UE's packets that no QoS rule knows into another QoS flow from now on.
    pub fn set_qfi(&self, ue: UeId, qfi: Qfi) -> Result<(), RanError> {
        self.ask(move |worker| worker.ue_mut(ue).map(|ue| ue.config.qfi = qfi))?
    }

    /// The network has given the UE other QoS rules, in the order of their precedence.
    pub fn set_rules(&self, ue: UeId, rules: Arc<[QosRule]>) -> Result<(), RanError> {
        self.ask(move |worker| worker.ue_mut(ue).map(|ue| ue.config.rules = rules))?
    }

    /// The UE has other addresses from now on.
    pub fn set_addresses(&self, ue: UeId, addresses: UeAddresses) -> Result<(), RanError> {
        self.ask(move |worker| worker.ue_mut(ue).map(|ue| ue.config.addresses = addresses))?
    }

    /// Sends packets of the UE that were taken from its device before.
    pub fn send_uplink(&self, ue: UeId, packets: Vec<Vec<u8>>) -> Result<(), RanError> {
        self.ask(move |worker| {
            packets
                .iter()
                .for_each(|packet| worker.uplink_held(ue, packet));
        })
    }

    /// A UE and its counters.
    pub fn ue(&self, ue: UeId) -> Result<UeReport, RanError> {
        self.ask(move |worker| worker.ue_mut(ue).map(|ue| ue.report()))?
    }

    /// The UEs that it serves.
    pub fn ues(&self) -> Result<Vec<UeId>, RanError> {
        self.ask(|worker| worker.ue_ids())
    }

    /// Counters of a tunnel endpoint of this gNB.
    pub fn tunnel(&self, teid: Teid) -> Result<TunnelCounters, RanError> {
        self.ask(move |worker| worker.tunnel(teid))?
    }

    /// Forgets the endpoint of a UE that was handed over; packets to it get Error Indications
    /// from now on. The endpoint of a UE that is here is not forgotten.
    pub fn forget_tunnel(&self, teid: Teid) -> Result<TunnelCounters, RanError> {
        self.ask(move |worker| worker.forget_tunnel(teid))?
    }

    /// The gNB's counters.
    pub fn counters(&self) -> Result<GnbCounters, RanError> {
        self.ask(|worker| *worker.counters())
    }

    /// Sends an Echo Request (TS 29.281, 7.2.1) and gives the time until the answer.
    pub fn echo(&self, peer: impl Into<IpAddr>, timeout: Duration) -> Result<Duration, RanError> {
        let peer = peer.into();
        let answer = self.begin_echo(peer, timeout)?;
        let gnb = || self.name().to_owned();
        let came = answer.answer.recv_timeout(timeout);
        came.map_err(|_| RanError::NoEcho {
            gnb: gnb(),
            peer,
            timeout,
        })
    }

    /// Sends an Echo Request and does not wait for the answer, which counts until `timeout`.
    pub fn begin_echo(
        &self,
        peer: impl Into<IpAddr>,
        timeout: Duration,
    ) -> Result<EchoAnswer, RanError> {
        let peer = peer.into();
        let (sender, answer) = channel();
        self.ask(move |worker| worker.send_echo(peer, timeout, sender))?;
        let deadline = Instant::now() + timeout;
        Ok(EchoAnswer { answer, deadline })
    }

    /// Keeps things to itself from now on, or speaks again.
    pub fn set_mute(&self, mute: Mute) -> Result<(), RanError> {
        self.ask(move |worker| worker.mute = mute)
    }

    pub(crate) fn request_stop(&self) {
        // If it cannot be asked, it has stopped.
        let _ = self.control.jobs.send(Box::new(GnbThread::stop));
        self.control.waker.wake();
    }

    fn release(&self, ue: UeId, after: AfterRelease) -> Result<Box<Ue>, RanError> {
        self.ask(move |worker| worker.release(ue, after))?
    }

    /// A UE that is refused comes back, unless the thread died with it.
    fn adopt(&self, ue: Box<Ue>) -> Result<(), Refused> {
        // In a shared place, so that a job which is never done does not take the UE along.
        let place = Arc::new(Mutex::new(Some(ue)));
        let theirs = Arc::clone(&place);
        let outcome = self.ask(move |worker| worker.adopt(&mut lock(&theirs)));
        let error = match outcome {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) | Err(error) => error,
        };
        let ue = lock(&place).take();
        Err(Refused { error, ue })
    }

    /// Has the gNB's thread do `work`, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut GnbThread) -> T + Send + 'static,
    ) -> Result<T, RanError> {
        let (sender, answer) = channel();
        let job: Job = Box::new(move |worker| {
            // Whoever asked may have gone.
            let _ = sender.send(work(worker));
        });
        let stopped = || RanError::Stopped(self.name().to_owned());
        self.control.jobs.send(job).map_err(|_| stopped())?;
        self.control.waker.wake();
        answer.recv().map_err(|_| stopped())
    }
}

struct Refused {
    error: RanError,
    ue: Option<Box<Ue>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A UE is as good after a panic as before.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
