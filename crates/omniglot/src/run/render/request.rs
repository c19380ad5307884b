//! Permissions and questions as text. Reading the answer is left to `prompt`.

use omniglot_schema::{
    PermissionEventData, PermissionStatus, QuestionEventData, QuestionInfo, QuestionOption, QuestionStatus,
    RequestMetadata, ResolvedBy,
};

use super::style::{Ink, clean, one_line};
use super::{Renderer, wire_name};

impl Renderer {
    pub(super) fn permission_requested(&mut self, data: &PermissionEventData) -> String {
        // Never cut: nobody should allow what they have not read.
        let action = clean(self.relative(&data.action).trim());
        let head = self.wrapped(&format!("? permission: {action}"));
        let mut text = self.style.paint(Ink::Yellow, &head);
        text.push('\n');
        let detail = data.metadata.iter().filter_map(|m| m.detail.as_deref());
        for line in detail.flat_map(str::lines) {
            text.push_str(&self.wrapped(&format!("  {}\n", clean(line))));
        }
        for part in data.metadata.iter().flat_map(|m| &m.files) {
            text.push_str(&self.file(part));
        }
        self.block(&text)
    }

    pub(super) fn permission_resolved(&mut self, data: &PermissionEventData) -> String {
        let by = by(data.metadata.as_ref());
        let (ink, words) = match data.status {
            PermissionStatus::Accept => (Ink::Green, "✓ allowed once"),
            PermissionStatus::AcceptForSession => (Ink::Green, "✓ allowed for this session"),
            PermissionStatus::Reject => (Ink::Red, "✗ rejected"),
            PermissionStatus::Requested => return String::new(),
        };
        self.block(&self.style.paint(ink, &format!("  {words}{by}")))
    }

    pub(super) fn question_requested(&mut self, data: &QuestionEventData) -> String {
        let questions = questions_of(data);
        let several = questions.len() > 1;
        let mut text = String::new();
        for (index, question) in questions.iter().enumerate() {
            let number = if several { format!(" {}/{}", index + 1, questions.len()) } else { String::new() };
            let head = self.wrapped(&format!("?{number} {}", clean(question.prompt.trim())));
            text.push_str(&self.style.paint(Ink::Yellow, &head));
            text.push('\n');
            for (index, option) in question.options.iter().enumerate() {
                text.push_str(&one_line(&format!("  {}", option_line(index, option)), self.width));
                text.push('\n');
            }
        }
        self.block(&text)
    }

    pub(super) fn question_resolved(&mut self, data: &QuestionEventData) -> String {
        let by = by(data.metadata.as_ref());
        let (ink, words) = match data.status {
            QuestionStatus::Answered => {
                (Ink::Green, format!("✓ answered: {}", data.response.as_deref().unwrap_or_default()))
            }
            QuestionStatus::Rejected => (Ink::Red, "✗ not answered".to_owned()),
            QuestionStatus::Requested => return String::new(),
        };
        self.block(&self.style.paint(ink, &one_line(&format!("  {words}{by}"), self.width)))
    }
}

/// All questions of a request; the contract's own fields when there is no list.
pub(crate) fn questions_of(data: &QuestionEventData) -> Vec<QuestionInfo> {
    match &data.metadata {
        Some(metadata) if !metadata.questions.is_empty() => metadata.questions.clone(),
        _ => vec![QuestionInfo {
            prompt: data.prompt.clone(),
            header: None,
            options: data
                .options
                .iter()
                .map(|l| QuestionOption { label: l.clone(), description: None })
                .collect(),
            multi_select: false,
            free_text: data.options.is_empty(),
            format: None,
            detail: None,
        }],
    }
}

fn option_line(index: usize, option: &QuestionOption) -> String {
    match &option.description {
        Some(description) => format!("{}) {}: {description}", index + 1, option.label),
        None => format!("{}) {}", index + 1, option.label),
    }
}

/// Who resolved a request, unless it was a person.
fn by(metadata: Option<&RequestMetadata>) -> String {
    let rule = metadata.and_then(|m| m.rule.as_deref());
    match (metadata.and_then(|m| m.resolved_by), rule) {
        (None | Some(ResolvedBy::Person), _) => String::new(),
        (Some(ResolvedBy::Policy), Some(rule)) => format!(" (rule {})", clean(rule)),
        (Some(other), _) => format!(" ({})", wire_name(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_nobody_answered_tells_what_has_resolved_it() {
        let resolved = |resolved_by, rule: Option<&str>| {
            let rule = rule.map(str::to_owned);
            by(Some(&RequestMetadata { resolved_by: Some(resolved_by), rule, ..RequestMetadata::default() }))
        };
        assert_eq!(resolved(ResolvedBy::Person, Some("mind-pushes")), "");
        assert_eq!(resolved(ResolvedBy::Policy, Some("no-secrets")), " (rule no-secrets)");
        assert_eq!(resolved(ResolvedBy::Policy, None), " (policy)");
        assert_eq!(resolved(ResolvedBy::Link, None), " (link)");
    }
}
