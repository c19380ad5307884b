//! The notifications of the server that are known and carry nothing for the stream.

use crate::contract::DropReason;

/// Notifications that say nothing which the stream does not have from elsewhere.
pub(super) fn ignored(method: &str) -> Option<DropReason> {
    Some(match method {
        // The item that follows says it all, in final form.
        "turn/diff/updated" | "item/fileChange/patchUpdated" | "item/fileChange/outputDelta" => {
            DropReason::Superseded
        }
        // Turns and requests tell when a thread works or waits.
        "thread/status/changed" | "thread/started" | "thread/closed" => DropReason::Duplicate,
        "thread/compacted" => DropReason::Duplicate,
        // The client's own bookkeeping in Codex: folders, unread marks, goals, queues, projects.
        "thread/readState/changed"
        | "thread/archived"
        | "thread/deleted"
        | "thread/unarchived"
        | "thread/attachment/updated"
        | "thread/goal/updated"
        | "thread/goal/cleared"
        | "thread/prediction/updated"
        | "thread/queue/changed"
        | "thread/project/updated"
        | "thread/environment/connected"
        | "thread/environment/disconnected"
        | "project/changed"
        | "skills/changed"
        | "app/list/updated"
        | "fs/changed"
        | "account/rateLimits/updated"
        | "account/gatewayOAuth/changed"
        | "remoteControl/status/changed"
        | "deprecationNotice"
        | "hook/started"
        | "item/autoApprovalReview/started"
        | "item/autoApprovalReview/completed"
        | "autoApprovalReview/strictReviewRequired"
        | "model/verification"
        | "model/safetyBuffering/updated"
        | "modelProvider/authRecoveryStarted"
        | "modelProvider/authRecoveryCompleted"
        | "turn/moderationMetadata"
        | "mcpServer/oauthLogin/completed"
        | "mcpServer/event/stream/notification"
        | "windows/worldWritableWarning"
        | "windowsSandbox/setupCompleted" => DropReason::Internal,
        // Answers to calls that we never make.
        "command/exec/outputDelta"
        | "process/outputDelta"
        | "process/exited"
        | "externalAgentConfig/import/progress"
        | "externalAgentConfig/import/completed"
        | "fuzzyFileSearch/sessionUpdated"
        | "fuzzyFileSearch/sessionCompleted" => DropReason::Extension,
        method if method.starts_with("thread/realtime/") => DropReason::Extension,
        _ => return None,
    })
}
