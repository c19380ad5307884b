//! The daemon's messages in the words of the command line: it speaks of members and routes of its API, where people
//! here have flags and commands.

/// Each word of the API, and the one that is typed. A longer one comes before a shorter one that it contains.
const WORDS: [(&str, &str); 7] = [
    ("`force` (`--force-model`)", "`--force-model`"),
    ("`force`", "`--force`"),
    ("unrevert brings this one back", "`--undo` then brings this one back"),
    ("`turn.started` events name the turns", "`omniglot sessions turns ID` lists them"),
    ("send a message with delivery `queue`", "wait until it has ended"),
    ("q has no word", "TEXT has no word"),
    ("`agentVersion`", "the version"),
];

pub(crate) fn in_flags(message: &str) -> String {
    WORDS.iter().fold(message.to_owned(), |message, (api, typed)| message.replace(api, typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_api_become_flags() {
        let told = in_flags("use one of: a; `force` (`--force-model`) passes any other name");
        assert_eq!(told, "use one of: a; `--force-model` passes any other name");
        assert_eq!(in_flags("`force` restores it all the same"), "`--force` restores it all the same");
        assert_eq!(in_flags("no turn x"), "no turn x");
    }
}
