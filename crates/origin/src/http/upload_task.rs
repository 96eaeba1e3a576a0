//! Sends the body of a request in a task of its own, so that an origin may answer before it has read the whole body.

use crate::error::Error;
use std::cell::Cell;
use std::rc::Rc;
use tokio::task::JoinHandle;

/// The task that sends a request's body. It ends with the response.
pub struct UploadTask {
    task: Option<JoinHandle<Result<(), Error>>>,
    is_complete: Rc<Cell<bool>>,
}

impl UploadTask {
    /// There is no body to send.
    pub fn none() -> Self {
        Self { task: None, is_complete: Rc::new(Cell::new(true)) }
    }

    /// There is a body, which will not be sent.
    pub(crate) fn unsent() -> Self {
        Self { task: None, is_complete: Rc::new(Cell::new(false)) }
    }

    /// Spawns the task that runs `sending`.
    pub fn spawn(sending: impl Future<Output = Result<(), Error>> + 'static) -> Self {
        let is_complete = Rc::new(Cell::new(false));
        let mark = is_complete.clone();
        let task = tokio::task::spawn_local(async move {
            let sent = sending.await;
            mark.set(sent.is_ok());
            sent
        });
        Self { task: Some(task), is_complete }
    }

    /// Whether there is a body whose [end](Self::ended) has not been awaited yet.
    pub fn is_running(&self) -> bool {
        self.task.is_some()
    }

    /// Waits for the end of the body.
    pub async fn ended(&mut self) -> Result<(), Error> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let sent = task.await.unwrap_or(Err(Error::ClosedEarly));
        self.task = None;
        sent
    }

    /// Whether all of the body has been sent.
    pub fn is_complete(&self) -> bool {
        self.is_complete.get()
    }
}

impl Drop for UploadTask {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
