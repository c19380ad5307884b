//! Permissions and questions: each asked once, resolved once (T10 to T12).

use omniglot_schema::{
    EventData, ItemId, PermissionEventData, PermissionId, PermissionStatus, QuestionEventData, QuestionId,
    QuestionStatus, RequestMetadata, ResolvedBy, StopReason,
};

use super::fates::Slot;
use super::{Effect, Emitted, Replier, Stamp, Timeline};
use crate::draft::{
    CallStart, DropReason, ItemKey, Origin, Outcome, PermissionAsk, QuestionAsk, RequestKey, Ruled, RuledAs,
    ToolCall, ToolResult, TurnEnd,
};

#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) asked: InboundRequest,
    /// The call that we made for a request without one; its result is ours too.
    pub(super) made_call: Option<ItemKey>,
}

#[derive(Debug, Clone)]
pub(super) enum InboundRequest {
    Permission(PermissionEventData),
    Question(QuestionEventData),
}

impl InboundRequest {
    fn id(&self) -> &str {
        match self {
            Self::Permission(ask) => ask.permission_id.as_str(),
            Self::Question(ask) => ask.question_id.as_str(),
        }
    }
}

impl Timeline {
    /// The key of an open request, by the id that clients know.
    pub fn request_key(&self, id: &str) -> Option<RequestKey> {
        self.requests.iter().find(|(_, open)| open.asked.id() == id).map(|(key, _)| key.clone())
    }

    /// Resolves every open request as rejected; see [`Effect::Withdraw`].
    pub fn withdraw_requests(&mut self, by: ResolvedBy, stamp: Stamp, out: &mut Vec<Emitted>) {
        for key in self.requests.keys().cloned().collect::<Vec<_>>() {
            match self.requests.get(&key).map(|open| &open.asked) {
                Some(InboundRequest::Permission(_)) => {
                    self.permission_resolved(&key, PermissionStatus::Reject, by, None, stamp, out);
                }
                Some(InboundRequest::Question(_)) => self.question_resolved(&key, None, by, stamp, out),
                None => {}
            }
            self.effects.push(Effect::Withdraw(key));
        }
    }

    pub(super) fn permission_requested(&mut self, ask: PermissionAsk, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.requests.contains_key(&ask.key) || self.covered.contains_key(&ask.key) {
            return self.dropped(DropReason::Duplicate);
        }
        let (tool, pattern) = (self.masked(ask.tool.clone()), self.masked(ask.pattern.clone()));
        let ruled = self.ruled.get(&ask.key).cloned();
        let is_denied = ruled.as_ref().is_some_and(|ruled| ruled.decision == RuledAs::Deny);
        let is_granted = !is_denied && self.fold.granted(tool.as_deref(), pattern.as_deref());
        if !is_granted && self.has_too_many_requests() {
            self.ruled.remove(&ask.key);
            return self.refuse_request(ask.key, stamp, out);
        }
        let name = ask.tool.clone().unwrap_or_else(|| "permission".to_owned());
        let call = ToolCall::made(name);
        let made = ToolCall { kind: ask.kind.or(call.kind), subject: ask.subject, ..call };
        let (item_id, made_call) = self.waiting_call(ask.call, &ask.key, made, stamp, out);
        if is_granted {
            self.stats.granted += 1;
            self.ruled.remove(&ask.key);
            self.covered.insert(ask.key.clone(), made_call);
            return self.effects.push(Effect::Grant(ask.key));
        }
        let mut options = ask.options;
        if let Some(Ruled { decision: RuledAs::Ask { remember: false }, .. }) = ruled {
            options.retain(|option| option.kind != ALLOW_ALWAYS);
        }
        let data = PermissionEventData {
            permission_id: PermissionId(self.mint("perm")),
            action: ask.action,
            status: PermissionStatus::Requested,
            metadata: Some(RequestMetadata {
                item_id,
                native_request_id: ask.native_id,
                tool: ask.tool,
                pattern: ask.pattern,
                options,
                files: ask.files,
                detail: ask.detail,
                rule: ruled.as_ref().map(|ruled| ruled.rule.clone()),
                ..RequestMetadata::default()
            }),
        };
        self.effects.extend(ruled.and_then(|ruled| ruled.effect(ask.key.clone())));
        self.requests
            .insert(ask.key, OpenRequest { asked: InboundRequest::Permission(data.clone()), made_call });
        self.emit(EventData::PermissionRequested(data), stamp, out);
    }

    pub(super) fn question_requested(&mut self, ask: QuestionAsk, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.requests.contains_key(&ask.key) {
            return self.dropped(DropReason::Duplicate);
        }
        if self.has_too_many_requests() {
            return self.refuse_request(ask.key, stamp, out);
        }
        let made = ToolCall::made("question");
        let (item_id, made_call) = self.waiting_call(ask.call, &ask.key, made, stamp, out);
        let first = ask.questions.first();
        let data = QuestionEventData {
            question_id: QuestionId(self.mint("qst")),
            prompt: first.map(|q| q.prompt.clone()).unwrap_or_default(),
            options: first.map(|q| q.options.iter().map(|o| o.label.clone()).collect()).unwrap_or_default(),
            status: QuestionStatus::Requested,
            response: None,
            metadata: Some(RequestMetadata {
                item_id,
                native_request_id: ask.native_id,
                questions: ask.questions,
                ..RequestMetadata::default()
            }),
        };
        if self.refuses_questions {
            self.effects.push(Effect::Reject(ask.key.clone()));
        }
        self.requests
            .insert(ask.key, OpenRequest { asked: InboundRequest::Question(data.clone()), made_call });
        self.emit(EventData::QuestionRequested(data), stamp, out);
    }

    /// Opens a turn if there is none, and finds the call that a request belongs to, or begins `missing` for it.
    fn waiting_call(
        &mut self,
        call: Option<ItemKey>,
        request: &RequestKey,
        missing: ToolCall,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) -> (Option<ItemId>, Option<ItemKey>) {
        if self.turn.is_none() {
            self.open_turn(Origin::Agent, true, stamp.synthetic(), out);
        }
        if let Some(known) = call.as_ref().and_then(|key| self.fates.call(key)) {
            return (Some(known.item.clone()), None);
        }
        let call = call.filter(|key| !self.fates.is_known(Slot::item(key)));
        let made = call.is_none();
        let key = call.unwrap_or_else(|| ItemKey(format!("request:{}:{}", request.0, self.next_seq())));
        let start = CallStart { key: key.clone(), native_id: None, parent: None, call: missing };
        self.call_started(start, stamp.synthetic(), out);
        self.call_ready(&key, None, stamp.synthetic(), out);
        (self.fates.item(&key).cloned(), made.then_some(key))
    }

    pub(super) fn permission_resolved(
        &mut self,
        key: &RequestKey,
        status: PermissionStatus,
        by: ResolvedBy,
        message: Option<String>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if let Some(made_call) = self.covered.remove(key) {
            return self.request_done(made_call, accepted(status), by, stamp.synthetic(), out);
        }
        let Some(InboundRequest::Permission(mut data)) =
            self.requests.get(key).map(|open| open.asked.clone())
        else {
            return self.dropped(DropReason::Duplicate);
        };
        // Adapters know who is asked, not that a rule has answered.
        let (status, by) = match (self.ruled.remove(key).map(|ruled| ruled.decision), by) {
            (Some(RuledAs::Allow), ResolvedBy::Person) => (status, ResolvedBy::Policy),
            (Some(RuledAs::Deny), ResolvedBy::Person) => (PermissionStatus::Reject, ResolvedBy::Policy),
            (Some(RuledAs::Ask { .. }) | None, by) if by == ResolvedBy::Policy => {
                (PermissionStatus::Reject, by)
            }
            (_, by) => (status, by),
        };
        data.status = match (status, by) {
            (PermissionStatus::Requested, _) => PermissionStatus::Reject,
            (status, ResolvedBy::Person | ResolvedBy::Agent | ResolvedBy::Policy) => status,
            _ => PermissionStatus::Reject,
        };
        let (resolved_by, replier) = self.replier(key, by);
        let metadata = data.metadata.get_or_insert_default();
        metadata.resolved_by = Some(resolved_by);
        metadata.by = replier;
        metadata.message = message;
        let output = accepted(data.status);
        let item = metadata.item_id.clone();
        self.decided(item.as_ref(), output.is_some());
        self.emit(EventData::PermissionResolved(data), stamp, out);
        let made_call = self.requests.remove(key).and_then(|open| open.made_call);
        self.request_done(made_call, output, by, stamp.synthetic(), out);
    }

    pub(super) fn question_resolved(
        &mut self,
        key: &RequestKey,
        answers: Option<Vec<Vec<String>>>,
        by: ResolvedBy,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(InboundRequest::Question(mut data)) = self.requests.get(key).map(|open| open.asked.clone())
        else {
            return self.dropped(DropReason::Duplicate);
        };
        // Adapters know who is asked, not that nobody is.
        let by = if by == ResolvedBy::Person && self.refuses_questions { ResolvedBy::Policy } else { by };
        let answers = answers.filter(|_| matches!(by, ResolvedBy::Person | ResolvedBy::Agent));
        data.status = if answers.is_some() { QuestionStatus::Answered } else { QuestionStatus::Rejected };
        data.response = answers.as_ref().map(|answers| {
            let labels: Vec<String> = answers.iter().map(|chosen| chosen.join(", ")).collect();
            labels.join("; ")
        });
        let (resolved_by, replier) = self.replier(key, by);
        let metadata = data.metadata.get_or_insert_default();
        metadata.resolved_by = Some(resolved_by);
        metadata.by = replier;
        metadata.answers = answers.unwrap_or_default();
        let output = data.response.clone();
        let item = metadata.item_id.clone();
        self.decided(item.as_ref(), output.is_some());
        self.emit(EventData::QuestionResolved(data), stamp, out);
        let made_call = self.requests.remove(key).and_then(|open| open.made_call);
        self.request_done(made_call, output, by, stamp.synthetic(), out);
    }

    /// Returns who has resolved a request, and the name of the person.
    fn replier(&mut self, key: &RequestKey, by: ResolvedBy) -> (ResolvedBy, Option<String>) {
        match self.repliers.remove(key).filter(|_| by == ResolvedBy::Person) {
            Some(Replier::Named(name)) => (by, Some(name)),
            Some(Replier::Link) => (ResolvedBy::Link, None),
            None => (by, None),
        }
    }

    /// An agent may never mention a call again that somebody rejected.
    fn decided(&mut self, item: Option<&ItemId>, accepted: bool) {
        if let Some(call) = item.and_then(|item| self.fates.call_of_item(item)) {
            call.rejected = !accepted;
        }
    }

    /// Gives a call of ours its result, and ends a turn that was opened for its requests alone.
    fn request_done(
        &mut self,
        made_call: Option<ItemKey>,
        output: Option<String>,
        by: ResolvedBy,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if let Some(call) = made_call {
            let is_error = Some(output.is_none());
            let outcome = if output.is_some() { Outcome::Completed } else { Outcome::Failed };
            let output = output.unwrap_or_else(|| "rejected".to_owned());
            let result = ToolResult { output, is_error, ..ToolResult::default() };
            self.whole_result(&call, outcome, result, stamp, out);
        }
        let none_left = self.requests.is_empty() && self.covered.is_empty();
        if none_left && self.turn.as_ref().is_some_and(|turn| turn.for_requests) {
            let stop = if by == ResolvedBy::Cancel { StopReason::Cancelled } else { StopReason::EndTurn };
            self.close_turn(TurnEnd::new(stop), ResolvedBy::TurnEnd, stamp, out);
        }
    }
}

/// The kind of the option that stands for `always`.
const ALLOW_ALWAYS: &str = "allow_always";

impl Ruled {
    fn effect(&self, key: RequestKey) -> Option<Effect> {
        let rule = &self.rule;
        match self.decision {
            RuledAs::Deny => {
                let message = Some(format!("denied by the rule `{rule}`; do not try it in another way"));
                Some(Effect::Decide { key, accept: false, message })
            }
            RuledAs::Allow => Some(Effect::Decide { key, accept: true, message: None }),
            RuledAs::Ask { .. } => None,
        }
    }
}

/// Returns the result text of a call that waited for a permission, unless it was rejected.
fn accepted(status: PermissionStatus) -> Option<String> {
    match status {
        PermissionStatus::Accept | PermissionStatus::AcceptForSession => Some("accepted".to_owned()),
        PermissionStatus::Reject | PermissionStatus::Requested => None,
    }
}
