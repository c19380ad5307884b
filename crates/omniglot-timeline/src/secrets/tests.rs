//! A secret is found in every form in which agents write it, and nothing else is.

use proptest::prelude::*;

use super::*;

fn secrets() -> Secrets {
    Secrets::new(
        ["hush\"hush-1", "hush\"hush-1-longer", "back\\slash\\", "schlüssel🔑end"].map(str::to_owned),
    )
}

fn masked(text: &str) -> String {
    secrets().mask(text).unwrap_or_else(|| text.to_owned())
}

#[test]
fn a_secret_is_hidden_plain_and_escaped_once_or_more() {
    assert_eq!(masked("key hush\"hush-1!"), "key ***!");
    assert_eq!(masked(r#"key hush\"hush-1!"#), "key ***!");
    assert_eq!(masked(r#"key hush\\\"hush-1!"#), "key ***!");
    assert_eq!(masked(r"\u0068\u0075sh\u0022hush\u002d1"), "***");
    assert_eq!(masked(r"\\u0068ush\\\u0022hush-1"), "***");
    assert_eq!(masked(r"a schl\u00FCssel\ud83d\udd11end"), "a ***");
    assert_eq!(masked(r"back\\slash\\."), "***.");
}

#[test]
fn the_longest_of_several_secrets_counts() {
    assert_eq!(masked("hush\"hush-1-longer hush\"hush-1-long"), "*** ***-long");
}

#[test]
fn a_text_without_secrets_stays_as_it_is() {
    for text in ["nothing here", r"hush\nhush-1", r"\u0068ush", "", "\\", r"\u", "hush\"hush-"] {
        assert_eq!(secrets().mask(text), None, "{text}");
    }
}

#[test]
fn a_line_of_json_stays_json() {
    let secrets = Secrets::new(["newline99".to_owned(), "0061bcdefgh".to_owned()]);
    let line = br#"{"a":"\newline99","b":"\u0061bcdefgh","c":"\u006eewline99","d":"newline99"}"#;
    let masked = secrets.mask_line(line).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&masked).unwrap();
    assert_eq!(json, serde_json::json!({"a": "\newline99", "b": "abcdefgh", "c": "***", "d": "***"}));
    assert_eq!(secrets.mask_line(b"no json \\newline99").unwrap(), b"no json \\***");
    assert_eq!(secrets.mask_line(br#"{"a":"\"plain\""}"#), None);
}

#[test]
fn the_values_are_never_printed() {
    assert_eq!(format!("{:?}", secrets()), "Secrets(4)");
}

/// One character as an agent may write it.
fn spelled(c: char, how: u8) -> String {
    let mut units = [0; 2];
    match how {
        0 | 1 => c.to_string(),
        2 => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        _ => c.encode_utf16(&mut units).iter().map(|unit| format!("\\\\u{unit:04X}")).collect(),
    }
}

proptest! {
    /// However a text is cut, its pieces are masked as the whole is.
    #[test]
    fn pieces_are_masked_as_the_whole(
        around in prop::collection::vec(("[a-h \\\\\"sun0-9]{0,12}", 0usize..4), 1..4),
        spelling in prop::collection::vec(0u8..4, 1..8),
        cuts in prop::collection::vec(1usize..6, 1..40),
    ) {
        let values = ["hush\"hush-1", "hush\"hush-1-longer", "schlüssel🔑end", ""];
        let mut text = String::new();
        for (words, which) in &around {
            text.push_str(words);
            let how = spelling.iter().cycle();
            let secret: String = values[*which].chars().zip(how).map(|(c, how)| spelled(c, *how)).collect();
            text.push_str(&secret);
        }
        let secrets = secrets();
        let whole = secrets.mask(&text).unwrap_or_else(|| text.clone());
        let chars: Vec<char> = text.chars().collect();
        let (mut shown, mut held, mut at) = (String::new(), String::new(), 0);
        for size in cuts.iter().cycle() {
            if at >= chars.len() {
                break;
            }
            let piece: String = chars[at..chars.len().min(at + size)].iter().collect();
            at += size;
            let (now, later) = secrets.split(held + &piece);
            shown.push_str(&now);
            held = later;
        }
        shown.push_str(&secrets.mask(&held).unwrap_or(held));
        prop_assert_eq!(&shown, &whole);
        for value in values.iter().filter(|value| !value.is_empty()) {
            prop_assert!(!whole.contains(value), "{}", whole);
        }
    }
}
