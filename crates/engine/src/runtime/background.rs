//! Runs a worker's background tasks, which no request waits for: a few at a time, a bounded queue behind them. Further tasks are refused.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;

/// The most tasks of one worker that run at a time.
const RUNNING_MAX: usize = 4;

/// The most tasks of one worker that wait for their turn.
const WAITING_MAX: usize = 256;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Background {
    running: Cell<usize>,
    waiting: RefCell<VecDeque<Task>>,
}

impl Background {
    /// Whether the queue takes one more task.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.borrow().len() < WAITING_MAX
    }

    /// Takes a task for which there is room.
    pub(crate) fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.waiting.borrow_mut().push_back(Box::pin(task));
        if self.running.get() < RUNNING_MAX {
            let place = TaskSlot::take(self);
            tokio::task::spawn_local(async move {
                while let Some(task) = place.next() {
                    task.await;
                }
            });
        }
    }
}

/// A place among the running tasks.
struct TaskSlot(Rc<Background>);

impl TaskSlot {
    fn take(background: &Rc<Background>) -> Self {
        background.running.set(background.running.get() + 1);
        Self(background.clone())
    }

    fn next(&self) -> Option<Task> {
        self.0.waiting.borrow_mut().pop_front()
    }
}

impl Drop for TaskSlot {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
    }
}
