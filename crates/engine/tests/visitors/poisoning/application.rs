//! An application that computes its answers from the requests, records every byte of them, and can be held before it answers.
//!
//! The scripted origin of the testkit knows beforehand which requests come; an attack is about requests that should not come.

use kasoku_options::OriginAddress;
use kasoku_testkit::{Gate, WAIT_MAX, has_stand_in};
use socket2::SockRef;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A request as it was received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The request line and the field lines, without line ends.
    pub(crate) lines: Vec<String>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn target(&self) -> &str {
        self.lines[0].split(' ').nth(1).unwrap()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.lines.iter().skip(1).filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The size of the head in bytes.
    pub(crate) fn head_bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 2).sum()
    }

    /// The whole request in one line.
    pub(crate) fn all(&self) -> String {
        let told = self.lines.iter().filter(|line| !has_stand_in(line)).map(String::as_str);
        format!("{} | {}", told.collect::<Vec<_>>().join(" | "), self.body)
    }
}

/// What the application does after a request.
pub(crate) enum Does {
    /// It sends these bytes, and waits for the next request.
    Answer(Vec<u8>),
    /// It resets the connection.
    Reset,
}

#[derive(Default)]
struct Shared {
    /// The requests so far, and the gate that the next one waits for.
    state: Mutex<(Vec<Asked>, Option<Gate>)>,
    answered: AtomicUsize,
    changed: Condvar,
}

/// See the [module](self).
pub(crate) struct Application {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Application {
    /// Starts the application. Its threads end with the process.
    pub(crate) fn start(does: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (record, does) = (shared.clone(), Arc::new(does));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (record, does) = (record.clone(), does.clone());
                std::thread::spawn(move || serve(&stream, &record, does.as_ref()));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> OriginAddress {
        OriginAddress::http(self.address.ip().to_string(), self.address.port())
    }

    /// The application answers the next request when this gate opens.
    pub(crate) fn holds_next(&self, gate: &Gate) {
        self.shared.state.lock().unwrap().1 = Some(gate.clone());
    }

    /// The number of requests so far.
    pub(crate) fn count(&self) -> usize {
        self.shared.state.lock().unwrap().0.len()
    }

    /// The requests so far.
    #[allow(dead_code, reason = "not every test looks at all of it")]
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.state.lock().unwrap().0.clone()
    }

    /// The number of answers that have been written.
    #[allow(dead_code, reason = "not every test looks at all of it")]
    pub(crate) fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::SeqCst)
    }

    /// Waits until that many requests have arrived.
    #[track_caller]
    pub(crate) fn arrived(&self, count: usize) {
        let state = self.shared.state.lock().unwrap();
        let (state, _) =
            self.shared.changed.wait_timeout_while(state, WAIT_MAX, |state| state.0.len() < count).unwrap();
        let came = state.0.len();
        drop(state);
        assert!(came >= count, "{came} of {count} requests came");
    }
}

fn serve(stream: &TcpStream, shared: &Shared, does: &dyn Fn(&Asked) -> Does) {
    let mut reader = BufReader::new(stream);
    while let Some(asked) = next(&mut reader) {
        let gate = {
            let mut state = shared.state.lock().unwrap();
            state.0.push(asked.clone());
            state.1.take()
        };
        shared.changed.notify_all();
        if gate.is_some_and(|gate| !gate.wait()) {
            return;
        }
        match does(&asked) {
            Does::Answer(bytes) => {
                drop((&*stream).write_all(&bytes));
                shared.answered.fetch_add(1, Ordering::SeqCst);
            }
            Does::Reset => return SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap(),
        }
    }
}

/// The next request, with its body.
fn next(reader: &mut impl BufRead) -> Option<Asked> {
    let mut asked = Asked::default();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            break;
        }
        asked.lines.push(line);
    }
    let mut body = Vec::new();
    if asked.field("transfer-encoding").is_some() {
        loop {
            let size = usize::from_str_radix(&line(reader)?, 16).ok()?;
            reader.take(size as u64).read_to_end(&mut body).ok()?;
            line(reader)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = asked.field("content-length") {
        reader.take(length.parse().ok()?).read_to_end(&mut body).ok()?;
    }
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
    let text = String::from_utf8_lossy(&line).into_owned();
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}
