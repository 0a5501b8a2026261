//! Two UPFs in a row: one joins N3 and N9, the other N9 and N6. Real packets go both ways.
//!
//! ```text
//!   UE - gNB -- N3 -- [intermediate UPF] -- N9 -- [anchor UPF] -- N6 -- server
//! ```

use std::net::{Ipv4Addr, UdpSocket};

use sluice_host::capture::Capture;
use sluice_host::tshark::judge;
use sluice_host::veth::{Veth, VethEnd};
use sluice_smf_emulator::{Change, Tunnel};
use sluice_wire::ids::{FarId, PdrId, Precedence, Seid, UrrId};
use sluice_wire::pfcp::group::{CreateFar, CreatePdr, CreateUrr, ForwardingParameters, Pdi};
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{
    self, Cause, Full, Header, MessageType, SequenceNumber, Writer, write_message,
};

use super::kit::*;

const N4_INTERMEDIATE: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 9);
const N9_INTERMEDIATE: Ipv4Addr = Ipv4Addr::new(198, 18, 9, 1);
const N9_ANCHOR: Ipv4Addr = Ipv4Addr::new(198, 18, 9, 2);

#[test]
fn packets_pass_two_upfs_in_a_row() {
    let Some(lab) = Lab::new("relay") else { return };
    let end = |name| VethEnd::bare(&lab.upf, name);
    let _n9 = Veth::create(&end("n9a"), &end("n9b"), 1500).unwrap();
    lab.n4.b().add_address(N4_INTERMEDIATE, 24).unwrap();
    // What packet sockets send passes their own interface unseen: each end sees one direction.
    let captures = ["n9a", "n9b"].map(|name| {
        let pcap = lab.path(&format!("{name}.pcap"));
        (Capture::start(&lab.upf, name, "udp", &pcap).unwrap(), pcap)
    });
    let anchor = Daemon::start_as(&lab, "anchor", &anchor());
    // DPDK makes the number of a fanout group from those of process and interface: two processes as
    // close as these would now and then ask for the same one.
    for _ in 0..64 {
        std::process::Command::new("true").status().unwrap();
    }
    let intermediate = Daemon::start(&lab, &intermediate());
    let (smf, gnb) = (lab.smf(), lab.gnb());

    let mut plan = Ue::plan(N3_GNB, 0);
    let at_gnb = plan.gnb.take().unwrap();
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    let mut other_smf = HandmadeSmf::associated(&lab);
    let (n3, n9) = other_smf.join(at_gnb, ue.session.uplink);
    assert_eq!(
        (n3.ipv4(), n9.ipv4()),
        (Some(N3_UPF), Some(N9_INTERMEDIATE))
    );
    ue.set_uplink(gnb.handle(), n3);
    smf.change(ue.cp_seid(), Change::Connect(n9)).unwrap();

    assert_eq!(ue.ping(&lab, 5, 84), 5);
    assert_eq!(ue.ping(&lab, 5, 1400), 5);
    // The anchor routes and the relay does not: one hop (TS 29.281, 4.2.6; RFC 1812, 5.3.1).
    assert_eq!(ue.ttl_of_an_answer(&lab), 63);
    let bytes = 5 * (84 + 1400) + 84;
    let measured = other_smf.delete();
    assert_eq!(
        (measured.uplink, measured.downlink),
        (Some(bytes), Some(bytes))
    );
    let anchored = smf.delete(ue.cp_seid()).unwrap().urrs[0].traffic();
    assert_eq!(
        (anchored.uplink_octets, anchored.downlink_octets),
        (bytes, bytes)
    );
    for daemon in [&intermediate, &anchor] {
        assert_eq!(daemon.ledger()["dropped_total"], 0);
    }
    for (capture, pcap) in captures {
        capture.stop().unwrap();
        let verdict = judge(&pcap).unwrap();
        assert!(verdict.is_clean() && verdict.frames == 11, "{verdict:?}");
    }
}

/// Nothing but the UE's packets on N9: whether an Echo Request fits in depends on who has learned whose address.
const NO_ECHO: &str = "echo: {interval_s: 0}\n";

fn anchor() -> Config {
    let mut config = Config::new();
    config.more = NO_ECHO.to_owned();
    config.ports[0] = "name: n9, device: 'net_af_packet0,iface=n9b'".to_owned();
    config.interfaces[0] = format!(
        "name: n9, port: n9, addresses: {N9_ANCHOR}/24, n9: {{side: access, network_instance: access}}"
    );
    config
}

fn intermediate() -> Config {
    let mut config = Config::new().n4("listen", N4_INTERMEDIATE);
    config.more = NO_ECHO.to_owned();
    config.ports[1] = "name: n9, device: 'net_af_packet1,iface=n9a'".to_owned();
    config.interfaces[1] =
        format!("name: n9, port: n9, addresses: {N9_INTERMEDIATE}/24, n9: {{side: core}}");
    config.pools.clear();
    config
}

/// An SMF whose messages are put together here: the dialects know no intermediate UPF.
struct HandmadeSmf {
    socket: UdpSocket,
    sequence: u32,
    up_seid: Seid,
}

impl HandmadeSmf {
    fn associated(lab: &Lab) -> Self {
        let bound = lab.smf.run(|| UdpSocket::bind((N4_SMFS[1], pfcp::PORT)));
        let socket = bound.unwrap().unwrap();
        socket.connect((N4_INTERMEDIATE, pfcp::PORT)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        let mut this = Self {
            socket,
            sequence: 0,
            up_seid: Seid(0),
        };
        let request = AssociationSetupRequest {
            node_id: NodeId::V4(N4_SMFS[1]),
            recovery_time_stamp: NtpTime(7),
            ..Default::default()
        };
        let kind = MessageType::ASSOCIATION_SETUP_REQUEST;
        let response = this.ask(kind, None, |w| request.emit(w));
        let response = AssociationSetupResponse::parse(body(&response)).unwrap();
        assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
        this
    }

    /// Joins the tunnels to the gNB and to the anchor; gives our ends of them, N3 and N9.
    fn join(&mut self, gnb: Tunnel, anchor: Tunnel) -> (Tunnel, Tunnel) {
        let mut request = SessionEstablishmentRequest {
            node_id: NodeId::V4(N4_SMFS[1]),
            cp_f_seid: FSeid::v4(Seid(1), N4_SMFS[1]),
            ..Default::default()
        };
        let (access, core) = (DestinationInterface::ACCESS, DestinationInterface::CORE);
        request.create_pdr.extend([
            from_tunnel(1, SourceInterface::ACCESS),
            from_tunnel(2, SourceInterface::CORE),
        ]);
        request
            .create_far
            .extend([to_tunnel(1, core, anchor), to_tunnel(2, access, gnb)]);
        request.create_urr.push(CreateUrr {
            urr_id: UrrId(1),
            measurement_method: MeasurementMethod::VOLUM,
            ..Default::default()
        });
        let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let response = self.ask(kind, Some(Seid(0)), |w| request.emit(w));
        let response = SessionEstablishmentResponse::parse(body(&response)).unwrap();
        assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
        self.up_seid = response.up_f_seid.unwrap().seid;
        let given = |at: usize| match response.created_pdr[at].local_f_teid[0] {
            FTeid::Assigned {
                teid,
                ipv4: Some(ipv4),
                ..
            } => Tunnel::v4(teid, ipv4),
            other => panic!("{other:?}"),
        };
        (given(0), given(1))
    }

    /// Deletes the session and gives its usage.
    fn delete(&mut self) -> VolumeMeasurement {
        let kind = MessageType::SESSION_DELETION_REQUEST;
        let response = self.ask(kind, Some(self.up_seid), |_| Ok(()));
        let response = SessionDeletionResponse::parse(body(&response)).unwrap();
        response.usage_report[0].volume_measurement.unwrap()
    }

    fn ask(
        &mut self,
        kind: MessageType,
        seid: Option<Seid>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Vec<u8> {
        self.sequence += 1;
        let header = Header {
            message_type: kind,
            seid,
            sequence: SequenceNumber::wrapping(self.sequence),
            priority: None,
        };
        let mut bytes = vec![0; 2000];
        let len = write_message(&mut bytes, &header, write).unwrap();
        self.socket.send(&bytes[..len]).unwrap();
        loop {
            let mut bytes = vec![0; 2000];
            let len = self.socket.recv(&mut bytes).unwrap();
            bytes.truncate(len);
            // Heartbeats of the UPF come in between.
            if Header::parse(&bytes).unwrap().0.message_type == kind.response().unwrap() {
                return bytes;
            }
        }
    }
}

fn body(message: &[u8]) -> &[u8] {
    Header::parse(message).unwrap().1
}

fn from_tunnel(id: u16, source: SourceInterface) -> CreatePdr<'static> {
    let mut pdr = CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(100),
        pdi: Pdi {
            source_interface: source,
            local_f_teid: Some(FTeid::Choose {
                ipv4: true,
                ipv6: false,
                choose_id: None,
            }),
            ..Default::default()
        },
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
        far_id: Some(FarId(u32::from(id))),
        ..Default::default()
    };
    pdr.urr_id.push(UrrId(1));
    pdr
}

fn to_tunnel(id: u32, side: DestinationInterface, to: Tunnel) -> CreateFar<'static> {
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: side,
            outer_header_creation: Some(to.outer_header()),
            ..Default::default()
        }),
        ..Default::default()
    }
}
