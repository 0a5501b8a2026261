//! Help texts of the benchmarks.

pub const PATH_HELP: &str = "\
Each repetition measures in turn the worker's loop of `sluice upf`, the limit (the cheapest loop
that could do the same work, src/bench/path/limit.rs) and the source alone. The figure to judge by
is ratio_to_limit, time per packet by that of the limit: 1 would be perfect. Sessions are
established over N4; every byte of every session's packets is compared before, and those of one
packet in 64 while the clock runs.

path/ul/foreign is the uplink of sessions whose TEIDs the SMF chose, which the path finds by a hash
table. path/latency/10 and /80 are an open loop: packets come at random (Poisson) at 10 and 80 % of
what the path, and for its figures the limit, can do at the most; the time from when a packet is due
until it is sent, of every packet, without the sleep of a worker that has nothing to do. When the
machine takes the CPU away for more than 50 us, packets due meanwhile come afterwards, and those under
way are not timed: away_share says for how long.

Huge pages are used where they are free; for a million sessions:
  sysctl vm.nr_hugepages=400

Examples:
  sluice bench path                             1,000 and 1,000,000 sessions, as a table
  sluice bench path --json --sessions 1000000   for scripts: results[]";

pub const PORT_HELP: &str = "\
One worker of `sluice upf` with full default sessions, between two ports; at their other ends another
process (for port/ring another thread) makes the packets, takes what comes back, and compares one in
64, all bytes of it; before the clock runs, those of every session. The limit is a plain loop on the
same ports in the same run: receive, send by the other port, look at nothing.

ns is the CPU time of a packet while the rings are deep: again and again the far end fills them, then
the measured side works them off, so that a slow source limits neither path nor limit. The figure to
judge by is ratio_to_limit, the one by the other; the goal is 1.6 on memif. Mpps is what both ends
make together without such breaks, and the JSON says which of them was at its end. Packets sent,
received, transmitted and returned are counted; lost ones are shown by where they were lost.

Huge pages are used where they are free; for a million sessions:
  sysctl vm.nr_hugepages=500

Examples:
  sluice bench port                               memif, virtio-user and rings, as a table
  sluice bench port --json --only memif           for scripts: results[], skipped[]
  sluice bench port --sessions 1000000 --reps 9   more repetitions";

pub const PFCP_HELP: &str = "\
Sessions of five SMF dialects in turn. Requests (establish, modify, query, delete, heartbeat) are
encoded before the clock runs; each goes through the daemon's N4 loop (parse, validate, recognise
retransmissions, compile, send to the owning worker, answer when it has applied the change), and
every answer is read. messages_per_s is of a closed loop, rtt_us of an open loop at the given rate,
rtt_undisturbed_us of another one at that rate: when one of the two threads had no CPU for 50 us, what is
under way is not timed, and the rest is due once it is answered. ns is the time of the N4 thread for a
message without its idle turns. The limit is the cheapest loop that could answer: receive, header parse,
fixed answer. In the end a packet each way through every
session that stands is compared byte by byte.

Sessions have --peers gNBs (each session moves among 16 that are neighbours) and --ambrs values of AMBR
and MBR. All sessions are connected before the clock runs, so with many more sessions than gNBs each gNB
has its tunnel by then, as in a network that runs; with few, gNBs come and go while it is timed. With
--peers 16 --ambrs 1 all sessions are alike: the results are called uniform in place of mix, and
uniform-together.

port comes by a ring of buffers, dpdk by whole frames on a port in the process, socket by kernel UDP:
mix with each datagram by itself, together with those of one length sent and taken as one.
dpdk/flow sends packets through one half of the sessions while 100,000 modifications a second change
the other: lost packets, and the worker's time for a packet with and without.

Worker and generator share the second CPU, so with the limit the generator is what limits; judge
by ns, limit_ns and ratio_to_limit.

Examples:
  sluice bench pfcp                             a million sessions, as a table
  sluice bench pfcp --json --only socket        for scripts: results[]
  sluice bench pfcp --peers 16 --ambrs 1        sessions that are all alike";

pub const ELASTIC_HELP: &str = "\
Two workers, each on a CPU of its own, with a source and a sink inside their ports; every packet is
numbered and stamped with the time when it was due. First shards move one after the other under
load, as by `sluice ctl move`: pause_us is the longest time that a packet of the moved shard took
from due to sent, from the order to 30 us after the last token; one packet in four is of that shard.
A move during which a worker was away for more than 50 us (another program had its CPU) counts as
disturbed: pause_us leaves it out, pause_all_us does not. Lost and reordered count all packets.
Then the same two workers run to completion, as a pipeline (one polls, one owns all sessions), and
mixed: throughput at full load, latency at the given rate (latency_us of windows of 2 ms without such
a gap, latency_all_us of all). Then some UEs become heavy while the daemon's scaling is on, more than
one worker is able to, and more than both are; and all of it again with more workers, in virtual time.

Examples:
  sluice bench elastic                          20,000 moves, as a table
  sluice bench elastic --json --moves 1000000   the long soak, for scripts";

pub const COMPARE_HELP: &str = "\
Each name of the last run is compared with the last earlier run that was made on such a machine with
such arguments: its samples, ratios to the limit of the same repetition, by the test of Mann and
Whitney, over all names by Holm's rule, so that a run in which nothing changed has a name called
slower or faster in one of a hundred cases at the most. Less than 4 % is never told, nor less than
runs of one and the same program were seen to lie apart. docs/performance.md tells more.

Exit code 1: something became slower; 2: the runs cannot be compared.

Examples:
  sluice bench compare target/bench-history.jsonl                 the last run of each benchmark
  sluice bench compare target/bench-history.jsonl --list          all runs, with their lines
  sluice bench compare FILE --run 12 --with 3fa2b1c --json        two of them, for scripts";
