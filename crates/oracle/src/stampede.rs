//! Crowds: several clients want one page that is not stored; meanwhile the page is purged, or changed by a POST.
//!
//! Random traffic alone hardly ever meets a fill at the moment when it is invalidated. Here that happens all the time: half of the
//! crowd asks before the invalidation and may get the old version; half asks when the invalidation is known to be done, while the
//! fill may still be running, and must not get it.

use crate::ask::ClientRequest;
use crate::page::Page;
use crate::report::Count;
use crate::traffic::{Client, ConnectionMode};
use crate::wire::Reader;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// How many clients ask before the invalidation, and how many after it.
const HALF: usize = 3;
const SILENCE_MAX: Duration = Duration::from_secs(25);

impl Client<'_> {
    /// Runs one crowd after the other, until the world ends.
    pub fn run_crowds(mut self) {
        while !self.world.is_over() {
            let page = ClientRequest::any(self.world, &mut self.random, &self.seen, true).page;
            if self.crowd(page).is_err() {
                return self.report.mistake("no connection for a crowd".to_owned());
            }
            self.governor.pause();
        }
    }

    fn crowd(&mut self, page: &Page) -> std::io::Result<()> {
        let sockets: std::io::Result<Vec<TcpStream>> = (0..2 * HALF).map(|_| self.connect()).collect();
        let sockets = sockets?;
        self.purge(page);
        let mut asks: Vec<ClientRequest<'_>> = Vec::new();
        for (number, mut socket) in sockets.iter().enumerate() {
            if number == HALF {
                std::thread::sleep(Duration::from_micros(self.random.below(6_000)));
                if self.random.percent(50) { self.purge(page) } else { self.post(page)? }
            }
            let mut ask = ClientRequest::plain(self.world, page);
            // Most requests are the same, so that they share one fill; some differ.
            if self.random.percent(20) {
                (ask.language, ask.takes_gzip) = (self.random.below(4) as u8, self.random.percent(50));
                ask.visitor = self.random.of(&[0, 1, 2, 11]);
            }
            self.count_request(&ask, ConnectionMode::default());
            // A failed connection shows when the answer is read.
            let _ = socket.write_all(&ask.bytes());
            asks.push(ask);
        }
        for (socket, ask) in sockets.iter().zip(&asks) {
            self.response(&mut Reader::new(socket), ask, ConnectionMode::default(), None);
        }
        Ok(())
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpStream::connect(self.address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        self.report.count(Count::Connection);
        Ok(socket)
    }

    fn post(&mut self, page: &Page) -> std::io::Result<()> {
        let mut socket = self.connect()?;
        let ask = ClientRequest { method: "POST", upload: Some((0, false)), ..ClientRequest::plain(self.world, page) };
        self.count_request(&ask, ConnectionMode::default());
        let _ = socket.write_all(&ask.bytes());
        self.response(&mut Reader::new(&socket), &ask, ConnectionMode::default(), None);
        Ok(())
    }

    /// Changes a page and purges it: a request that is sent after that may not get an older version.
    pub fn purge(&self, page: &Page) {
        self.world.note_invalidation(page.number);
        let (version, _) = self.world.change(page.number);
        let cache = self.engine.cache();
        let _ = cache.invalidate(&cache.key(format!("http://{}{}", page.host, page.target)));
        self.world.raise_floor(page.number, version);
        self.report.count(Count::Purge);
    }
}
