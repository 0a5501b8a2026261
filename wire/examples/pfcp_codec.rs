//! Benchmark of the PFCP codec: a typical Session Establishment Request of 2 PDRs, 2 FARs, a QER
//! and a URR. `cargo run --release -p sluice-wire --example pfcp_codec` prints nanoseconds, the best
//! of twenty rounds.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Instant;

use sluice_wire::ids::*;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Header, MessageType, SequenceNumber, write_message};

const ROUNDS: u32 = 20;
const CALLS: u32 = 20_000;

fn main() {
    let request = establishment();
    let sequence = SequenceNumber::wrapping(7);
    let header = Header::session(
        MessageType::SESSION_ESTABLISHMENT_REQUEST,
        Seid(0),
        sequence,
    );
    let mut buffer = [0; 2048];
    let mut write = || {
        write_message(black_box(&mut buffer), &header, |out| {
            black_box(&request).emit(out)
        })
        .expect("it fits")
    };
    let length = write();
    println!("{length} octets");
    println!("write: {:.1} ns", best_ns(|| _ = black_box(write())));

    let datagram = buffer[..length].to_vec();
    let read = || {
        let (_, body) = Header::parse(black_box(&datagram)).expect("a header");
        let mut request = SessionEstablishmentRequest::default();
        request.parse_into(body).expect("an establishment");
        black_box(&request);
    };
    println!("read:  {:.1} ns", best_ns(read));
}

fn best_ns(mut call: impl FnMut()) -> f64 {
    let round = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..ROUNDS)
        .map(|_| round(&mut call))
        .fold(f64::MAX, f64::min)
}

fn establishment() -> SessionEstablishmentRequest<'static> {
    let smf = Ipv4Addr::new(192, 0, 2, 9);
    let rate = BitRate {
        uplink_kbps: 100_000,
        downlink_kbps: 200_000,
    };
    SessionEstablishmentRequest {
        node_id: NodeId::V4(smf),
        cp_f_seid: FSeid::v4(Seid(1), smf),
        create_pdr: [uplink_pdr(), downlink_pdr()].into_iter().collect(),
        create_far: [far(FarId(1), None), far(FarId(2), Some(smf))]
            .into_iter()
            .collect(),
        create_urr: [CreateUrr {
            urr_id: UrrId(1),
            measurement_method: MeasurementMethod::VOLUM,
            reporting_triggers: ReportingTriggers::VOLTH,
            volume_threshold: Some(Volume {
                total: Some(1 << 30),
                ..Volume::default()
            }),
            ..CreateUrr::default()
        }]
        .into_iter()
        .collect(),
        create_qer: [CreateQer {
            qer_id: QerId(1),
            maximum_bitrate: Some(rate),
            qos_flow_identifier: Qfi::new(9),
            ..CreateQer::default()
        }]
        .into_iter()
        .collect(),
        pdn_type: Some(PdnType::IPV4),
        ..SessionEstablishmentRequest::default()
    }
}

fn uplink_pdr() -> CreatePdr<'static> {
    let pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        local_f_teid: Some(FTeid::Choose {
            ipv4: true,
            ipv6: false,
            choose_id: Some(1),
        }),
        qfi: Qfi::new(9).into_iter().collect(),
        ..pdi(false)
    };
    let outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP);
    CreatePdr {
        outer_header_removal,
        ..pdr(PdrId(1), FarId(1), pdi)
    }
}

fn downlink_pdr() -> CreatePdr<'static> {
    pdr(
        PdrId(2),
        FarId(2),
        Pdi {
            source_interface: SourceInterface::CORE,
            ..pdi(true)
        },
    )
}

fn pdi(destination: bool) -> Pdi<'static> {
    let ue = UeIpAddress::v4(Ipv4Addr::new(10, 45, 0, 2), destination);
    Pdi {
        network_instance: Some(Name(b"internet")),
        ue_ip_address: [ue].into_iter().collect(),
        ..Pdi::default()
    }
}

fn pdr(pdr_id: PdrId, far_id: FarId, pdi: Pdi<'static>) -> CreatePdr<'static> {
    CreatePdr {
        pdr_id,
        precedence: Precedence(255),
        pdi,
        far_id: Some(far_id),
        urr_id: [UrrId(1)].into_iter().collect(),
        qer_id: [QerId(1)].into_iter().collect(),
        ..CreatePdr::default()
    }
}

fn far(far_id: FarId, peer: Option<Ipv4Addr>) -> CreateFar<'static> {
    let header = Teid::new(5)
        .zip(peer)
        .map(|(teid, peer)| OuterHeaderCreation::gtpu_v4(teid, peer));
    CreateFar {
        far_id,
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            network_instance: Some(Name(b"internet")),
            outer_header_creation: header,
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    }
}
