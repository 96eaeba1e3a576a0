//! Tests of windows of files that are in memory, not in memory, or changed meanwhile.

use super::*;
use crate::document_root::all_who_may_wait;
use crate::document_root::tests::Scratch;
use rustix::fs::statfs;
use std::fs;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const WINDOW: usize = WINDOW_BYTES_MAX as usize;

/// TMPFS_MAGIC of statfs(2): a file system that is in memory only.
const TMPFS: i64 = 0x0102_1994;

/// The body with a file of that length.
fn body_of(scratch: &Scratch, length: usize) -> FileBody {
    let path = scratch.root().join("a.bin");
    fs::write(&path, vec![b'x'; length]).unwrap();
    let file = File::open(path).unwrap();
    let stat = fstat(&file).unwrap();
    let file = OpenFile { file: file.into(), stat, medium: Medium::Local, name: b"/a.bin".to_vec() };
    FileBody::new(&file, 0..length as u64, &Limits::default(), None)
}

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

async fn next_length(body: &mut FileBody) -> Option<usize> {
    body.window().await.unwrap().map(|window| window.length)
}

#[tokio::test(flavor = "current_thread")]
async fn a_window_is_looked_at_once_and_again_after_a_wait() {
    let scratch = Scratch::new(&[]);
    let mut body = body_of(&scratch, 2 * WINDOW + 5);
    assert_eq!(next_length(&mut body).await, Some(WINDOW));
    body.has_sent(WINDOW - 7);
    assert_eq!(next_length(&mut body).await, Some(7));
    body.has_waited(true);
    assert_eq!(next_length(&mut body).await, Some(WINDOW));
    body.has_sent(WINDOW);
    assert_eq!(next_length(&mut body).await, Some(12));
    body.has_sent(12);
    assert_eq!((body.left(), next_length(&mut body).await), (0, None));
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_not_in_memory_is_left_to_a_thread_that_may_wait() {
    let scratch = Scratch::new(&[]);
    let mut body = body_of(&scratch, 4 * WINDOW);
    body.file.sync_all().unwrap();
    let is_on_disk = statfs(scratch.root()).unwrap().f_type != TMPFS;
    // While no thread is free that may wait, the window is not ready.
    let held_up = all_who_may_wait().await;
    // The kernel does not drop pages that are in use at the moment, so this tries several times.
    let mut waits = (0..10).map(|_| {
        body.has_waited(true);
        fadvise(&body.file, 0, None, Advice::DontNeed).unwrap();
        poll(pin!(body.window())).is_pending()
    });
    assert_eq!(waits.any(|waits| waits), is_on_disk);
    drop(held_up);
    assert_eq!(next_length(&mut body).await, Some(WINDOW));
    assert!(is_in_memory(&body.file, &(0..WINDOW as u64)).unwrap());
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_that_was_changed_gives_no_last_window_and_no_end() {
    let scratch = Scratch::new(&[]);
    let mut body = body_of(&scratch, 2 * WINDOW);
    assert_eq!(next_length(&mut body).await, Some(WINDOW));
    fs::write(scratch.root().join("a.bin"), vec![b'y'; 2 * WINDOW + 1]).unwrap();
    body.has_sent(WINDOW);
    assert!(matches!(body.window().await, Err(Error::FileChanged)));
    assert!(matches!(body.copy_at_once(&mut [0; 10]), Err(Error::FileChanged)));
    body.has_sent(WINDOW);
    assert!(matches!(body.window().await, Err(Error::FileChanged)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_that_was_cut_gives_no_window_behind_its_end() {
    let scratch = Scratch::new(&[]);
    let mut body = body_of(&scratch, 4 * WINDOW);
    File::options().write(true).open(scratch.root().join("a.bin")).unwrap().set_len(WINDOW as u64 / 2).unwrap();
    assert!(matches!(body.window().await, Err(Error::FileChanged)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_that_was_changed_gives_no_last_piece() {
    let scratch = Scratch::new(&[]);
    let mut body = body_of(&scratch, PIECE_BYTES_MAX as usize + 1);
    File::options().append(true).open(scratch.root().join("a.bin")).unwrap().set_len(PIECE_BYTES_MAX + 2).unwrap();
    assert!(matches!(body.next().await, Ok(BodyPiece::Data(_))));
    assert!(matches!(body.next().await, Err(Error::FileChanged)));
}
