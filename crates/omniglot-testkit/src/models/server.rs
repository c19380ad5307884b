//! Serves the routes of a wire on a free port of loopback.
//!
//! It runs on a thread of its own, so that a test that blocks does not block its model.

use std::convert::Infallible;

use axum::Router;
use tokio::sync::oneshot;

pub(crate) struct Server {
    port: u16,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(routes: Router) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || serve(listener, routes, stopped));
        Self { port, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

fn serve(listener: std::net::TcpListener, routes: Router, stopped: oneshot::Receiver<Infallible>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket that does not block");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        tokio::select! {
            served = axum::serve(listener, routes) => served.expect("the server runs"),
            // The sender is dropped at the end of the test; open streams end with the runtime.
            _ = stopped => {}
        }
    });
}
