//! Requests under way between us and an agent. The two sides count their ids apart, so there are two tables.
//!
//! The ids are those of the protocol: of JSON-RPC, or plain text.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;

use omniglot_schema::{PermissionOption, PermissionReply, PermissionStatus, ResolvedBy};

use crate::contract::{Command, Draft, RequestKey};

/// Our requests to an agent: their ids, and the purpose of each that waits for its answer.
///
/// A request is recorded when it was really sent, so that a recording fills the table as a real run does.
#[derive(Debug)]
pub(crate) struct OutboundRequests<Id, T> {
    /// The prefix of the numbers on a shared connection.
    prefix: Option<String>,
    last: u64,
    open: HashMap<Id, T>,
}

/// An id that we give to a request of ours.
pub(crate) trait RequestId: Eq + Hash {
    fn numbered(prefix: Option<&str>, number: u64) -> Self;
}

impl RequestId for String {
    fn numbered(prefix: Option<&str>, number: u64) -> Self {
        prefix.map_or_else(|| number.to_string(), |prefix| format!("{prefix}.{number}"))
    }
}

impl<Id, T> Default for OutboundRequests<Id, T> {
    fn default() -> Self {
        Self { prefix: None, last: 0, open: HashMap::new() }
    }
}

impl<Id: RequestId, T> OutboundRequests<Id, T> {
    /// Renumbers from now on for a shared connection: `prefix` is unique on it.
    pub(crate) fn number_anew(&mut self, prefix: &str) {
        self.prefix = Some(prefix.to_owned());
        self.last = 0;
    }

    pub(crate) fn next_id(&mut self) -> Id {
        self.last += 1;
        Id::numbered(self.prefix.as_deref(), self.last)
    }

    pub(crate) fn sent(&mut self, id: Id, purpose: T) {
        self.open.insert(id, purpose);
    }

    /// Returns the purpose of the answered request; `None` for an unknown id.
    pub(crate) fn answered<Q: ?Sized + Eq + Hash>(&mut self, id: &Q) -> Option<T>
    where
        Id: std::borrow::Borrow<Q>,
    {
        self.open.remove(id)
    }

    pub(crate) fn purposes(&self) -> impl Iterator<Item = &T> {
        self.open.values()
    }
}

/// An agent's requests that wait for our answer, in the order in which they came.
#[derive(Debug)]
pub(crate) struct InboundRequests<Id, T> {
    pub(crate) open: Vec<InboundRequest<Id, T>>,
    /// The number of requests so far: keys stay unique when an agent repeats its ids.
    made: u64,
}

#[derive(Debug)]
pub(crate) struct InboundRequest<Id, T> {
    pub(crate) key: RequestKey,
    pub(crate) id: Id,
    pub(crate) details: T,
    /// The reply, until the answer is sent. A recording holds the answer alone.
    pub(crate) reply: Option<Reply>,
}

/// The reply that the runtime has commanded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// With the person's words.
    Permission(PermissionReply, Option<String>),
    Answers(Option<Vec<Vec<String>>>),
    /// The request was resolved without an answer: the agent must not wait for one.
    Withdrawal,
}

/// The facts of a request that its answer needs.
pub(crate) trait RequestDetails {
    /// Whether it is answered with words; else it is a permission.
    fn is_question(&self) -> bool;
}

impl<Id, T> Default for InboundRequests<Id, T> {
    fn default() -> Self {
        Self { open: Vec::new(), made: 0 }
    }
}

impl<Id: Display, T: RequestDetails> InboundRequests<Id, T> {
    pub(crate) fn add(&mut self, id: Id, details: T) -> RequestKey {
        self.made += 1;
        let key = RequestKey(format!("{}:{id}", self.made));
        self.open.push(InboundRequest { key: key.clone(), id, details, reply: None });
        key
    }

    /// Remembers the reply of a command; `None` if its request is not open, or is of another kind.
    pub(crate) fn reply(&mut self, command: &Command) -> Option<&InboundRequest<Id, T>> {
        let (key, reply) = Reply::of(command)?;
        let fits = |details: &T| match reply {
            Reply::Permission(..) => !details.is_question(),
            Reply::Answers(_) => details.is_question(),
            Reply::Withdrawal => true,
        };
        let open = self.open.iter_mut().find(|open| open.key == *key && fits(&open.details))?;
        open.reply = Some(reply);
        Some(open)
    }

    pub(crate) fn get_mut<Q: ?Sized>(&mut self, id: &Q) -> Option<&mut InboundRequest<Id, T>>
    where
        Id: PartialEq<Q>,
    {
        self.open.iter_mut().find(|open| open.id == *id)
    }

    pub(crate) fn is_open<Q: ?Sized>(&self, id: &Q) -> bool
    where
        Id: PartialEq<Q>,
    {
        self.open.iter().any(|open| open.id == *id)
    }

    /// Removes a request that was answered, or needs no answer any more.
    pub(crate) fn take<Q: ?Sized>(&mut self, id: &Q) -> Option<InboundRequest<Id, T>>
    where
        Id: PartialEq<Q>,
    {
        let place = self.open.iter().position(|open| open.id == *id)?;
        Some(self.open.remove(place))
    }
}

impl<Id, T: RequestDetails> InboundRequest<Id, T> {
    /// Resolves a permission. The person's own words count before those on the wire.
    pub(crate) fn permission(
        &self,
        status: PermissionStatus,
        by: ResolvedBy,
        words: Option<String>,
    ) -> Draft {
        let message = match &self.reply {
            Some(Reply::Permission(_, message)) => message.clone(),
            _ => words,
        };
        Draft::PermissionResolved { key: self.key.clone(), status, by, message }
    }

    /// Returns the status of a permission that was sent as this one: a person's `always` is a grant of ours, also
    /// where the agent was told `once`.
    pub(crate) fn granted(&self, sent: PermissionStatus) -> PermissionStatus {
        match (&self.reply, sent) {
            (Some(Reply::Permission(PermissionReply::Always, _)), PermissionStatus::Accept) => {
                PermissionStatus::AcceptForSession
            }
            (_, sent) => sent,
        }
    }

    pub(crate) fn question(&self, answers: Option<Vec<Vec<String>>>, by: ResolvedBy) -> Draft {
        Draft::QuestionResolved { key: self.key.clone(), answers, by }
    }

    /// Resolves a request that nobody answers any more.
    pub(crate) fn rejected(&self, by: ResolvedBy) -> Draft {
        if self.details.is_question() {
            return self.question(None, by);
        }
        let (key, status) = (self.key.clone(), PermissionStatus::Reject);
        Draft::PermissionResolved { key, status, by, message: None }
    }

    /// Returns who resolved the request with the answer that was sent.
    pub(crate) fn answered_by(&self) -> ResolvedBy {
        if self.reply == Some(Reply::Withdrawal) { ResolvedBy::Cancel } else { ResolvedBy::Person }
    }
}

impl Reply {
    fn of(command: &Command) -> Option<(&RequestKey, Self)> {
        match command {
            Command::ReplyPermission { key, reply, message } => {
                Some((key, Self::Permission(*reply, message.clone())))
            }
            Command::ReplyQuestion { key, answers } => Some((key, Self::Answers(answers.clone()))),
            Command::Withdraw { key } => Some((key, Self::Withdrawal)),
            Command::Open(_)
            | Command::Configure(_)
            | Command::Prompt(_)
            | Command::Rename { .. }
            | Command::Cancel
            | Command::Close => None,
        }
    }
}

/// Returns the options of a permission, each with id and name: to allow it once, to allow it always, to reject it.
pub(crate) fn options(options: [(&str, &str); 3]) -> Vec<PermissionOption> {
    let kinds = ["allow_once", "allow_always", "reject_once"];
    let option = |((id, name), kind): ((&str, &str), &str)| PermissionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    };
    options.into_iter().zip(kinds).map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Permission;

    impl RequestDetails for Permission {
        fn is_question(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_reply_that_fits_its_request_is_kept_until_the_answer_is_sent() {
        let mut requests = InboundRequests::<String, Permission>::default();
        let key = requests.add("ui".to_owned(), Permission);
        assert!(requests.reply(&Command::ReplyQuestion { key: key.clone(), answers: None }).is_none());
        let (reply, message) = (PermissionReply::Always, Some("mine".to_owned()));
        let command = Command::ReplyPermission { key: key.clone(), reply, message: message.clone() };
        assert!(requests.reply(&command).is_some());
        let open = requests.take("ui").unwrap();
        let (status, by) = (open.granted(PermissionStatus::Accept), ResolvedBy::Person);
        assert_eq!(status, PermissionStatus::AcceptForSession);
        let resolved = Draft::PermissionResolved { key, status, by, message };
        assert_eq!(open.permission(status, by, Some("on the wire".to_owned())), resolved);
        assert!(requests.take("ui").is_none());
    }
}
