//! Passes purges and invalidations to the process that takes this one's place, until this one has ended.
//!
//! On a socket: one byte that says whether an answer is wanted, four with the length (little-endian), and the removal. The answer is one
//! byte: whether the removal is certain.

use kasoku_cache::disk::DiskState;
use kasoku_cache::succession::Successor;
use kasoku_engine::EngineHandle;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most removals that wait to be passed on.
const WAITING_MAX: usize = 4096;

/// The longest removal, in bytes.
const BYTES_MAX: u32 = 1 << 20;

/// How long the other process may take for one removal.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a removal waits for the directory that the predecessor gives up, and how often that is looked at.
const DISK_TIMEOUT: Duration = Duration::from_secs(5);
const DISK_INTERVAL: Duration = Duration::from_millis(10);

const CERTAIN: u8 = 1;

type Passed = (Vec<u8>, Option<oneshot::Sender<()>>);

/// The end of the process that is replaced.
pub(crate) struct RemovalSender(SyncSender<Passed>);

impl RemovalSender {
    /// Passes removals on by a thread of its own, which ends with the other process.
    pub(crate) fn start(stream: UnixStream) -> io::Result<Arc<Self>> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let (sender, receiver) = sync_channel(WAITING_MAX);
        Builder::new().name("successor".to_owned()).spawn(move || {
            if let Err(error) = pass_on(&receiver, stream) {
                tracing::error!(%error, "the new process takes no removals: it may have what this one has removed");
            }
        })?;
        Ok(Arc::new(Self(sender)))
    }
}

impl Successor for RemovalSender {
    fn pass(&self, removal: Vec<u8>, certain: Option<oneshot::Sender<()>>) {
        if self.0.try_send((removal, certain)).is_err() {
            tracing::error!("a removal could not be passed on to the new process");
        }
    }
}

fn pass_on(receiver: &Receiver<Passed>, mut stream: UnixStream) -> io::Result<()> {
    for (removal, certain) in receiver {
        let length = u32::try_from(removal.len()).ok().filter(|length| *length <= BYTES_MAX);
        let Some(length) = length else { continue };
        let mut frame = vec![u8::from(certain.is_some())];
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&removal);
        stream.write_all(&frame)?;
        let Some(certain) = certain else { continue };
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        if answer == [CERTAIN] {
            // The request may have gone away.
            let _ = certain.send(());
        }
    }
    Ok(())
}

/// Carries out what the predecessor removes, until it has ended.
pub(crate) fn follow(stream: UnixStream, engine: EngineHandle) -> io::Result<()> {
    Builder::new().name("predecessor".to_owned()).spawn(move || {
        match carry_out(stream, &engine) {
            // It has ended.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => tracing::warn!(%error, "the old process tells no more removals"),
            Ok(()) => {}
        }
    })?;
    Ok(())
}

fn carry_out(mut stream: UnixStream, engine: &EngineHandle) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let [wants_answer, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        if length > BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut removal = vec![0; length as usize];
        stream.read_exact(&mut removal)?;
        let (cache, now) = (engine.cache(), engine.now());
        // At once in memory, whatever becomes of the disk.
        let understood = cache.apply(&removal, false, now);
        if wants_answer == 0 {
            continue;
        }
        wait_for_disk(engine);
        let removed = understood.and_then(|_| cache.apply(&removal, true, now));
        let is_certain = match removed {
            Some(removed) => {
                let waited = runtime.block_on(async { tokio::time::timeout(DISK_TIMEOUT, removed.wait()).await });
                matches!(waited, Ok(Ok(_)))
            }
            None => false,
        };
        stream.write_all(&[if is_certain { CERTAIN } else { 0 }])?;
    }
}

/// Waits until the directory is in use, or can't be used: what is removed before would empty it.
fn wait_for_disk(engine: &EngineHandle) {
    let begun = Instant::now();
    let is_open = || {
        let status = engine.cache().disk_status();
        status.is_none_or(|status| matches!(status.state, DiskState::Serving { .. } | DiskState::Stopped))
    };
    while !is_open() && begun.elapsed() < DISK_TIMEOUT {
        std::thread::sleep(DISK_INTERVAL);
    }
}
