//! The folders of recordings.

/// Returns the agent that a folder is named after; the name goes on with a version where there are several.
pub fn agent_of<'a>(folder: &str, agents: impl Iterator<Item = &'a str>) -> &'a str {
    let is_of =
        |id: &&str| folder.strip_prefix(*id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    agents.filter(is_of).max_by_key(|id| id.len()).expect("an agent of the folder's name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_the_longest_name_that_it_begins_with() {
        let agents = ["claude", "claude-acp", "cla"];
        for (folder, agent) in
            [("claude", "claude"), ("claude-2.1.325", "claude"), ("claude-acp-0.99", "claude-acp")]
        {
            assert_eq!(agent_of(folder, agents.into_iter()), agent);
        }
    }
}
