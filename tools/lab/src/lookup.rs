//! Runner `lookup`: the time to find a translation by its public address and port, alone.
//!
//! One look-up waits for the one before it, so it is latency that is measured, with whatever the caches lack.

use super::testbed::{bad, each, repeats};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::stats::Random;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::ends::{Ends, Kind};
use sluice_datapath::nat::mapping::{self, Clock, Inbound, NatOwned, NatUser};
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPools, NatTimeouts, NatUnits, Unit};
use sluice_datapath::tables::Prefix;
use sluice_host::clock;
use sluice_mem::arena::{Arena, ArenaError};
use sluice_mem::shard::{self, ShardCount};
use sluice_mem::slots::Slots;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Mappings of each UE.
const OF_UE: u32 = 16;
const INSIDE: InstanceId = InstanceId(0);
/// RFC 2544's addresses, of which a /22 has more units than there are UEs at the most.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const FIRST_UE: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const SERVER: u32 = u32::from_be_bytes([192, 0, 2, 1]);
const UDP: u8 = 17;
const SHARDS: u32 = ShardCount::DEFAULT.get();
/// Look-ups between two looks at the clock.
const ROUND: usize = 4_096;

/// A public address and port.
type Public = (u32, u16);

/// Look-ups among so many entries.
pub fn lookup(job: &Job<'_>) -> Result<Measured, Problem> {
    let entries = job.number("entries")? as u32;
    let table = job.text("table")?;
    let (mut translations, public) = Translations::with(entries)?;
    let mut sorted = Sorted::of(&mut translations, &public);
    if sorted.0.len() != public.len() {
        return Err(Problem::Failed("two translations are the same".to_owned()));
    }
    let mut asked = public;
    let mut random = Random::new(u64::from(entries));
    for last in (1..asked.len()).rev() {
        asked.swap(last, random.below(last + 1));
    }
    let time = each(job)?;
    let mut ns = vec![];
    // The first one warms caches up.
    for rep in 0..=repeats(job)? {
        job.go_on()?;
        let lap = match table {
            "binary search" => lap(time, &asked, |public| sorted.find(public)),
            "numbered" => lap(time, &asked, |public| translations.find(public)),
            other => return Err(bad("table", other, "binary search or numbered")),
        };
        let lap = lap.ok_or_else(|| Problem::Failed("a translation was not found".to_owned()))?;
        if rep > 0 {
            ns.push(lap);
        }
    }
    let mut measured = Measured::default();
    measured.add("lookup_ns", ns);
    Ok(measured)
}

/// Nanoseconds of CPU time for a look-up; none if one finds nothing.
fn lap(
    time: Duration,
    asked: &[Public],
    mut find: impl FnMut(Public) -> Option<(u32, u16)>,
) -> Option<f64> {
    let (began, cpu_ns) = (Instant::now(), clock::thread_cpu_ns());
    let (mut at, mut last, mut lookups) = (0, 0, 0);
    // Nobody but us knows that nothing is added: so the next one cannot begin before.
    let nothing = black_box(0);
    while began.elapsed() < time || lookups == 0 {
        for _ in 0..ROUND {
            let (address, port) = asked[at + (last & nothing)];
            last = find((address, port))?.0 as usize;
            at = if at + 1 == asked.len() { 0 } else { at + 1 };
        }
        lookups += ROUND;
    }
    Some((clock::thread_cpu_ns() - cpu_ns) as f64 / lookups as f64)
}

/// An array in the order of public addresses and ports, as in the paper.
struct Sorted(Vec<(Public, (u32, u16))>);

impl Sorted {
    fn of(translations: &mut Translations, public: &[Public]) -> Self {
        let found = public.iter().filter_map(|one| {
            let own = translations.find(*one)?;
            Some((*one, own))
        });
        let mut all: Vec<_> = found.collect();
        all.sort_unstable();
        all.dedup_by_key(|(public, _)| *public);
        Self(all)
    }

    fn find(&mut self, public: Public) -> Option<(u32, u16)> {
        let at = self.0.binary_search_by_key(&public, |(public, _)| *public);
        at.ok().map(|at| self.0[at].1)
    }
}

/// The path's own: public ports are numbers, and a worker has the mappings.
struct Translations {
    pools: NatPools,
    units: NatUnits,
    owned: NatOwned,
}

impl Translations {
    /// With so many mappings, and their public ends.
    fn with(entries: u32) -> Result<(Self, Vec<Public>), Problem> {
        let ues = entries.div_ceil(OF_UE);
        let failed = |why: String| Problem::Failed(why);
        let pools = pools().map_err(failed)?;
        let mut slots = Slots::new(pools.units() as usize);
        let mut owned = owned(ues).map_err(failed)?;
        for ue in 0..ues {
            // Of the UE's shard, and never chunk 0.
            let (chunk, unit) = (ue + SHARDS, Unit(ue));
            slots.write(ue as usize, NatUnits::word(EntryId(ue), chunk));
            if let Some(chunk) = owned.ext_mut(chunk) {
                chunk.begin(EntryId(ue), unit, 0);
            }
            if let Some(user) = owned.entry_mut(ue) {
                *user = NatUser::new(FIRST_UE + ue, INSIDE.0, (chunk, unit));
            }
        }
        let mut all = Self {
            units: NatUnits(slots.reader()),
            pools,
            owned,
        };
        let public = (0..entries).map(|n| all.add(n / OF_UE, n % OF_UE));
        let public: Option<Vec<Public>> = public.collect();
        let lacks = || failed("a UE got no public port".to_owned());
        let public = public.ok_or_else(lacks)?;
        Ok((all, public))
    }

    /// A UE sends from one more port.
    fn add(&mut self, ue: u32, nth: u32) -> Option<Public> {
        let ends = ends((FIRST_UE + ue, 40_000 + nth as u16));
        let place = mapping::outbound(&mut self.owned, EntryId(ue), &ends, CLOCK).ok()?;
        self.pools.address_and_port(place.number)
    }

    /// Lookup of the path for a packet from outside, without the packet.
    fn find(&mut self, (address, port): Public) -> Option<(u32, u16)> {
        let number = self.pools.number(INSIDE, address, port)?;
        let found = self.units.get(number.unit())?;
        let (ends, rules) = (ends((address, port)), (CLOCK, false));
        match mapping::inbound(&mut self.owned, found, number, &ends, rules) {
            Inbound::To(address, port) => Some((address, port)),
            Inbound::Unmapped | Inbound::Filtered => None,
        }
    }
}

const CLOCK: Clock<'static> = Clock {
    now_s: 1,
    timeouts: &TIMEOUTS,
};
const TIMEOUTS: NatTimeouts = NatTimeouts {
    udp_s: 300,
    tcp_established_s: 7_440,
    tcp_transitory_s: 240,
    icmp_s: 60,
};

fn ends((own_address, own_port): (u32, u16)) -> Ends {
    Ends {
        protocol: UDP,
        own_address,
        own_port,
        remote_address: SERVER,
        remote_port: 53,
        kind: Kind::Datagram,
    }
}

fn pools() -> Result<NatPools, String> {
    let pool = NatPool {
        inside: INSIDE,
        outside: InstanceId(u8::MAX),
        prefixes: Prefix::new(PUBLIC, 22).into_iter().collect(),
        first_port: 1_024,
        block_ports: 64,
        blocks_per_ue: 1,
        filtering: Filtering::EndpointIndependent,
        hairpins: false,
        timeouts: TIMEOUTS,
    };
    NatPools::new(vec![pool]).map_err(|why| why.to_string())
}

fn owned(ues: u32) -> Result<NatOwned, String> {
    let (users, chunks) = (ues as usize, (ues + SHARDS) as usize);
    let text = |why: ArenaError| why.to_string();
    let users = Arena::new("lab-nat-users", users).map_err(text)?;
    let of_chunks = Arena::new("lab-nat", chunks).map_err(text)?;
    let remotes = Arena::new("lab-nat-remotes", chunks).map_err(text)?;
    let numbers = Arena::new("lab-nat-none", 1).map_err(text)?;
    let remotes = (remotes, numbers);
    Ok(shard::create(
        users,
        of_chunks,
        remotes,
        ShardCount::DEFAULT,
    ))
}
