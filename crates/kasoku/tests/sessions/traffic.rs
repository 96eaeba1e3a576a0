//! Runs the visitors: a few threads, each with some visitors and some connections, send requests in random order.
//!
//! A visitor does one thing after the other, so that it knows which answers are right; different visitors are active at the same time.
//! Visitors share connections, as behind a load balancer: on one connection, requests of different visitors follow each other.

use crate::application::Application;
use crate::check::{Answer, Ask, Expected, Ledger, check};
use crate::habit::{Habit, InitialSession};
use crate::page::{Kind, Page};
use crate::report::{Count, Report};
use crate::visitor::Visitor;
use kasoku_oracle::random::{Random, hash};
use kasoku_oracle::wire::{Length, Reader, Trouble};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

/// The longest wait for a read.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a visitor checks whether Kasoku has noticed a log-in elsewhere.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

const VISITORS: usize = 200;

/// The number of threads, and the connections of each.
const THREADS: usize = 16;
const CONNECTIONS: u64 = 3;

/// The program's address, and what visitors must know about the operator's actions.
pub(crate) struct Address {
    /// Visitors hold a read lock during a request; the operator takes the write lock to stop the program.
    pub(crate) gate: RwLock<SocketAddr>,
    /// The number of restarts: connections from before the last one are closed.
    pub(crate) starts: AtomicU64,
    /// The number of beginnings and ends of hand-overs; odd while two processes may serve.
    pub(crate) hand_overs: AtomicU64,
}

impl Address {
    /// The number of the process that serves; each hand-over has a number of its own.
    fn process(&self) -> u64 {
        self.starts.load(Relaxed) + self.hand_overs.load(Relaxed)
    }

    pub(crate) fn of(address: SocketAddr) -> Self {
        Self { gate: RwLock::new(address), starts: AtomicU64::new(0), hand_overs: AtomicU64::new(0) }
    }
}

/// The state of a run.
pub(crate) struct Run {
    pub(crate) application: Arc<Application>,
    pub(crate) address: Address,
    pub(crate) ledger: Ledger,
    pub(crate) report: Report,
    pub(crate) seed: u64,
    /// The number of requests after which the run ends.
    pub(crate) requests: u64,
    pub(crate) asked: AtomicU64,
    pub(crate) is_over: AtomicBool,
}

impl Run {
    /// Runs all visitors until the run has enough requests.
    pub(crate) fn visit(&self) {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || Client::new(self, thread).work());
            }
        });
    }

    fn is_enough(&self) -> bool {
        self.asked.load(Relaxed) >= self.requests || self.is_over.load(Relaxed)
    }
}

struct Client<'r> {
    run: &'r Run,
    random: Random,
    visitors: Vec<Visitor>,
    connections: Vec<Option<Connection>>,
}

struct Connection {
    stream: TcpStream,
    start: u64,
}

impl<'r> Client<'r> {
    fn new(run: &'r Run, thread: usize) -> Self {
        let visitors = (thread..VISITORS).step_by(THREADS).map(|number| arrive(run, number)).collect();
        let connections = (0..CONNECTIONS).map(|_| None).collect();
        Self { run, random: Random::new(hash(&[run.seed, thread as u64])), visitors, connections }
    }

    fn work(mut self) {
        while !self.run.is_enough() && !self.visitors.is_empty() {
            let index = self.random.below(self.visitors.len() as u64) as usize;
            let mut visitor = self.visitors.swap_remove(index);
            if self.random.per_mille(2) {
                self.run.application.toggle(self.random.any());
            }
            if self.random.per_mille(20)
                && visitor.is_logged_in_elsewhere(|id, user| self.run.application.log_in_elsewhere(id, user))
            {
                self.run.report.count(Count::LoggedInElsewhere);
            }
            let gate = self.run.address.gate.read().unwrap();
            let asks = visitor.next(&mut self.random, self.run.address.process());
            self.exchange(&mut visitor, asks, *gate);
            drop(gate);
            self.visitors.push(visitor);
        }
        for visitor in std::mem::take(&mut self.visitors) {
            self.settle(visitor);
        }
    }

    /// Reads until the visitor sees the own page after a log-in elsewhere: Kasoku must not take such a visitor for anonymous for ever.
    fn settle(&mut self, mut visitor: Visitor) {
        let begun = Instant::now();
        while let Some(ask) = visitor.doubt() {
            if self.run.is_over.load(Relaxed) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                return self
                    .run
                    .report
                    .mistake(format!("never: visitor {} is taken for anonymous still", visitor.number));
            }
            std::thread::sleep(LOOK_INTERVAL);
            let gate = self.run.address.gate.read().unwrap();
            self.exchange(&mut visitor, vec![ask], *gate);
        }
    }

    /// Sends all requests, each on a connection of its own, and then reads the answers in the same order.
    fn exchange(&mut self, visitor: &mut Visitor, mut asks: Vec<Ask>, address: SocketAddr) {
        let hand_overs = self.run.address.hand_overs.load(Relaxed);
        let first = self.random.below(CONNECTIONS);
        for (ask, place) in asks.iter_mut().zip(first..) {
            if let Expected::Page(Page { kind: Kind::SometimesMembersOnly, number }) = ask.expected {
                ask.oldest_version = self.run.ledger.oldest_version(ask.site, number);
            }
            self.send(ask, address, (place % CONNECTIONS) as usize);
        }
        let count = asks.len();
        for (index, (ask, place)) in asks.iter_mut().zip(first..).enumerate() {
            self.run.asked.fetch_add(1, Relaxed);
            match self.receive(ask, (place % CONNECTIONS) as usize) {
                Ok(answer) => {
                    let now = self.run.address.hand_overs.load(Relaxed);
                    ask.is_handed_over = now != hand_overs || !now.is_multiple_of(2);
                    self.judge(visitor, ask, &answer, index + 1 < count);
                }
                Err(why) => self.run.report.mistake(format!("no answer: {why}\n{ask:?}")),
            }
        }
    }

    fn judge(&self, visitor: &mut Visitor, ask: &Ask, answer: &Answer, is_beside: bool) {
        for wrong in check(ask, answer, &self.run.ledger) {
            let (status, fields, before) = (answer.head.status, &answer.head.fields.0, visitor.history());
            self.run.report.mistake(format!("{wrong}\n{ask:?}\n{status} {fields:?}\nbefore:\n{before}"));
        }
        self.run.report.note(ask, answer);
        visitor.learn(ask, answer, is_beside);
    }

    fn send(&mut self, ask: &Ask, address: SocketAddr, place: usize) {
        let start = self.run.address.starts.load(Relaxed);
        let connection = self.connections[place].take_if(|connection| connection.start == start);
        let connection = connection.unwrap_or_else(|| Connection { stream: connect(address), start });
        // A request that can't be sent gets no answer, and `receive` reports that.
        let _ = (&connection.stream).write_all(ask.bytes().as_bytes());
        self.connections[place] = Some(connection);
    }

    fn receive(&mut self, ask: &Ask, place: usize) -> Result<Answer, String> {
        let connection = self.connections[place].take().ok_or("no connection")?;
        let mut reader = Reader::new(&connection.stream);
        let head = reader.response().map_err(|trouble| format!("{trouble:?}"))?.ok_or("closed")?;
        let mut body = Vec::new();
        let length = match head.status {
            304 => Length::Bytes(0),
            _ if ask.method == "HEAD" => Length::Bytes(0),
            _ => head.fields.framing().map_err(|trouble| format!("{trouble:?}"))?.ok_or("no framing")?,
        };
        let read = reader.body(length, &mut body, &mut |_| true);
        read.map_err(|trouble: Trouble| format!("{trouble:?} in the body"))?;
        if reader.has_more() {
            return Err("more came than was asked for".to_owned());
        }
        if !head.fields.lists("connection", "close") {
            self.connections[place] = Some(connection);
        }
        Ok(Answer { head, body })
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A visitor with the session of its [`InitialSession`].
fn arrive(run: &Run, number: usize) -> Visitor {
    let mut visitor = Visitor::new(number);
    let before = match Habit::of(number).1 {
        InitialSession::Nothing => return visitor,
        InitialSession::Empty => (run.application.session_of(None), None),
        InitialSession::LoggedIn => (run.application.session_of(Some(number)), Some(number)),
        InitialSession::Forgotten => (run.application.forgotten(), None),
    };
    visitor.with_session(before.0, before.1, Habit::of(number).1 != InitialSession::Forgotten);
    visitor
}
