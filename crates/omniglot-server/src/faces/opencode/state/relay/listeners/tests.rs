//! Tests of a stream that opens while a turn runs, and of which streams count as listening.

use futures_util::FutureExt as _;

use super::*;
use crate::faces::opencode::state::fixture::{DIRECTORY, Fixture, kinds};

#[tokio::test]
async fn a_turn_that_begins_and_ends_while_a_stream_is_opened_is_heard_whole() {
    let fixture = Fixture::start().await;
    let session = fixture.session("s").await;
    let mut reader = fixture.relay.enter(&Form::Global);
    fixture.turn_starts(&session, 1).await;
    fixture.turn_ends(&session, 1).await;
    fixture.relay.start_with(&mut reader, &session.id).await.unwrap();
    fixture.relay.open(&reader);
    fixture.relay.tell_from(session.no, 1).await.unwrap();
    let heard = kinds(&reader.ready(usize::MAX).unwrap());
    assert_eq!(heard.first().map(String::as_str), Some("session.status"), "{heard:?}");
    assert!(heard.iter().any(|kind| kind == "session.idle"), "{heard:?}");
}

#[tokio::test]
async fn a_turn_that_ends_after_a_stream_is_open_is_heard_once() {
    let fixture = Fixture::start().await;
    let session = fixture.session("s").await;
    let mut reader = fixture.relay.enter(&Form::Global);
    fixture.turn_starts(&session, 1).await;
    fixture.relay.start_with(&mut reader, &session.id).await.unwrap();
    fixture.relay.open(&reader);
    fixture.turn_ends(&session, 1).await;
    fixture.relay.tell_from(session.no, 1).await.unwrap();
    let mut heard = kinds(&reader.next(usize::MAX).await.unwrap());
    assert_eq!(heard, ["session.status"], "the initial_state says that it works");
    heard.extend(kinds(&reader.ready(usize::MAX).unwrap()));
    let count = |wanted: &str| heard.iter().filter(|kind| *kind == wanted).count();
    assert_eq!((count("session.status"), count("session.idle")), (2, 1), "{heard:?}");
}

#[tokio::test]
async fn only_an_open_stream_of_the_directory_is_an_audience() {
    let fixture = Fixture::start().await;
    let is_there = || fixture.relay.audience(DIRECTORY).now_or_never().is_some();
    assert!(!is_there());
    let _elsewhere = fixture.relay.join(&fixture.relay.hub, &Form::One("/elsewhere".into())).await.unwrap();
    assert!(!is_there(), "that stream shows another directory");
    let reader = fixture.relay.enter(&Form::One(DIRECTORY.into()));
    assert!(!is_there(), "that stream is still being opened");
    fixture.relay.open(&reader);
    assert!(is_there());
    drop(reader);
    assert!(!is_there());
}
