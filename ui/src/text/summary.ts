/** One line that tells what an event says. */
import type { ContentPart, Event, Item } from "../../../sdk/typescript/src/index.js";
import { oneLine } from "./json.js";
import { plain } from "./visible.js";

const LONGEST = 300;

export function summary(event: Event): string {
  return plain(words(event).slice(0, LONGEST));
}

function words(event: Event): string {
  switch (event.type) {
    case "item.delta":
      return `${event.data.part_type ?? "text"}: ${quoted(event.data.delta)}`;
    case "item.started":
    case "item.completed":
      return item(event.data.item);
    case "turn.started":
      return `by ${event.data.metadata.by ?? event.data.metadata.origin}`;
    case "turn.ended":
      return `${event.data.metadata.stop_reason} after ${event.data.metadata.duration_ms} ms`;
    case "permission.requested":
    case "permission.resolved":
      return `${event.data.status}: ${event.data.action}`;
    case "question.requested":
    case "question.resolved":
      return `${event.data.status}: ${event.data.prompt}`;
    case "error":
      return `${event.data.code ?? "error"}: ${event.data.message}`;
    case "session.ended":
      return `${event.data.reason} by the ${event.data.terminated_by}`;
    case "agent.unparsed":
      return event.data.error;
    default:
      return oneLine((event as Event).data);
  }
}

function item({ kind, role, status, content }: Item): string {
  const head = kind === "message" ? (role ?? kind) : kind;
  return [head, status === "completed" ? "" : `(${status.replace("_", " ")})`, ...content.slice(0, 3).map(part)].filter(Boolean).join(" ");
}

function part(part: ContentPart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return quoted(part.text);
    case "tool_call":
      return part.title ?? part.subject?.command ?? `${part.name} ${part.arguments.slice(0, LONGEST)}`;
    case "tool_result":
      return `${part.exit_code == null ? "" : `exit ${part.exit_code} `}${quoted(part.output)}`;
    case "file_ref":
      return `${part.action} ${part.path}`;
    case "status":
      return `${part.label} ${part.detail?.slice(0, LONGEST) ?? ""}`;
    case "image":
      return part.path;
    default:
      return oneLine(part);
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, LONGEST));
}
