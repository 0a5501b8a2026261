//! A gNB's SCTP association with the AMF.

use sluice_core_runtime::Node;
use sluice_host::netns::Ns;
use sluice_n2::RanUeId;
use sluice_sctp::{
    AllowList, Association, Choice, Config, Event, Loss, NGAP_PORT, NGAP_PPID, Opening, Peer,
    Prefix, Sctp as _,
};

use crate::error::DemoError;
use crate::plan;

/// An association that is there, begins, or has ended.
pub(super) struct Link {
    pub(super) node: Node,
    association: Association,
    /// Towards the AMF; 0 while there is no association.
    pub(super) streams: u16,
    /// Why it ended.
    pub(super) lost: Option<Loss>,
}

impl Link {
    /// Begins the association of gNB `number`, by the kernel's SCTP where there is one.
    pub(super) fn connect(ns: &Ns, number: usize) -> Result<Self, DemoError> {
        let allowed = Prefix::new(plan::N2_AMF.into(), 32);
        let allowed = AllowList::new(allowed.into_iter().collect());
        let port = plan::GNB_SCTP_PORT + number as u16;
        let opening = Opening {
            choice: Choice::Auto,
            addresses: vec![plan::N2_GNBS[number].into()],
            udp_port: None,
            config: Config::new(port, allowed),
            listens: false,
        };
        let mut node = opening.open(ns)?;
        let amf = Peer {
            address: plan::N2_AMF.into(),
            udp_port: 0,
        };
        let begun = node.sctp.connect(amf, NGAP_PORT);
        node.flush();
        Ok(Self {
            node,
            association: begun.ok_or_else(|| DemoError::answer("SCTP", "no association"))?,
            streams: 0,
            lost: None,
        })
    }

    /// NGAP messages that have come.
    pub(super) fn take(&mut self) -> Result<Vec<Vec<u8>>, DemoError> {
        let events = self.node.take().map_err(DemoError::io("receive on N2"))?;
        let mut messages = Vec::new();
        for event in events {
            match event {
                Event::Up { streams, .. } => self.streams = streams,
                Event::Message {
                    ppid: NGAP_PPID,
                    octets,
                    ..
                } => messages.push(octets),
                Event::Message { .. } => {}
                Event::Lost { why, .. } => self.lost = Some(why),
            }
        }
        Ok(messages)
    }

    /// Sends a message: what is about a UE on a stream that is not the gNB's own (TS 38.412, 7).
    pub(super) fn send(&mut self, about: Option<RanUeId>, octets: &[u8]) -> Result<(), DemoError> {
        let stream = match (about, self.streams) {
            (None, _) | (_, 0 | 1) => 0,
            (Some(ran), streams) => 1 + (ran.0 % u32::from(streams - 1)) as u16,
        };
        let sent = self
            .node
            .sctp
            .send(self.association, stream, NGAP_PPID, octets);
        sent.map_err(|error| DemoError::answer("SCTP", error.to_string()))
    }

    /// Ends it in order.
    pub(super) fn end(&mut self) {
        self.node.sctp.shutdown(self.association);
        self.node.flush();
    }
}
