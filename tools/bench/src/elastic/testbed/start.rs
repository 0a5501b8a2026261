//! Testbed start-up: workers, control core, and sessions established over N4.

use crate::elastic::source::Source;
use crate::path::peers::Peers;
use crate::path::servers::Servers;
use crate::path::smf::{Answers, Smf, Teids};
use crate::path::testbed::{Failure, N4_ADDRESS, Size, time};
use crate::path::topology::{self, N3, N6};
use sluice_control::core::Core;
use sluice_control::signalling::Control;
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_n4::NodeId;
use sluice_port::{Packet, QueueId};
use sluice_session::{Config, UpFunction};

/// Both, the near one first.
pub(super) type Workers<P> = [Worker<Source<P>>; 2];

/// The control core, and the workers that grow around these sources; each polls the queues of its
/// number.
pub(super) fn start<P: Packet>(
    sessions: u32,
    sources: [Source<P>; 2],
) -> Result<(Core<P>, Workers<P>), Failure> {
    let size = Size::of(sessions);
    let pool = topology::pool(sessions);
    let layout = Layout::new(size.endpoints, &[pool], sessions).map_err(|e| e.to_string())?;
    let plan = Plan {
        layout: layout.clone(),
        blocks: size.blocks,
        workers: 2,
    };
    let (seeds, mut end, foreign) = assemble(&plan).map_err(|e| e.to_string())?;
    let control = Control::new(topology::control_config(
        pool,
        Peers::default(),
        Servers::One,
    ))
    .map_err(|e| e.to_string())?;
    let config = Config {
        sessions: sessions as usize,
        ..Config::new(layout, plan.blocks, N4_ADDRESS, [1, 2])
    };
    let n4 = sluice_n4::Config {
        heartbeat_interval_ms: 0,
        ..sluice_n4::Config::new(NodeId::v4(N4_ADDRESS), time().wall)
    };
    let mut grown = seeds.into_iter().zip(sources).map(|(seed, source)| {
        let queue = QueueId(seed.id().0.into());
        let polled = [N3, N6].map(|port| Polled { port, queue });
        end.polls(seed.id(), &polled);
        seed.grow(source, polled.to_vec(), queue)
    });
    let workers = grown.next().zip(grown.next()).ok_or("two workers")?;
    drop(grown);
    let core = Core::new(control, UpFunction::new(config, n4, foreign), end);
    Ok((core, workers.into()))
}

/// Establishes sessions over N4 while nobody else has the workers.
pub(super) fn establish<P: Packet>(
    (sessions, container): (u32, bool),
    core: &mut Core<P>,
    workers: &mut Workers<P>,
    answers: &mut Answers<P>,
) -> Result<(), Failure> {
    let mut smf = Smf::new(Teids::Ours);
    smf.set_container(container);
    let mut message = [0; 2048];
    let too_long = |_| "a request is too long";
    let len = smf.associate(&mut message, time().wall).map_err(too_long)?;
    core.datagram(time(), smf.address(), &message[..len], answers);
    for index in 0..sessions {
        let len = smf.establish(&mut message, index).map_err(too_long)?;
        core.datagram(time(), smf.address(), &message[..len], answers);
        while core.end().under_way() > 64 || index + 1 == sessions && core.end().under_way() > 0 {
            workers.iter_mut().for_each(|w| {
                w.turn(clock::monotonic_ns());
            });
            core.turn(time(), answers);
        }
    }
    match answers.established == sessions as usize {
        true => Ok(()),
        false => Err(format!(
            "{} of {sessions} sessions were established ({:?})",
            answers.established, answers.refused
        )),
    }
}
