//! Shard migration protocol: one worker's part in moving shards while packets flow.
//!
//! A move of shard `s` from A to B has two independent parts.
//!
//! *State.* The control core tells A to [`MoveShard`]. From then on A sends what it polls for `s` to B.
//! Once everything that A ever sent of `s` has left its transmit queue, A puts the right to write
//! (`Own`) on its ring to B. What still reaches A for `s` it passes on behind.
//!
//! *Routing.* Every other producer p is told to turn as well. It puts a [`Switch`] on its ring to
//! A, and from then on sends its packets of `s` straight to B. A passes the switch on to B. B
//! executes p's direct packets when both `Own` and p's switch have come, and holds them until then:
//! p's earlier packets all came by way of A, and are in front of the switch.
//!
//! So no producer waits for another, and each producer's order is kept. The move is over when B has
//! the right and all switches; only then may the shard's next move begin.
//!
//! A change of *producer* (the card steers the shard's packets to another queue) is the second half
//! of the same thing: the owner is told to [`expect`](Moves::expect) the new producer, whose packets
//! wait until a switch comes from the old one, behind its last packet.
//!
//! Nothing here knows rings, packets or entries, so the model check (`model`) explores exactly this
//! code.

pub(crate) mod hold;
#[cfg(test)]
mod model;

use crate::ids::WorkerId;
use hold::{Hold, List};
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

/// In an owner table: ours soon, but what we poll has to wait still.
pub const ON_HOLD: WorkerId = WorkerId(u8::MAX - 1);

/// No place: the shard is not moving.
const QUIET: u16 = u16::MAX;

/// "From now on your packets of `shard` go to `to`." From the control core to every producer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MoveShard {
    /// What moves.
    pub shard: ShardId,
    /// Its owner.
    pub from: WorkerId,
    /// Its next owner.
    pub to: WorkerId,
}

/// "All that `producer` sent the old way lies in front of this."
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Switch {
    /// What moves.
    pub shard: ShardId,
    /// Its next owner.
    pub to: WorkerId,
    /// Whose packets come straight from now on.
    pub producer: WorkerId,
}

/// What a worker has to do when it is told to turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveAction {
    /// Send this to that worker.
    Tell(WorkerId, Switch),
    /// Give the right to write to that worker, once all packets of the shard have left.
    Give(WorkerId),
}

/// Where a packet goes that another worker handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// It is ours.
    Execute,
    /// It has to wait: [`Moves::hold`].
    Hold,
    /// On to that worker.
    Pass(WorkerId),
}

/// This producer's table of owners.
pub trait Routes {
    /// Packets of `shard` go to `to`; [`ON_HOLD`]: they wait here.
    fn set(&mut self, shard: ShardId, to: WorkerId);
}

/// A shard that is moving.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum MovingShard<T> {
    /// It leaves us.
    Leaving {
        to: WorkerId,
        /// We send it the new way.
        turned: bool,
        /// The right to write is gone.
        given: bool,
        /// Switches that have to come by yet.
        left: u8,
    },
    /// It comes to us.
    Coming {
        /// Who had it; known once `Own` is here.
        from: Option<WorkerId>,
        own: bool,
        /// A bit for each producer whose packets need not wait.
        open: u64,
        held: List,
        transactions: VecDeque<T>,
    },
}

/// What one worker knows of moving shards: packets `H` and transactions `T` wait here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Moves<H, T> {
    me: WorkerId,
    workers: u8,
    /// Of each shard its place in `shards`, or [`QUIET`].
    places: Box<[u16]>,
    /// As many at a time as the control core allows.
    shards: Vec<ShardId>,
    /// Beside `shards`.
    parts: Vec<MovingShard<T>>,
    hold: Hold<H>,
}

impl<H, T> Moves<H, T> {
    /// For worker `me` of `workers`, with room for `hold` waiting packets, and `moves` moves at a
    /// time of so many `shards`.
    pub fn new(me: WorkerId, workers: usize, hold: usize, moves: usize, shards: usize) -> Self {
        Self {
            me,
            workers: workers as u8,
            places: vec![QUIET; shards].into(),
            shards: Vec::with_capacity(moves),
            parts: Vec::with_capacity(moves),
            hold: Hold::new(hold),
        }
    }

    /// True if no shard is moving as far as we know: every packet handed to us is ours.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.shards.is_empty()
    }

    /// Packets that wait.
    pub fn held(&self) -> usize {
        self.hold.len()
    }

    /// The control core turns us.
    pub fn turn(&mut self, turn: MoveShard, routes: &mut impl Routes) -> MoveAction {
        let MoveShard { shard, from, to } = turn;
        if self.me == from {
            routes.set(shard, to);
            let left = self.workers - 1;
            *self.leaving(shard, to).0 = true;
            debug_assert!(left > 0, "a move needs two workers");
            return MoveAction::Give(to);
        }
        routes.set(shard, if self.me == to { ON_HOLD } else { to });
        let producer = self.me;
        let switch = Switch {
            shard,
            to,
            producer,
        };
        MoveAction::Tell(from, switch)
    }

    /// The right to write `shard` is on its way to its next owner.
    pub fn gave(&mut self, shard: ShardId) {
        if let Some(at) = self.find(shard)
            && let MovingShard::Leaving { given, .. } = &mut self.parts[at]
        {
            *given = true;
            self.forget_left(at);
        }
    }

    /// A switch arrives. Some: it goes on to that worker, behind all that was passed there before.
    /// None: it is for us; see [`next_released`](Self::next_released).
    pub fn switch(&mut self, switch: Switch, routes: &mut impl Routes) -> Option<WorkerId> {
        let Switch {
            shard,
            to,
            producer,
        } = switch;
        if to != self.me {
            let (_, left) = self.leaving(shard, to);
            *left = left.saturating_sub(1);
            if let Some(at) = self.find(shard) {
                self.forget_left(at);
            }
            return Some(to);
        }
        let at = self.coming(shard);
        if let MovingShard::Coming { open, .. } = &mut self.parts[at] {
            *open |= 1 << producer.0;
        }
        self.route(at, routes);
        None
    }

    /// The right to write `shard` has come from `from`, and is accepted.
    pub fn own(&mut self, shard: ShardId, from: WorkerId, routes: &mut impl Routes) {
        let at = self.coming(shard);
        if let MovingShard::Coming {
            from: had,
            own,
            open,
            ..
        } = &mut self.parts[at]
        {
            (*had, *own) = (Some(from), true);
            *open |= 1 << from.0;
        }
        self.route(at, routes);
    }

    /// `shard`, which is ours, will come from `producer`, who never sent it before: its packets
    /// wait for a switch.
    pub fn expect(&mut self, shard: ShardId, producer: WorkerId, routes: &mut impl Routes) {
        let at = self.coming(shard);
        let all = self.all();
        if let MovingShard::Coming { own, open, .. } = &mut self.parts[at] {
            (*own, *open) = (true, all & !(1 << producer.0));
        }
        if producer == self.me {
            routes.set(shard, ON_HOLD);
        }
    }

    /// Where a packet of `shard` goes that `from` handed to us. `owned`: we may write the shard.
    #[inline]
    pub fn way(&self, shard: ShardId, from: WorkerId, owned: bool) -> Disposition {
        match self.find(shard).map(|at| &self.parts[at]) {
            None if owned => Disposition::Execute,
            // The first of a move of which nothing else has reached us.
            None => Disposition::Hold,
            Some(MovingShard::Leaving {
                to, turned: true, ..
            }) => Disposition::Pass(*to),
            Some(MovingShard::Leaving { .. }) => Disposition::Execute,
            Some(MovingShard::Coming { own, open, .. }) if *own && open & (1 << from.0) != 0 => {
                Disposition::Execute
            }
            Some(MovingShard::Coming { .. }) => Disposition::Hold,
        }
    }

    /// Keeps a packet that has to wait; it comes back if there is no room.
    pub fn hold(&mut self, shard: ShardId, from: WorkerId, packet: H) -> Result<(), H> {
        let at = self.coming(shard);
        match &mut self.parts[at] {
            MovingShard::Coming { held, .. } => self.hold.push(held, from, packet),
            MovingShard::Leaving { .. } => Err(packet),
        }
    }

    /// Keeps a transaction until the right to write its shard is here.
    pub fn hold_transaction(&mut self, shard: ShardId, transaction: T) {
        let at = self.coming(shard);
        if let MovingShard::Coming { transactions, .. } = &mut self.parts[at] {
            transactions.push_back(transaction);
        }
    }

    /// The next transaction of `shard` that need not wait any more.
    pub fn next_transaction(&mut self, shard: ShardId) -> Option<T> {
        let at = self.find(shard)?;
        match &mut self.parts[at] {
            MovingShard::Coming {
                own: true,
                transactions,
                ..
            } => transactions.pop_front(),
            _ => None,
        }
    }

    /// The next packet of `shard` that need not wait any more. To be asked after each
    /// [`own`](Self::own) and [`switch`](Self::switch), until there is none: then
    /// [`settle`](Self::settle).
    pub fn next_released(&mut self, shard: ShardId) -> Option<H> {
        let at = self.find(shard)?;
        let MovingShard::Coming {
            from,
            own: true,
            open,
            held,
            ..
        } = &mut self.parts[at]
        else {
            return None;
        };
        // What the old owner passed on came before anything that came straight.
        let first = from.and_then(|from| self.hold.take(held, |by| by == from));
        first.or_else(|| self.hold.take(held, |by| *open & (1 << by.0) != 0))
    }

    /// True if with this the move of `shard` is over.
    pub fn settle(&mut self, shard: ShardId) -> bool {
        let (all, Some(at)) = (self.all(), self.find(shard)) else {
            return false;
        };
        let over =
            matches!(&self.parts[at], MovingShard::Coming { own: true, open, .. } if *open == all);
        if over {
            self.forget(at);
        }
        over
    }

    /// Takes out a waiting packet, in any order: the worker ends.
    pub fn drain(&mut self) -> Option<H> {
        self.hold.take_any()
    }

    fn all(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.workers))
    }

    #[inline]
    fn find(&self, shard: ShardId) -> Option<usize> {
        let place = self.places.get(usize::from(shard.0)).copied();
        place.filter(|at| *at != QUIET).map(usize::from)
    }

    fn begin(&mut self, shard: ShardId, part: MovingShard<T>) -> usize {
        let at = self.shards.len();
        self.places[usize::from(shard.0)] = at as u16;
        self.shards.push(shard);
        self.parts.push(part);
        at
    }

    fn forget(&mut self, at: usize) {
        let gone = self.shards.swap_remove(at);
        self.parts.swap_remove(at);
        self.places[usize::from(gone.0)] = QUIET;
        if let Some(last) = self.shards.get(at) {
            self.places[usize::from(last.0)] = at as u16;
        }
    }

    /// Whether we have turned, and the switches that have to come by yet.
    fn leaving(&mut self, shard: ShardId, next: WorkerId) -> (&mut bool, &mut u8) {
        let new = MovingShard::Leaving {
            to: next,
            turned: false,
            given: false,
            left: self.workers - 1,
        };
        let at = match self.find(shard) {
            Some(at) if matches!(self.parts[at], MovingShard::Leaving { .. }) => at,
            Some(at) => {
                // A shard that comes to us cannot leave before its move is over.
                debug_assert!(false, "overlapping moves of shard {shard}");
                self.parts[at] = new;
                at
            }
            None => self.begin(shard, new),
        };
        match &mut self.parts[at] {
            MovingShard::Leaving { turned, left, .. } => (turned, left),
            MovingShard::Coming { .. } => unreachable!("made above"),
        }
    }

    fn forget_left(&mut self, at: usize) {
        if let MovingShard::Leaving {
            given: true,
            left: 0,
            ..
        } = self.parts[at]
        {
            self.forget(at);
        }
    }

    fn coming(&mut self, shard: ShardId) -> usize {
        self.find(shard).unwrap_or_else(|| {
            self.begin(
                shard,
                MovingShard::Coming {
                    from: None,
                    own: false,
                    open: 0,
                    held: List::default(),
                    transactions: VecDeque::new(),
                },
            )
        })
    }

    /// What we poll ourselves is ours as soon as the right and our own switch are here. What we
    /// held of it is released in the same breath.
    fn route(&mut self, at: usize, routes: &mut impl Routes) {
        if let MovingShard::Coming {
            own: true, open, ..
        } = &self.parts[at]
            && open & (1 << self.me.0) != 0
        {
            routes.set(self.shards[at], self.me);
        }
    }
}
