//! Link by rings: our arena for a peer, its arena for us, a ring of references in each.
//!
//! A slot is free when the receiver's index has passed its reference. Each side writes its own arena alone: what it has
//! sent, how much it has taken of the other's, and whether it sleeps.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, fence};

use crate::arena::{self, Own, Words};

/// Slots of an arena: twice the burst that a host takes in one turn would need a full ring more often than it pays.
pub const SLOTS: u64 = 256;

const WORD: usize = size_of::<u64>();

/// Places of words; those that are written often have a cache line of their own.
const SENT: usize = 8;
const TAKEN: usize = 16;
const SLEEPS: usize = 24;
const REFERENCES: usize = 32;
const SLOTS_AT: usize = REFERENCES + 2 * SLOTS as usize;

/// The link cannot be used any more; why, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken(pub &'static str);

/// What is to be told of a peer that breaks the rules.
const BROKEN: Broken = Broken("it broke the rules of the ring");

/// Our half of a link whose messages have at most `LONGEST` octets, until the peer's arena has come.
pub struct Half<const LONGEST: usize> {
    own: Own,
}

/// Link to a peer.
pub struct Ring<const LONGEST: usize> {
    own: Own,
    peer: Words,
    /// Wakes the peer.
    doorbell: OwnedFd,
    sent: u64,
    /// How far the peer has taken ours, as it said last.
    freed: u64,
    taken: u64,
    /// Something was sent since the peer was woken.
    is_unseen: bool,
}

fn word(words: &Words, at: usize) -> Option<&AtomicU64> {
    words.get().get(at)
}

fn load(words: &Words, at: usize) -> u64 {
    word(words, at).map_or(0, |word| word.load(Acquire))
}

fn store(words: &Words, at: usize, value: u64) {
    if let Some(word) = word(words, at) {
        word.store(value, Release);
    }
}

/// Words of an arena whose messages have at most `longest` octets.
pub const fn words(longest: usize) -> usize {
    SLOTS_AT + SLOTS as usize * longest.div_ceil(WORD)
}

fn reference_at(index: u64) -> usize {
    REFERENCES + 2 * (index % SLOTS) as usize
}

impl<const LONGEST: usize> Half<LONGEST> {
    /// With an arena for a peer.
    ///
    /// # Errors
    /// The kernel has no memory or no more descriptors.
    pub fn new() -> io::Result<Self> {
        let own = Own::new(words(LONGEST))?;
        Ok(Self { own })
    }

    /// Our arena, for the peer.
    pub fn arena(&self) -> BorrowedFd<'_> {
        self.own.file()
    }

    /// The peer's arena has come, and the doorbell that wakes it.
    ///
    /// # Errors
    /// The descriptor is no arena.
    pub fn join(self, arena: OwnedFd, doorbell: OwnedFd) -> io::Result<Ring<LONGEST>> {
        Ok(Ring {
            own: self.own,
            peer: arena::peer(arena, words(LONGEST))?,
            doorbell,
            sent: 0,
            freed: 0,
            taken: 0,
            is_unseen: false,
        })
    }
}

impl<const LONGEST: usize> Ring<LONGEST> {
    fn slot_at(slot: u64) -> usize {
        SLOTS_AT + slot as usize * LONGEST.div_ceil(WORD)
    }

    /// Whether there is a free slot.
    fn has_room(&mut self) -> Result<bool, Broken> {
        if self.sent - self.freed < SLOTS {
            return Ok(true);
        }
        let taken = load(&self.peer, TAKEN);
        // It takes nothing back, and nothing that was not sent.
        if taken < self.freed || taken > self.sent {
            return Err(BROKEN);
        }
        self.freed = taken;
        Ok(self.sent - self.freed < SLOTS)
    }

    /// Writes octets into the next slot, which is free, and its reference onto the ring.
    fn put(&mut self, octets: &[u8]) {
        let slot = self.sent % SLOTS;
        let words = self.own.words.get();
        let to = words.get(Self::slot_at(slot)..).unwrap_or_default();
        let (whole, rest) = octets.as_chunks::<WORD>();
        for (word, octets) in to.iter().zip(whole) {
            word.store(u64::from_ne_bytes(*octets), Relaxed);
        }
        if let Some(last) = to.get(whole.len()).filter(|_| !rest.is_empty()) {
            let mut octets = [0; WORD];
            octets
                .iter_mut()
                .zip(rest)
                .for_each(|(to, from)| *to = *from);
            last.store(u64::from_ne_bytes(octets), Relaxed);
        }
        let at = reference_at(self.sent);
        let reference = (slot << 32) | octets.len() as u64;
        for (word, value) in words.iter().skip(at).zip([reference, self.sent]) {
            word.store(value, Relaxed);
        }
        self.sent += 1;
        self.is_unseen = true;
        store(&self.own.words, SENT, self.sent);
    }

    /// Sends octets; false if there is no room now.
    ///
    /// # Errors
    /// The peer broke the rules.
    pub fn send(&mut self, octets: &[u8]) -> Result<bool, Broken> {
        let has_room = self.has_room()?;
        if has_room {
            self.put(octets);
        }
        Ok(has_room)
    }

    /// Wakes the peer if it sleeps and was sent something.
    pub fn flush(&mut self) {
        if !std::mem::take(&mut self.is_unseen) {
            return;
        }
        // What was sent is seen before the question whether it sleeps: see `sleep`.
        fence(SeqCst);
        if load(&self.peer, SLEEPS) != 0 {
            // The only failure is a full counter, and then it wakes already.
            let _ = rustix::io::write(&self.doorbell, &1u64.to_ne_bytes());
        }
    }

    /// Copies the next of what the peer sent into `room`: its length.
    ///
    /// # Errors
    /// The peer broke the rules.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<Option<usize>, Broken> {
        let waiting = load(&self.peer, SENT)
            .checked_sub(self.taken)
            .ok_or(BROKEN)?;
        if waiting == 0 {
            return Ok(None);
        }
        let at = reference_at(self.taken);
        let words = self.peer.get();
        let mut pair = words.iter().skip(at).map(|word| word.load(Relaxed));
        let (reference, generation) = pair.next().zip(pair.next()).ok_or(BROKEN)?;
        let (slot, length) = (reference >> 32, (reference & 0xffff_ffff) as usize);
        if waiting > SLOTS || generation != self.taken || slot >= SLOTS || length > LONGEST {
            return Err(BROKEN);
        }
        let from = words.get(Self::slot_at(slot)..).ok_or(BROKEN)?;
        let room = room.get_mut(..length).ok_or(BROKEN)?;
        for (octets, word) in room.chunks_mut(WORD).zip(from) {
            let word = word.load(Relaxed).to_ne_bytes();
            octets
                .iter_mut()
                .zip(word)
                .for_each(|(to, from)| *to = from);
        }
        self.taken += 1;
        store(&self.own.words, TAKEN, self.taken);
        Ok(Some(length))
    }

    /// Tells the peer that we sleep from now on, or are awake.
    pub fn sleep(&self, sleeps: bool) {
        store(&self.own.words, SLEEPS, u64::from(sleeps));
        fence(SeqCst);
    }

    /// Whether the peer has sent what was not taken and would wake nobody who sleeps.
    pub fn has_more(&self) -> bool {
        load(&self.peer, SENT) != self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    const LONGEST: usize = 300;

    fn pair() -> [Ring<LONGEST>; 2] {
        let doorbell = || eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor");
        let halves = [(); 2].map(|()| Half::new().expect("memory"));
        let [of_one, of_other] = [0, 1].map(|at: usize| {
            let half: &Half<LONGEST> = &halves[at];
            let arena = half.arena();
            arena.try_clone_to_owned().expect("a descriptor")
        });
        let [one, other] = halves;
        [
            one.join(of_other, doorbell()).expect("an arena"),
            other.join(of_one, doorbell()).expect("an arena"),
        ]
    }

    fn sent(link: &mut Ring<LONGEST>, octets: &[u8]) {
        assert_eq!(link.send(octets), Ok(true));
    }

    fn is_rung(link: &Ring<LONGEST>) -> bool {
        rustix::io::read(&link.doorbell, &mut [0; 8]).is_ok()
    }

    #[test]
    fn octets_of_all_lengths_come_as_they_were_sent_in_order() {
        let [mut one, mut other] = pair();
        let mut room = [0; LONGEST];
        for length in 0..=LONGEST {
            let octets: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
            assert_eq!(one.send(&octets), Ok(true));
            let came = other.receive(&mut room).expect("sound").expect("one");
            assert_eq!(room[..came], octets);
            assert_eq!(other.receive(&mut room), Ok(None));
        }
    }

    #[test]
    fn a_full_ring_has_room_again_when_the_other_side_took_one() {
        let [mut one, mut other] = pair();
        for number in 0..SLOTS {
            assert_eq!(one.send(&number.to_be_bytes()), Ok(true));
        }
        assert_eq!(one.send(b"last"), Ok(false));
        let mut room = [0; LONGEST];
        assert_eq!(other.receive(&mut room), Ok(Some(8)));
        assert_eq!(room[..8], [0; 8]);
        assert_eq!(one.send(b"last"), Ok(true));
        for number in 1..SLOTS {
            assert_eq!(other.receive(&mut room), Ok(Some(8)));
            assert_eq!(room[..8], number.to_be_bytes());
        }
        assert_eq!(other.receive(&mut room), Ok(Some(4)));
        assert_eq!(&room[..4], b"last");
    }

    #[test]
    fn who_sleeps_is_woken_once_for_all_that_was_sent_and_who_is_awake_is_not() {
        let [mut one, mut other] = pair();
        sent(&mut one, b"a");
        one.flush();
        assert!(!is_rung(&one));
        other.sleep(true);
        assert!(other.has_more());
        sent(&mut one, b"b");
        sent(&mut one, b"c");
        one.flush();
        assert!(is_rung(&one));
        one.flush();
        assert!(!is_rung(&one));
        other.sleep(false);
        sent(&mut one, b"d");
        one.flush();
        assert!(!is_rung(&one));
        let mut room = [0; LONGEST];
        let came = std::iter::from_fn(|| other.receive(&mut room).expect("sound"));
        assert_eq!(came.count(), 4);
        assert!(!other.has_more());
    }

    /// Whatever a peer writes, it is refused or read as octets: nothing else happens.
    #[test]
    fn a_peer_that_breaks_the_rules_is_found_out() {
        let mut room = [0; LONGEST];
        let breaks: [(usize, u64); 6] = [
            (SENT, SLOTS + 1),
            (SENT, u64::MAX),
            (REFERENCES, SLOTS << 32),
            (REFERENCES, LONGEST as u64 + 1),
            (REFERENCES, u64::MAX),
            (REFERENCES + 1, 1),
        ];
        for (at, value) in breaks {
            let [mut one, mut other] = pair();
            sent(&mut one, b"sound");
            store(&one.own.words, at, value);
            assert_eq!(other.receive(&mut room), Err(BROKEN), "word {at}");
        }
        let [mut one, mut other] = pair();
        sent(&mut one, b"sound");
        assert_eq!(other.receive(&mut room), Ok(Some(5)));
        store(&one.own.words, SENT, 0);
        assert_eq!(other.receive(&mut room), Err(BROKEN));
        // It takes what was not sent.
        for taken in [SLOTS + 1, u64::MAX] {
            let [mut one, other] = pair();
            (0..SLOTS).for_each(|_| sent(&mut one, b""));
            store(&other.own.words, TAKEN, taken);
            assert_eq!(one.send(b""), Err(BROKEN));
        }
    }
}
