//! A gNB: an address on N3 and a thread.

use std::net::IpAddr;
use std::thread::JoinHandle;

use sluice_host::netns::Ns;
use sluice_host::udp::UdpSocket;
use sluice_wire::gtpu;

use crate::worker::GnbThread;
use crate::{GnbCounters, GnbHandle, RanError};

/// Configuration of a gNB.
#[derive(Clone, Debug)]
pub struct GnbConfig {
    pub name: String,
    /// Namespace of the N3 interface.
    pub ns: Ns,
    /// Address on N3, of either family, which the namespace must have.
    pub n3: IpAddr,
    /// The longest packet of a UE in bytes, either way.
    pub largest_pdu_bytes: u16,
    /// Error Indications and Supported Extension Headers Notifications sent per second.
    pub answers_per_second: u32,
}

impl GnbConfig {
    /// A gNB with room for packets of 2000 bytes, and ten answers to wrong packets a second.
    pub fn new(name: &str, ns: &Ns, n3: impl Into<IpAddr>) -> Self {
        Self {
            name: name.to_owned(),
            ns: ns.clone(),
            n3: n3.into(),
            largest_pdu_bytes: 2000,
            answers_per_second: 10,
        }
    }
}

/// Messages that a gNB does not send, to test its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mute {
    #[default]
    No,
    Echo,
    /// Everything, either way, as if it had no power; packets are dropped under a name.
    All,
}

/// A running gNB; dropping it stops the thread and takes its UEs' devices down.
#[derive(Debug)]
pub struct Gnb {
    handle: GnbHandle,
    thread: Option<JoinHandle<GnbCounters>>,
}

impl Gnb {
    /// Binds N3 (UDP port 2152) and starts the thread. It sleeps while nothing happens.
    pub fn start(config: &GnbConfig) -> Result<Self, RanError> {
        let socket = UdpSocket::bind(&config.ns, (config.n3, gtpu::PORT))?;
        let failed = |source| RanError::Poll {
            gnb: config.name.clone(),
            source,
        };
        let (worker, control) = GnbThread::new(config, socket).map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name(config.name.clone())
            .spawn(move || worker.run())
            .map_err(failed)?;
        let handle = GnbHandle::new(config.name.clone(), config.n3, control);
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    /// Controls it; clone it for other threads.
    pub fn handle(&self) -> &GnbHandle {
        &self.handle
    }

    /// Stops the thread and gives what it counted; its UEs' devices go down.
    pub fn stop(mut self) -> Result<GnbCounters, RanError> {
        let stopped = || RanError::Stopped(self.handle.name().to_owned());
        let counters = Self::end(&self.handle, &mut self.thread);
        counters.ok_or_else(stopped)
    }

    /// `None` when the thread has panicked, or been ended before.
    fn end(
        handle: &GnbHandle,
        thread: &mut Option<JoinHandle<GnbCounters>>,
    ) -> Option<GnbCounters> {
        let thread = thread.take()?;
        handle.request_stop();
        thread.join().ok()
    }
}

impl Drop for Gnb {
    fn drop(&mut self) {
        Self::end(&self.handle, &mut self.thread);
    }
}
