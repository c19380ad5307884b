//! The table of words and the parser that reads it.

use crate::mock_agent::words::{Step, WORDS, list, parse};

fn names(prompt: &str) -> Vec<String> {
    let steps = parse(prompt).into_iter().map(|step| match step {
        Step::Play(word, number) => format!("{} {number}", word.shape()),
        Step::Unknown(word) => format!("unknown {word}"),
    });
    steps.collect()
}

#[test]
fn words_are_found_in_their_order_with_their_numbers() {
    assert_eq!(
        names("do [[text]] then [[flood:12]], [[shell:fail]]"),
        ["[[text]] 0", "[[flood:N]] 12", "[[shell:fail]] 0"]
    );
}

#[test]
fn what_is_no_word_is_told_and_what_cannot_be_one_is_ignored() {
    assert_eq!(
        names("[[flood]] [[flood:x]] [[text:99999999999]]"),
        ["unknown flood", "unknown flood:x", "unknown text:99999999999"]
    );
    assert!(names("if [[ -f x ]]; then [[]] [[open").is_empty());
}

#[test]
fn a_slash_command_is_the_word_of_that_name() {
    assert_eq!(names("/recall now"), ["[[recall]] 0"]);
    assert!(names("/etc/passwd is a file").is_empty());
    assert!(names("/crash").is_empty());
}

#[test]
fn the_list_mentions_every_word_once_and_each_plays_itself() {
    let list = list();
    for word in WORDS {
        let shape = word.shape();
        assert_eq!(list.matches(&format!("  {shape} ")).count(), 1, "{shape}");
        let written = shape.replace(":N", ":1").replace(":MS", ":1").replace(":BYTES", ":1");
        let [Step::Play(found, _)] = parse(&written)[..] else { panic!("{written} is no word") };
        assert_eq!(found.shape(), shape);
    }
}
