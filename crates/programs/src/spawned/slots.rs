//! The state of one program's processes, shared by the requests that lease slots and by the thread that keeps the processes.
//!
//! The lock is held for a few instructions. Each slot has a task (`keeper`), which is woken when the slot changes.

use kasoku_options::SpawnedProgram;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A process beyond the minimum number is ended after this time without a request.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// The first wait before a restart of a program whose process has ended without serving a request. Each further such end doubles it.
const BACK_OFF: Duration = Duration::from_secs(1);
/// The longest such wait.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct ProcessSlots {
    pub(super) program: SpawnedProgram,
    directory: PathBuf,
    sockets: Vec<SlotSocket>,
    state: Mutex<SlotsState>,
    pub(super) changed: Vec<Notify>,
    /// Tells that a process has ended.
    pub(super) gone: Notify,
}

#[derive(Debug)]
struct SlotSocket {
    path: PathBuf,
    /// It blocks: on a socket that does not, a program takes "no connection yet" for a failure and ends.
    listener: UnixListener,
}

#[derive(Debug)]
struct SlotsState {
    slots: Vec<ProcessSlot>,
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct ProcessSlot {
    is_leased: bool,
    is_running: bool,
    /// Its process must end, or is ending: the slot is not leased before that has happened.
    is_lost: bool,
    /// How many processes have ended here. A lease of an earlier process says nothing about the present one.
    ended: u64,
    /// How many requests its process has served.
    served: u64,
    /// When its last lease ended.
    idle_since: Option<Instant>,
    /// How many processes in a row have ended without having served anything.
    failures: u32,
    /// Before this time it is not leased (back-off).
    waits_until: Option<Instant>,
}

/// The next thing to do for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotAction {
    /// Start a process, no earlier than at that time.
    Start(Option<Instant>),
    /// Nothing; look again at that time, if there is one.
    Nothing(Option<Instant>),
    /// End the process, which is to be replaced or is not needed any more.
    End,
    /// End the process and the task: everything ends.
    Stop,
}

/// The result of asking for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotResult {
    /// This slot, and how many processes have ended there before.
    Slot(usize, u64),
    /// No slot is free, but a process is being replaced.
    Soon,
    /// No slot is free: those that are not leased wait for their program to be started again.
    Failing,
}

/// How many directories for sockets this process has made.
static DIRECTORIES: AtomicU64 = AtomicU64::new(0);

impl ProcessSlots {
    /// Makes all sockets, and no process yet.
    pub(super) fn new(program: &SpawnedProgram) -> io::Result<Self> {
        let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
        // systemd's RuntimeDirectory=, which no other user can write to; the first if there are several.
        let runtime = std::env::var_os("RUNTIME_DIRECTORY").and_then(|all| std::env::split_paths(&all).next());
        let parent = runtime.unwrap_or_else(std::env::temp_dir);
        let directory = parent.join(format!("kasoku-fastcgi-{}-{number}", std::process::id()));
        // Only for this user: a process that can connect can ask the program anything. The directory must not exist yet.
        DirBuilder::new().mode(0o700).create(&directory)?;
        let socket = |slot: usize| {
            let path = directory.join(slot.to_string());
            Ok(SlotSocket { listener: UnixListener::bind(&path)?, path })
        };
        let sockets: io::Result<Vec<SlotSocket>> = (0..program.processes_max).map(socket).collect();
        let sockets = sockets.inspect_err(|_| {
            let _ = fs::remove_dir_all(&directory);
        })?;
        let slots = sockets.iter().map(|_| ProcessSlot::default()).collect();
        let changed = sockets.iter().map(|_| Notify::new()).collect();
        let state = Mutex::new(SlotsState { slots, is_stopping: false });
        Ok(Self { program: program.clone(), directory, sockets, state, changed, gone: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, SlotsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, slot: usize, change: impl FnOnce(&mut ProcessSlot)) {
        if let Some(known) = self.state().slots.get_mut(slot) {
            change(known);
        }
        self.tell(slot);
    }

    fn tell(&self, slot: usize) {
        if let Some(changed) = self.changed.get(slot) {
            changed.notify_one();
        }
    }

    /// The socket on which the process of a slot listens.
    pub(super) fn socket(&self, slot: usize) -> Option<&Path> {
        self.sockets.get(slot).map(|socket| socket.path.as_path())
    }

    pub(super) fn listener(&self, slot: usize) -> Option<&UnixListener> {
        self.sockets.get(slot).map(|socket| &socket.listener)
    }

    /// Takes the first slot whose process is idle, else the first that has none.
    pub(super) fn take(&self, now: Instant) -> SlotResult {
        let mut state = self.state();
        let is_free =
            |slot: &ProcessSlot| !slot.is_leased && !slot.is_lost && slot.waits_until.is_none_or(|until| until <= now);
        let idle = state.slots.iter().position(|slot| is_free(slot) && slot.is_running);
        let Some(taken) = idle.or_else(|| state.slots.iter().position(is_free)) else {
            let is_one_going = state.slots.iter().any(|slot| slot.is_lost);
            return if is_one_going { SlotResult::Soon } else { SlotResult::Failing };
        };
        let Some(slot) = state.slots.get_mut(taken) else { return SlotResult::Failing };
        slot.is_leased = true;
        let ended = slot.ended;
        drop(state);
        self.tell(taken);
        SlotResult::Slot(taken, ended)
    }

    /// Ends a lease. `ended` is the number of processes that had ended in the slot when the lease began. Unless the program has
    /// `answered` the request to its end, the process is to be replaced.
    pub(super) fn give_back(&self, slot: usize, ended: u64, answered: bool, now: Instant) {
        self.change(slot, |slot| {
            slot.is_leased = false;
            slot.idle_since = Some(now);
            match slot.ended == ended {
                true if answered => {
                    (slot.served, slot.failures) = (slot.served + 1, 0);
                    // At once: while requests wait, the slot would never be seen idle.
                    slot.is_lost |= self.has_served_all(slot);
                }
                true => slot.is_lost = slot.is_running,
                false => {}
            }
        });
    }

    fn has_served_all(&self, slot: &ProcessSlot) -> bool {
        self.program.requests_max > 0 && slot.served >= self.program.requests_max
    }

    /// The next thing to do for that slot.
    pub(super) fn wish(&self, number: usize, now: Instant) -> SlotAction {
        let mut state = self.state();
        let is_stopping = state.is_stopping;
        let Some(slot) = state.slots.get_mut(number).filter(|_| !is_stopping) else { return SlotAction::Stop };
        let wish = self.wish_for(number, slot, now);
        slot.is_lost |= wish == SlotAction::End;
        wish
    }

    fn wish_for(&self, number: usize, slot: &ProcessSlot, now: Instant) -> SlotAction {
        let is_spare = number >= self.program.processes_min;
        match slot {
            ProcessSlot { is_running: false, is_leased, waits_until, .. } => match waits_until {
                _ if is_spare && !is_leased => SlotAction::Nothing(None),
                until => SlotAction::Start(*until),
            },
            ProcessSlot { is_lost: true, .. } => SlotAction::End,
            ProcessSlot { is_leased: true, .. } => SlotAction::Nothing(None),
            ProcessSlot { idle_since: Some(since), .. } if is_spare => match *since + IDLE_MAX {
                until if until <= now => SlotAction::End,
                until => SlotAction::Nothing(Some(until)),
            },
            _ => SlotAction::Nothing(None),
        }
    }

    /// To be called when the process of that slot has been started.
    pub(super) fn is_running(&self, slot: usize) {
        self.change(slot, |slot| {
            // It may have served a waiting request before this call.
            (slot.is_running, slot.is_lost, slot.waits_until) = (true, self.has_served_all(slot), None);
        });
    }

    /// To be called when the process of that slot has ended, or could not be started. Returns whether the next start has to wait:
    /// the process had served no request, and had not been asked to end.
    pub(super) fn has_ended(&self, slot: usize, was_asked_to: bool, now: Instant) -> bool {
        let mut waits = false;
        self.change(slot, |slot| {
            waits = !was_asked_to && slot.served == 0;
            (slot.is_running, slot.is_lost, slot.served) = (false, false, 0);
            slot.ended += 1;
            if waits {
                let back_off = BACK_OFF.saturating_mul(1 << slot.failures.min(10)).min(BACK_OFF_MAX);
                slot.failures += 1;
                slot.waits_until = Some(now + back_off);
            }
        });
        self.gone.notify_waiters();
        waits
    }

    /// Makes all tasks end their processes.
    pub(super) fn stop(&self) {
        self.state().is_stopping = true;
        self.changed.iter().for_each(Notify::notify_one);
    }
}

impl Drop for ProcessSlots {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(min: usize, max: usize, requests_max: u64) -> ProcessSlots {
        let file = "/srv/a.fcgi".into();
        ProcessSlots::new(&SpawnedProgram { file, processes_min: min, processes_max: max, requests_max, umask: 0o022 })
            .unwrap()
    }

    #[track_caller]
    fn taken(slots: &ProcessSlots, now: Instant) -> (usize, u64) {
        match slots.take(now) {
            SlotResult::Slot(slot, ended) => (slot, ended),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_least_number_runs_and_more_come_with_the_requests() {
        let (slots, now) = (slots(1, 3, 0), Instant::now());
        let wishes = [0, 1, 2].map(|slot| slots.wish(slot, now));
        assert_eq!(wishes, [SlotAction::Start(None), SlotAction::Nothing(None), SlotAction::Nothing(None)]);
        slots.is_running(0);
        assert_eq!((taken(&slots, now), taken(&slots, now)), ((0, 0), (1, 0)));
        assert_eq!(slots.wish(1, now), SlotAction::Start(None));
        slots.is_running(1);
        slots.give_back(1, 0, true, now);
        assert_eq!(taken(&slots, now).0, 1, "one that runs is better than one that would have to be started");
        slots.give_back(1, 0, true, now);
        let later = now + IDLE_MAX;
        assert_eq!((slots.wish(1, now), slots.wish(1, later)), (SlotAction::Nothing(Some(later)), SlotAction::End));
        assert_eq!(slots.wish(0, later), SlotAction::Nothing(None), "it is in use, and one stays anyway");
    }

    #[test]
    fn a_process_is_replaced_after_its_requests_when_it_is_idle_and_no_request_gets_it_meanwhile() {
        let (slots, now) = (slots(1, 1, 2), Instant::now());
        slots.is_running(0);
        for expected in [SlotAction::Nothing(None), SlotAction::End] {
            taken(&slots, now);
            assert_eq!(slots.wish(0, now), SlotAction::Nothing(None));
            slots.give_back(0, 0, true, now);
            if expected == SlotAction::End {
                assert_eq!(slots.take(now), SlotResult::Soon, "before anybody has looked after it");
            }
            assert_eq!(slots.wish(0, now), expected);
        }
        assert_eq!(slots.take(now), SlotResult::Soon);
        assert!(!slots.has_ended(0, true, now));
        assert_eq!((slots.wish(0, now), taken(&slots, now)), (SlotAction::Start(None), (0, 1)));
    }

    #[test]
    fn what_a_process_serves_before_anybody_says_that_it_runs_counts() {
        let (slots, now) = (slots(1, 1, 2), Instant::now());
        for _ in 0..2 {
            taken(&slots, now);
            slots.give_back(0, 0, true, now);
            slots.is_running(0);
        }
        assert_eq!(slots.wish(0, now), SlotAction::End);
        slots.has_ended(0, true, now);
        slots.is_running(0);
        assert_eq!(slots.wish(0, now), SlotAction::Nothing(None));
    }

    #[test]
    fn a_process_whose_answer_was_not_read_to_its_end_is_lost_and_the_next_is_not() {
        let (slots, now) = (slots(1, 2, 0), Instant::now());
        slots.is_running(0);
        taken(&slots, now);
        slots.give_back(0, 0, false, now);
        assert_eq!(slots.wish(0, now), SlotAction::End);
        assert_eq!(taken(&slots, now).0, 1, "the other is better");
        slots.has_ended(0, true, now);
        slots.is_running(0);
        assert_eq!(taken(&slots, now), (0, 1));
        // The process dies, and the next one runs before the request notices that.
        slots.has_ended(0, false, now);
        slots.is_running(0);
        slots.give_back(0, 1, false, now);
        assert_eq!(slots.wish(0, now), SlotAction::Nothing(None));
    }

    #[test]
    fn who_does_not_stay_alive_is_started_again_ever_later_and_not_leased_meanwhile() {
        let (slots, now) = (slots(1, 1, 0), Instant::now());
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            slots.is_running(0);
            assert!(slots.has_ended(0, false, now));
            let until = now + Duration::from_secs(seconds);
            assert_eq!((slots.wish(0, now), slots.take(now)), (SlotAction::Start(Some(until)), SlotResult::Failing));
        }
        let (_, ended) = taken(&slots, now + BACK_OFF_MAX);
        slots.is_running(0);
        slots.give_back(0, ended, true, now);
        assert!(!slots.has_ended(0, false, now), "who has served something is replaced at once");
        assert_eq!(slots.wish(0, now), SlotAction::Start(None));
    }

    #[test]
    fn no_other_user_can_connect_and_nothing_is_left() {
        use std::os::unix::fs::PermissionsExt;
        let slots = slots(1, 1, 0);
        let directory = slots.directory.clone();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        drop(slots);
        assert!(!directory.exists());
    }
}
