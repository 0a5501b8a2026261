//! Session timers: a wheel of seconds in which a session stands once, at the first time at which something of it
//! is due.

/// Seconds of a turn. Sessions that are due in a later turn are passed over until then.
const SLOTS: usize = 4096;

/// In place of a session: there is none. Places are kept with one added, so that memory is touched only for
/// sessions with timers.
const NONE: u32 = 0;

/// When sessions are due.
#[derive(Debug)]
pub struct SessionTimers {
    /// First session of each second of the turn.
    first: Box<[u32; SLOTS]>,
    /// By place of the session.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// By place of the session, in seconds; 0 is never.
    due_s: Vec<u32>,
    /// All before was looked at.
    now_s: u32,
    /// This second was looked at as well: what stands there is due in later turns.
    is_looked_at: bool,
    used: usize,
}

impl SessionTimers {
    /// For so many places of sessions.
    pub fn new(sessions: usize) -> Self {
        Self {
            first: Box::new([NONE; SLOTS]),
            next: vec![NONE; sessions],
            previous: vec![NONE; sessions],
            due_s: vec![0; sessions],
            now_s: 0,
            is_looked_at: false,
            used: 0,
        }
    }

    /// Sessions with a timer.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.used
    }

    /// The session in a place is due then, or never.
    pub fn set(&mut self, at: u32, due_s: Option<u32>) {
        self.clear(at);
        let Some(due_s) = due_s else { return };
        let due_s = due_s.max(self.now_s).max(1);
        let Some(place) = self.due_s.get_mut(at as usize) else {
            return;
        };
        *place = due_s;
        self.is_looked_at &= due_s > self.now_s;
        let first = &mut self.first[due_s as usize % SLOTS];
        let second = core::mem::replace(first, at + 1);
        set(&mut self.next, at, second);
        set(&mut self.previous, at, NONE);
        if let Some(second) = second.checked_sub(1) {
            set(&mut self.previous, second, at + 1);
        }
        self.used += 1;
    }

    /// The same, but one that is due already stays: what it is due for was not done yet.
    pub fn set_or_keep_due(&mut self, at: u32, due_s: Option<u32>) {
        let is_due = |due: &u32| (1..=self.now_s).contains(due);
        if !self.due_s.get(at as usize).is_some_and(is_due) {
            self.set(at, due_s);
        }
    }

    fn clear(&mut self, at: u32) {
        let Some(due_s) = self.due_s.get_mut(at as usize) else {
            return;
        };
        let due_s = core::mem::take(due_s);
        if due_s == 0 {
            return;
        }
        let next = self.next.get(at as usize).copied().unwrap_or(NONE);
        let previous = self.previous.get(at as usize).copied().unwrap_or(NONE);
        match previous.checked_sub(1) {
            Some(previous) => set(&mut self.next, previous, next),
            None => self.first[due_s as usize % SLOTS] = next,
        }
        if let Some(next) = next.checked_sub(1) {
            set(&mut self.previous, next, previous);
        }
        self.used -= 1;
    }

    /// True if some session may be due.
    #[inline]
    pub fn is_due(&self, now_s: u32) -> bool {
        self.used > 0 && (self.now_s < now_s || self.may_be_due_now())
    }

    fn may_be_due_now(&self) -> bool {
        !self.is_looked_at && self.first[self.now_s as usize % SLOTS] != NONE
    }

    /// The next session that is due, which then has no timer any more.
    pub fn pop(&mut self, now_s: u32) -> Option<u32> {
        if self.used == 0 {
            self.now_s = now_s;
            return None;
        }
        if self.is_looked_at && self.now_s >= now_s {
            return None;
        }
        loop {
            let mut at = self.first[self.now_s as usize % SLOTS];
            while let Some(place) = at.checked_sub(1) {
                if self
                    .due_s
                    .get(place as usize)
                    .is_some_and(|due| *due <= now_s)
                {
                    self.clear(place);
                    return Some(place);
                }
                at = self.next.get(place as usize).copied().unwrap_or(NONE);
            }
            if self.now_s >= now_s {
                self.is_looked_at = true;
                return None;
            }
            self.now_s += 1;
            self.is_looked_at = false;
        }
    }

    /// Not later than the first time at which a session is due, in seconds.
    pub fn next_s(&self) -> Option<u32> {
        (self.used > 0).then_some(if self.may_be_due_now() {
            self.now_s
        } else {
            self.now_s + 1
        })
    }
}

fn set(list: &mut [u32], at: u32, value: u32) {
    if let Some(place) = list.get_mut(at as usize) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(timers: &mut SessionTimers, now_s: u32) -> Vec<u32> {
        let mut all: Vec<u32> = core::iter::from_fn(|| timers.pop(now_s)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn sessions_are_due_once_at_their_time() {
        let mut timers = SessionTimers::new(8);
        assert_eq!((timers.pop(1_000_000), timers.next_s()), (None, None));
        timers.set(3, Some(1_000_010));
        timers.set(4, Some(1_000_010));
        timers.set(5, Some(1_000_020));
        timers.set(5, Some(1_000_005));
        timers.set(6, Some(1_000_005 + SLOTS as u32));
        timers.set(7, Some(1_000_007));
        timers.set(7, None);
        timers.set(9, Some(1));
        assert_eq!(timers.len(), 4);
        assert!(due(&mut timers, 1_000_004).is_empty());
        assert_eq!(due(&mut timers, 1_000_005), [5]);
        assert_eq!(due(&mut timers, 1_000_100), [3, 4]);
        assert_eq!(timers.len(), 1);
        // What is late is due at once.
        timers.set(0, Some(17));
        assert_eq!(timers.next_s(), Some(1_000_100));
        assert_eq!(due(&mut timers, 1_000_100), [0]);
        assert!(due(&mut timers, 1_000_004 + SLOTS as u32).is_empty());
        assert_eq!(due(&mut timers, 1_000_005 + SLOTS as u32), [6]);
        assert_eq!((timers.len(), timers.next_s()), (0, None));
    }

    #[test]
    fn what_is_due_in_a_later_turn_is_not_due_all_second() {
        let mut timers = SessionTimers::new(8);
        let now_s = 1_000;
        assert_eq!(timers.pop(now_s), None);
        timers.set(1, Some(now_s + SLOTS as u32));
        assert!(due(&mut timers, now_s).is_empty());
        assert!(!timers.is_due(now_s));
        assert_eq!(timers.next_s(), Some(now_s + 1));
        // What comes for this second is found behind it.
        timers.set(2, Some(now_s));
        assert_eq!((timers.is_due(now_s), timers.next_s()), (true, Some(now_s)));
        assert_eq!(due(&mut timers, now_s), [2]);
        assert_eq!(timers.next_s(), Some(now_s + 1));
        assert_eq!(due(&mut timers, now_s + SLOTS as u32), [1]);
    }
}
