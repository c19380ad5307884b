/** Words of a person, the agent or its program; thoughts are folded. */
import type { EntryOf } from "../model/entries.js";
import { Json } from "../text/json.js";
import { visible } from "../text/visible.js";
import { Part, Words } from "./content.js";

const ROLES: Record<string, string> = { user: "You", assistant: "Agent", system: "System", tool: "Tool" };
const KINDS = new Set(["message", "system"]);

export function MessageView({ entry }: { entry: EntryOf<"message"> }) {
  void entry.tick.value;
  const { message, isOver, by } = entry;
  const { item, reasoning, text } = message;
  const role = item.role ?? (item.kind === "system" ? "system" : "assistant");
  if (reasoning) return <Thought entry={entry} />;
  const isKnown = KINDS.has(item.kind);
  const isEmpty = isOver && item.content.every((part) => part.type === "text" && part.text === "");
  return (
    <div class={`message ${role}`} data-testid="message" data-role={role} data-item={item.item_id} aria-label={ROLES[role] ?? role} role="group">
      {role !== "assistant" && <div class="who">{role !== "user" ? (ROLES[role] ?? role) : message.within !== null ? "Task" : by ? visible(by) : "You"}</div>}
      {!isOver && <><Words text={text} end /><span class="caret" aria-hidden="true" /></>}
      {isOver && isKnown && item.content.map((part) => <Part part={part} />)}
      {isOver && !isKnown && <div data-testid="unknown"><span class="tag">{item.kind}</span><Json value={item} open={3} /></div>}
      {isEmpty && isKnown && <p class="dim">(an empty message)</p>}
      {item.status === "failed" && <p class="bad">This message was not finished.</p>}
    </div>
  );
}

function Thought({ entry }: { entry: EntryOf<"message"> }) {
  void entry.tick.value;
  const { message, isOver } = entry;
  const isHidden = isOver && message.text.trim() === "";
  const preview = message.text.trim().split("\n", 1)[0]?.slice(0, 120) ?? "";
  if (isHidden) return <p class="thought dim" data-testid="thought" data-item={message.item.item_id}>A thought that the model keeps to itself</p>;
  return (
    <details class="thought" data-testid="thought" data-item={message.item.item_id}>
      <summary><span class="thought-word">{isOver ? "Thought" : "Thinking…"}</span> <span class="dim">{visible(preview)}</span></summary>
      {isOver ? message.item.content.map((part) => <Part part={part} />) : <Words text={message.text} end />}
    </details>
  );
}
