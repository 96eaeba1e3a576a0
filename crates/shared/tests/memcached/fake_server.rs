//! A server that a test plays: it answers each request with the bytes of a script.

use kasoku_shared::Endpoint;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// What the server does when a request comes. `{O}` in the bytes is the opaque of the request, `{O+1}` the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// Sends these bytes.
    Sends(&'static [u8]),
    /// Sends these bytes one by one.
    SendsSlices(&'static [u8]),
    /// Sends these bytes and closes.
    SendsAndCloses(&'static [u8]),
}

/// A server, which lives as long as its runtime.
pub(crate) struct FakeServer {
    folder: TempDir,
}

impl FakeServer {
    /// A server that plays the first list to the first connection, and so on. After the last turn of its list, a connection gets nothing
    /// more.
    pub(crate) fn new(connections: Vec<Vec<Turn>>) -> Self {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(path(&folder)).unwrap();
        tokio::spawn(async move {
            // Connections stay open until the client closes them.
            for turns in connections {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(play(stream, turns));
            }
        });
        Self { folder }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(path(&self.folder))
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("fake.sock")
}

async fn play(stream: UnixStream, turns: Vec<Turn>) {
    let mut stream = BufReader::new(stream);
    for turn in turns {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let opaque: u32 = line.trim_end().rsplit_once(" O").unwrap().1.parse().unwrap();
        // The client may close at any time.
        let _ = match turn {
            Turn::Sends(bytes) => stream.write_all(&filled(bytes, opaque)).await,
            Turn::SendsAndCloses(bytes) => {
                let _ = stream.write_all(&filled(bytes, opaque)).await;
                return;
            }
            Turn::SendsSlices(bytes) => {
                for byte in filled(bytes, opaque) {
                    let _ = stream.write_all(&[byte]).await;
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        };
    }
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

fn filled(bytes: &[u8], opaque: u32) -> Vec<u8> {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let text = text.replace("{O}", &format!("O{opaque}")).replace("{O+1}", &format!("O{}", opaque.wrapping_add(1)));
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect()
}
