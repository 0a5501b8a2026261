//! The poll-only executor on which procedures of a network function are `async fn`.
//!
//! It has no waker, thread or clock: it polls the one task that an input is for, and nothing else.
//! A task waits for an event of its network function or for a deadline, and says at which step. A
//! panic inside a poll drops that task alone. Tasks are never stored: after a restart, timers of
//! the other side repeat what was under way.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use crate::slab::{Key, Slab};
use crate::time::Instant;

/// A task that is under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub Key);

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake<E> {
    /// What was waited for.
    Event(E),
    /// The deadline.
    Deadline,
}

/// How a task stands after it was polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poll {
    /// It waits.
    Waiting,
    /// It is done and gone.
    Done,
    /// It panicked and is gone.
    Panicked,
}

struct Shared<E, K> {
    step: Cell<&'static str>,
    expects: Cell<Option<K>>,
    deadline: Cell<Instant>,
    inbox: RefCell<Option<Wake<E>>>,
    failure: RefCell<Option<String>>,
}

/// A task's end of its executor: how it waits. `E` is what it is told, `K` which kinds it can wait
/// for.
pub struct Handle<E, K> {
    shared: Rc<Shared<E, K>>,
}

impl<E, K> Clone for Handle<E, K> {
    fn clone(&self) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
        }
    }
}

impl<E, K: Copy> Handle<E, K> {
    /// Waits for an event of a kind, or for the deadline. `step` names the wait to operators.
    pub async fn wait(&self, step: &'static str, kind: K, deadline: Instant) -> Wake<E> {
        let shared = &self.shared;
        shared.step.set(step);
        shared.expects.set(Some(kind));
        shared.deadline.set(deadline);
        std::future::poll_fn(|_| match shared.inbox.borrow_mut().take() {
            Some(wake) => {
                shared.expects.set(None);
                shared.deadline.set(Instant::NEVER);
                std::task::Poll::Ready(wake)
            }
            None => std::task::Poll::Pending,
        })
        .await
    }

    /// Notes why the task does not do what it is for, which goes on all the same until it has told so and cleaned up.
    /// What it says first counts.
    pub fn failed(&self, cause: impl ToString) {
        let failure = &mut *self.shared.failure.borrow_mut();
        failure.get_or_insert_with(|| cause.to_string());
    }
}

struct Task<E, K> {
    future: Pin<Box<dyn Future<Output = ()>>>,
    shared: Rc<Shared<E, K>>,
    timer: Option<(Instant, u64)>,
}

/// The tasks of one network function.
pub struct Tasks<E, K> {
    tasks: Slab<Task<E, K>>,
    /// By deadline, then by the order in which they were set.
    timers: BTreeMap<(Instant, u64), TaskId>,
    timers_set: u64,
    panicked: u64,
    /// The task that ended last, if it failed.
    failed: Option<(TaskId, String)>,
}

impl<E, K: Copy> Tasks<E, K> {
    /// For `most` tasks at a time.
    pub fn new(most: usize) -> Self {
        Self {
            tasks: Slab::new(most),
            timers: BTreeMap::new(),
            timers_set: 0,
            panicked: 0,
            failed: None,
        }
    }

    /// Makes a task, which begins when it is first polled; none if there are too many.
    pub fn spawn<F>(&mut self, make: impl FnOnce(Handle<E, K>) -> F) -> Option<TaskId>
    where
        F: Future<Output = ()> + 'static,
    {
        let shared = Rc::new(Shared {
            step: Cell::new("begin"),
            expects: Cell::new(None),
            deadline: Cell::new(Instant::NEVER),
            inbox: RefCell::new(None),
            failure: RefCell::new(None),
        });
        let future = Box::pin(make(Handle {
            shared: Rc::clone(&shared),
        }));
        self.tasks
            .insert(Task {
                future,
                shared,
                timer: None,
            })
            .map(TaskId)
    }

    /// Polls a task that was just made.
    pub fn begin(&mut self, id: TaskId) -> Poll {
        self.poll(id)
    }

    /// Tells a task what it waits for, and polls it.
    pub fn wake(&mut self, id: TaskId, event: E) -> Poll {
        self.deliver(id, Wake::Event(event))
    }

    /// Tells one task whose deadline has come, and polls it.
    pub fn expire(&mut self, now: Instant) -> Option<(TaskId, Poll)> {
        let (&(deadline, _), &id) = self.timers.first_key_value()?;
        (deadline <= now).then(|| (id, self.deliver(id, Wake::Deadline)))
    }

    /// Drops a task where it waits.
    pub fn abort(&mut self, id: TaskId) {
        if let Some(timer) = self.tasks.remove(id.0).and_then(|task| task.timer) {
            self.timers.remove(&timer);
        }
    }

    /// Why a task failed that has just ended by itself, as it said ([`Handle::failed`]).
    pub fn take_failure(&mut self, id: TaskId) -> Option<String> {
        let failed = self.failed.take_if(|(failed, _)| *failed == id);
        failed.map(|(_, cause)| cause)
    }

    /// What a task waits for.
    pub fn expects(&self, id: TaskId) -> Option<K> {
        self.tasks.get(id.0)?.shared.expects.get()
    }

    /// Where a task waits.
    pub fn step(&self, id: TaskId) -> Option<&'static str> {
        Some(self.tasks.get(id.0)?.shared.step.get())
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Instant {
        self.timers
            .first_key_value()
            .map_or(Instant::NEVER, |((deadline, _), _)| *deadline)
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How many tasks panicked.
    pub fn panicked(&self) -> u64 {
        self.panicked
    }

    fn deliver(&mut self, id: TaskId, wake: Wake<E>) -> Poll {
        match self.tasks.get(id.0) {
            Some(task) => {
                *task.shared.inbox.borrow_mut() = Some(wake);
                self.poll(id)
            }
            None => Poll::Done,
        }
    }

    fn poll(&mut self, id: TaskId) -> Poll {
        let Some(task) = self.tasks.get_mut(id.0) else {
            return Poll::Done;
        };
        let mut context = Context::from_waker(Waker::noop());
        let future = &mut task.future;
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        if let Ok(std::task::Poll::Pending) = polled {
            self.set_timer(id);
            return Poll::Waiting;
        }
        let failure = task.shared.failure.take();
        self.failed = failure.map(|cause| (id, cause));
        self.abort(id);
        if polled.is_ok() {
            return Poll::Done;
        }
        self.panicked += 1;
        Poll::Panicked
    }

    fn set_timer(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(id.0) else {
            return;
        };
        if let Some(timer) = task.timer.take() {
            self.timers.remove(&timer);
        }
        let deadline = task.shared.deadline.get();
        if deadline < Instant::NEVER {
            self.timers_set += 1;
            task.timer = Some((deadline, self.timers_set));
            self.timers.insert((deadline, self.timers_set), id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Rc<RefCell<Vec<String>>>;

    fn waiter(log: Log, name: &'static str) -> impl FnOnce(Handle<u8, char>) -> BoxedTask {
        move |handle| {
            Box::pin(async move {
                for step in ["first", "second"] {
                    let wake = handle.wait(step, 'x', Instant(10)).await;
                    log.borrow_mut().push(format!("{name} {step} {wake:?}"));
                }
            })
        }
    }

    type BoxedTask = Pin<Box<dyn Future<Output = ()>>>;

    #[test]
    fn why_a_task_failed_is_told_when_it_has_ended() {
        let mut tasks: Tasks<u8, char> = Tasks::new(2);
        let make = |handle: Handle<u8, char>| async move {
            handle.failed("no answer");
            handle.wait("cleaning up", 'x', Instant(10)).await;
            handle.failed("and more");
        };
        let one = tasks.spawn(make).expect("room");
        assert_eq!(tasks.begin(one), Poll::Waiting);
        assert_eq!(tasks.take_failure(one), None);
        let other = tasks.spawn(|_| async {}).expect("room");
        assert_eq!(tasks.begin(other), Poll::Done);
        assert_eq!(tasks.take_failure(other), None);
        assert_eq!(tasks.wake(one, 1), Poll::Done);
        assert_eq!(tasks.take_failure(other), None);
        assert_eq!(tasks.take_failure(one).as_deref(), Some("no answer"));
        assert_eq!(tasks.take_failure(one), None);
    }

    #[test]
    fn only_the_task_that_an_event_is_for_goes_on() {
        let log = Log::default();
        let mut tasks = Tasks::new(2);
        let a = tasks.spawn(waiter(Rc::clone(&log), "a")).expect("room");
        let b = tasks.spawn(waiter(Rc::clone(&log), "b")).expect("room");
        assert!(tasks.spawn(waiter(Rc::clone(&log), "c")).is_none());
        assert_eq!(
            (tasks.begin(a), tasks.begin(b)),
            (Poll::Waiting, Poll::Waiting)
        );
        assert_eq!(
            (tasks.step(a), tasks.expects(a)),
            (Some("first"), Some('x'))
        );
        assert_eq!(tasks.wake(b, 7), Poll::Waiting);
        assert_eq!(
            (tasks.step(a), tasks.step(b)),
            (Some("first"), Some("second"))
        );
        assert_eq!(tasks.wake(b, 8), Poll::Done);
        assert_eq!(*log.borrow(), ["b first Event(7)", "b second Event(8)"]);
        assert_eq!((tasks.len(), tasks.step(b)), (1, None));
    }

    #[test]
    fn deadlines_come_in_the_order_in_which_they_were_set() {
        let log = Log::default();
        let mut tasks = Tasks::new(2);
        for name in ["a", "b"] {
            let id = tasks.spawn(waiter(Rc::clone(&log), name)).expect("room");
            tasks.begin(id);
        }
        assert_eq!(tasks.next_deadline(), Instant(10));
        assert!(tasks.expire(Instant(9)).is_none());
        while tasks.expire(Instant(10)).is_some() {}
        let expected = [
            "a first Deadline",
            "b first Deadline",
            "a second Deadline",
            "b second Deadline",
        ];
        assert_eq!(*log.borrow(), expected);
        assert!(tasks.is_empty());
        assert_eq!(tasks.next_deadline(), Instant::NEVER);
    }

    #[test]
    fn a_panic_ends_one_task_alone() {
        let log = Log::default();
        let mut tasks = Tasks::new(2);
        let good = tasks.spawn(waiter(Rc::clone(&log), "good")).expect("room");
        let bad = tasks.spawn(|handle: Handle<u8, char>| async move {
            handle.wait("first", 'x', Instant(5)).await;
            panic!("on purpose");
        });
        let bad = bad.expect("room");
        tasks.begin(good);
        tasks.begin(bad);
        assert_eq!(tasks.wake(bad, 1), Poll::Panicked);
        assert_eq!((tasks.panicked(), tasks.len()), (1, 1));
        assert_eq!(tasks.next_deadline(), Instant(10));
        assert_eq!(tasks.wake(good, 1), Poll::Waiting);
    }

    #[test]
    fn an_aborted_task_hears_nothing_more() {
        let log = Log::default();
        let mut tasks = Tasks::new(1);
        let id = tasks.spawn(waiter(Rc::clone(&log), "a")).expect("room");
        tasks.begin(id);
        tasks.abort(id);
        assert_eq!(tasks.wake(id, 1), Poll::Done);
        assert!(tasks.expire(Instant(100)).is_none());
        assert!(log.borrow().is_empty());
    }
}
