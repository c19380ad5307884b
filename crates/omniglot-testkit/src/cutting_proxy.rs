//! A TCP proxy that cuts connections at random points, or does not answer them: the network that clients must
//! survive. Its address stays when the daemon behind it is started again at another one.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Of so many connections one is not answered; it ends with the next such one. Chromium has six connections to a host,
/// and no page can end a preflight request: six that are never answered would be the end of its network.
const SILENT: u64 = 32;
/// A connection is cut after at most so many bytes of answers.
const LONGEST: u64 = 8_000;

pub struct CuttingProxy {
    pub url: String,
    inner: Arc<Inner>,
}

struct Inner {
    target: Mutex<String>,
    cuts: AtomicUsize,
}

impl CuttingProxy {
    /// Starts before the daemon at `url`; the points of the cuts follow from `seed`.
    pub fn start(url: &str, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let inner = Arc::new(Inner { target: Mutex::new(address_of(url)), cuts: AtomicUsize::new(0) });
        let serving = Arc::clone(&inner);
        thread::spawn(move || serving.serve(&listener, seed));
        Self { url: format!("http://{address}"), inner }
    }

    /// Sends new connections to another daemon.
    pub fn point_at(&self, url: &str) {
        *self.inner.target.lock().expect("no panic") = address_of(url);
    }

    /// The number of connections that were cut so far.
    pub fn cuts(&self) -> usize {
        self.inner.cuts.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn serve(self: &Arc<Self>, listener: &TcpListener, seed: u64) {
        let mut random = seed | 1;
        let mut silent = None;
        for client in listener.incoming().map_while(Result::ok) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if random.is_multiple_of(SILENT) {
                drop(silent.replace(client));
                continue;
            }
            let (inner, budget) = (Arc::clone(self), random / SILENT % LONGEST);
            thread::spawn(move || inner.pass(&client, budget));
        }
    }

    /// Passes bytes both ways until `budget` bytes of answers have gone through.
    fn pass(&self, client: &TcpStream, budget: u64) {
        let target = self.target.lock().expect("no panic").clone();
        let Ok(server) = TcpStream::connect(target) else {
            let _ = client.shutdown(Shutdown::Both);
            return;
        };
        let (mut from, mut to) =
            (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        if copy(&server, client, budget) == budget {
            self.cuts.fetch_add(1, Ordering::Relaxed);
        }
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    }
}

/// Passes at most `budget` bytes on as they come, and returns how many.
fn copy(mut from: &TcpStream, mut to: &TcpStream, budget: u64) -> u64 {
    let (mut passed, mut buffer) = (0, [0; 2048]);
    while passed < budget {
        let room = usize::try_from(budget - passed).map_or(buffer.len(), |room| room.min(buffer.len()));
        let Some(space) = buffer.get_mut(..room) else { break };
        let Ok(count @ 1..) = from.read(space) else { break };
        if to.write_all(space.get(..count).unwrap_or_default()).is_err() {
            break;
        }
        passed += count as u64;
    }
    passed
}

fn address_of(url: &str) -> String {
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}
