//! A socket that speaks PFCP by hand: for what no SMF in its right mind sends.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use sluice_host::udp::{RecvBatch, UdpSocket};
use sluice_wire::pfcp::group::{ApplicationIdsPfds, PfdContext};
use sluice_wire::pfcp::message::{AssociationReleaseRequest, AssociationSetupRequest};
use sluice_wire::pfcp::value::{NodeId, NtpTime, PfdContents, Text};
use sluice_wire::pfcp::{
    Cause, Full, Header, IeType, MessageType, PORT, SequenceNumber, Writer, element::Element, ie,
    write_message,
};

use super::{Lab, N4_UPF, SOON};

/// At an address of the SMFs' namespace, port 8805.
pub struct PfcpSocket(UdpSocket);

impl PfcpSocket {
    pub fn open(lab: &Lab, address: Ipv4Addr) -> Self {
        Self(UdpSocket::bind(&lab.smf, SocketAddrV4::new(address, PORT)).unwrap())
    }

    pub fn send(&self, message: &[u8]) {
        let upf = SocketAddrV4::new(N4_UPF, PORT);
        self.0.send(message, upf, None).unwrap();
    }

    /// The cause of the next message of this type; others are passed over.
    pub fn cause_in(&self, message_type: MessageType) -> Cause {
        let mut batch = RecvBatch::new(1, 2048);
        loop {
            assert!(self.0.wait(SOON).unwrap(), "no {message_type:?}");
            if self.0.recv(&mut batch).unwrap_or(0) == 0 {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            for datagram in batch.iter() {
                let (header, body) = Header::parse(datagram.bytes).unwrap();
                if header.message_type == message_type {
                    return Cause::decode(ie::first(body, IeType::CAUSE).unwrap()).unwrap();
                }
            }
        }
    }
}

/// An Association Setup Request in this name.
pub fn association_setup(node: impl Into<Ipv4Addr>, sequence: u32) -> Vec<u8> {
    let request = AssociationSetupRequest {
        node_id: NodeId::V4(node.into()),
        recovery_time_stamp: NtpTime(3_900_000_000),
        ..Default::default()
    };
    message(MessageType::ASSOCIATION_SETUP_REQUEST, sequence, |w| {
        request.emit(w)
    })
}

/// An Association Release Request in this name.
pub fn association_release(node: impl Into<Ipv4Addr>, sequence: u32) -> Vec<u8> {
    let request = AssociationReleaseRequest {
        node_id: NodeId::V4(node.into()),
    };
    message(MessageType::ASSOCIATION_RELEASE_REQUEST, sequence, |w| {
        request.emit(w)
    })
}

/// A PFD Management Request that tells an application's flow, or that it has none.
pub fn pfd_management(application: &str, flow: Option<&str>, sequence: u32) -> Vec<u8> {
    let pfd = flow.map(|flow| PfdContext {
        pfd_contents: [PfdContents::flow(flow.as_bytes())].into_iter().collect(),
    });
    let told = ApplicationIdsPfds {
        application_id: Text(application.as_bytes()),
        pfd_context: pfd.into_iter().collect(),
    };
    message(MessageType::PFD_MANAGEMENT_REQUEST, sequence, |w| {
        w.ie(IeType::APPLICATION_IDS_PFDS, |w| told.emit(w))
    })
}

/// The message with a vendor's IE behind it that makes it so long (TS 29.244, 8.1.1): it is passed over.
pub fn padded(mut message: Vec<u8>, octets: usize) -> Vec<u8> {
    let value = octets - message.len() - 4;
    message.extend(0x8001u16.to_be_bytes());
    message.extend((value as u16).to_be_bytes());
    // The value begins with an Enterprise ID.
    message.resize(octets, 0);
    message[2..4].copy_from_slice(&((octets - 4) as u16).to_be_bytes());
    message
}

fn message(
    message_type: MessageType,
    sequence: u32,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
) -> Vec<u8> {
    let header = Header::node(message_type, SequenceNumber::wrapping(sequence));
    let mut octets = vec![0; 512];
    let len = write_message(&mut octets, &header, body).unwrap();
    octets.truncate(len);
    octets
}
