//! The known names that somebody may have meant by a name that does not exist.

/// So many suggestions are read; more are a list.
const MOST: usize = 3;

/// Names that are shorter are part of too many others.
const PART: usize = 3;

/// Returns the names that are near enough to what was written, the nearest first.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = written.to_lowercase();
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|name| Some((difference(&written, name)?, name))).collect();
    near.sort_unstable();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Returns the question whether one of the nearest names was meant, to be put behind the message; else nothing.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(written, known).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [most @ .., last] => format!("; did you mean {} or {last}?", most.join(", ")),
    }
}

/// How many letters must be changed, added, left out or exchanged with the next one, if those are few or the name
/// contains what was written. The provider before a `/` may have been left out.
fn difference(written: &str, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let model = name.rsplit('/').next().unwrap_or_default();
    let letters = [name.as_str(), model].map(|name| strsim::osa_distance(written, name));
    let letters = letters.into_iter().min()?;
    let length = written.chars().count();
    let contains = length >= PART && name.contains(written);
    (letters <= length.div_ceil(3) || contains).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_guessed() {
        let known = ["default_agent", "listen", "limits", "agents", "sandbox"];
        for (written, meant) in [
            ("default_agnet", "default_agent"),
            ("agent", "agents"),
            ("limit", "limits"),
            ("sand_box", "sandbox"),
            ("Listen", "listen"),
        ] {
            assert_eq!(nearest(written, known).first(), Some(&meant), "{written}");
        }
        for written in ["colour", "x", ""] {
            assert_eq!(nearest(written, known), [""; 0], "{written}");
        }
    }

    #[test]
    fn a_part_of_a_name_and_a_name_without_its_provider_are_enough() {
        let known = ["anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5", "openai/gpt-5.5"];
        assert_eq!(did_you_mean("haiku", known), "; did you mean anthropic/claude-haiku-4-5?");
        assert_eq!(nearest("gtp-5.5", known), ["openai/gpt-5.5"]);
        let two = "; did you mean anthropic/claude-haiku-4-5 or anthropic/claude-sonnet-4-5?";
        assert_eq!(did_you_mean("anthropic", known), two);
        assert_eq!(did_you_mean("llama", known), "");
    }
}
