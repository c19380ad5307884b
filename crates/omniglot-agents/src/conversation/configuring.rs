//! A change of settings that takes several requests: it ends with the last answer, and keeps the first refusal.

use std::collections::HashSet;

use crate::contract::{Output, Refusal};

#[derive(Debug, Default)]
pub(crate) struct Configuring {
    waiting: HashSet<String>,
    refused: Option<Refusal>,
}

impl Configuring {
    /// A request of this id is a part of the change.
    pub(crate) fn wait_for(&mut self, id: String) {
        self.waiting.insert(id);
    }

    /// Takes an answer; returns whether it was the last one.
    pub(crate) fn answered(&mut self, id: &str, refused: Option<Refusal>) -> bool {
        self.refused = self.refused.take().or(refused);
        self.waiting.remove(id) && self.waiting.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the answer to the command that began the change.
    pub(crate) fn end(self) -> Output {
        Output::configured(self.refused.map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{CommandAnswer, RefusalKind};

    #[test]
    fn a_change_ends_with_its_last_answer_and_tells_the_first_refusal() {
        let refusal = |message: &str| {
            Some(Refusal { kind: RefusalKind::BadMode, message: message.to_owned(), hint: None })
        };
        let mut change = Configuring::default();
        assert!(change.is_over());
        for id in ["1", "2", "3"] {
            change.wait_for(id.to_owned());
        }
        assert!(!change.answered("1", refusal("first")));
        assert!(!change.answered("2", refusal("second")) && !change.answered("2", None));
        assert!(!change.is_over() && change.answered("3", None) && change.is_over());
        assert!(matches!(
            change.end(),
            Output::Answer(CommandAnswer::Configured(Err(refused))) if refused.message == "first"
        ));
    }
}
