//! Sessions that go on while the screen shows them.

use serde_json::json;

use crate::browser::Screen;

#[test]
fn a_person_creates_watches_answers_cancels_queues_and_inspects() {
    Screen::open().play("walk.mjs", json!({}));
}

#[test]
fn of_two_people_who_answer_at_once_the_slower_one_is_told_who_was_faster() {
    Screen::open().play("race.mjs", json!({}));
}

#[test]
fn a_daemon_that_is_killed_in_mid_turn_leaves_the_page_with_the_words_of_the_log() {
    Screen::open().play("restart.mjs", json!({}));
}

#[test]
fn a_token_a_session_or_a_log_that_ends_is_told_plainly() {
    Screen::open().play("ending.mjs", json!({}));
}

#[test]
fn what_comes_while_a_list_is_on_its_way_is_neither_lost_nor_revived() {
    Screen::open().play("meanwhile.mjs", json!({}));
}

#[test]
fn the_keyboard_alone_walks_searches_and_answers_only_what_is_meant() {
    Screen::open().play("keys.mjs", json!({}));
}

#[test]
fn a_tab_has_one_stream_and_follows_all_sessions_while_it_is_hidden() {
    Screen::open().play("stream.mjs", json!({}));
}

#[test]
fn a_person_sets_steers_compacts_reverts_and_forks() {
    Screen::open().play("drive.mjs", json!({}));
}
