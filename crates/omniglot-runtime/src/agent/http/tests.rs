//! The bridge against small servers that do what a real one never does.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

fn address(server: &tokio::net::TcpListener, line_cap: usize) -> Address {
    let base = format!("http://{}", server.local_addr().unwrap());
    let (client, password) = (reqwest::Client::builder().no_proxy().build().unwrap(), "secret".to_owned());
    Address { client, base, user: "us", password, events_path: "/event", line_cap }
}

async fn server() -> tokio::net::TcpListener {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Takes the next request, whatever it asks, and says this.
async fn answer(server: &tokio::net::TcpListener, text: &str) -> TcpStream {
    let (mut socket, _) = server.accept().await.unwrap();
    let mut request = [0; 4096];
    assert!(socket.read(&mut request).await.unwrap() > 0);
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

async fn ask(address: &Address) -> omniglot_agents::http::Answer {
    let request = r#"{"request":{"id":"1","method":"GET","path":"/x"}}"#;
    let ToServer::Request(request) = ToServer::parse(serde_json::from_str(request).unwrap()).unwrap() else {
        panic!("a request")
    };
    match request::send(address, request).await {
        FromServer::Answer(answer) => answer,
        other => panic!("an answer: {other:?}"),
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read_to_its_end() {
    let server = server().await;
    let address = address(&server, 8);
    // It says nothing of its length and never ends.
    let endless = "HTTP/1.1 200 OK\r\n\r\n[1,2,3,4,5,6";
    let (_open, told) = tokio::join!(answer(&server, endless), ask(&address));
    assert_eq!(told.status, None);
    assert_eq!(
        told.body.get(),
        r#""the answer is longer than the 8 bytes that `limits.max_line_bytes` allows""#
    );
    let (_open, told) =
        tokio::join!(answer(&server, "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n[1,2,3]"), ask(&address));
    assert_eq!((told.status, told.body.get()), (Some(200), "[1,2,3]"));
}

#[tokio::test]
async fn a_stream_that_nobody_wants_any_more_is_closed_and_opened_anew_for_the_next() {
    let server = server().await;
    let limits = Limits::default();
    let (queue, mut lines) = line_queue(&limits);
    let out = Out { queue, mask: Mask::hiding("secret".to_owned()) };
    let mut bridge =
        Bridge { address: address(&server, 64), out, streams: HashMap::new(), tasks: JoinSet::new() };
    let listen = Bytes::from_static(br#"{"listen":{"directory":"/w"}}"#);
    for _ in 0..2 {
        bridge.carry_out(&listen).await;
        let mut stream = answer(&server, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
        let opened = lines.recv().await.unwrap();
        assert_eq!(opened, [Line::Whole(r#"{"stream":{"directory":"/w","state":"open"}}"#.into())]);
        bridge.carry_out(&Bytes::from_static(br#"{"leave":{"directory":"/w"}}"#)).await;
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0, "the connection is closed");
    }
}

#[tokio::test]
async fn our_password_is_hidden_in_all_that_the_server_says() {
    let (queue, mut lines) = line_queue(&Limits::default());
    let out = Out { queue, mask: Mask::hiding("0123456789abcdef".to_owned()) };
    out.lines(vec![Line::Whole("PASSWORD=0123456789abcdef".into())]).await;
    assert_eq!(lines.recv().await.unwrap(), [Line::Whole("PASSWORD=***".into())]);
}

#[test]
fn a_port_is_taken_only_while_somebody_listens_on_it() {
    let somebody = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = somebody.local_addr().unwrap().port();
    assert!(is_taken(port));
    drop(somebody);
    assert!(!is_taken(port));
}
