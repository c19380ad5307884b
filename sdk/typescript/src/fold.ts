/** The fold: what a session is now, computed from its events alone. The daemon computes the same. */
import type { ContentPart, Event, Item, Pending, SessionState, SessionStatus, Usage } from "./types.js";

export interface OpenTurn {
  turn_id: string;
  /** The sequence of its `turn.started`. */
  seq: number;
  message_id: string | null;
  /** The tokens of its own calls of the model that are over, without those of subagents. */
  steps?: Usage;
}

/** Everything that the events of a session add up to. */
export class Fold {
  last_seq = 0;
  last_time: string | null = null;
  started = false;
  ended = false;
  native_session_id: string | null = null;
  /** Since when the native session is this one. */
  native_since: string | null = null;
  agent_version: string | null = null;
  /** The session that this one was forked from. */
  forked_from: string | null = null;
  /** The first line that a person wrote, cut: the title of a session that has no other. */
  first_prompt: string | null = null;
  state: SessionState = {};
  /** Somebody gave the session its title. */
  titled = false;
  turns = 0;
  open_turn: OpenTurn | null = null;
  /** Open permissions and questions by id, oldest first. */
  pending: Record<string, Pending> = {};
  /** The calls that an `always` allows for the rest of the session. */
  grants: { tool: string; pattern: string }[] = [];
  /** Late items that are open, with their text so far. */
  late: Record<string, Item> = {};

  get status(): SessionStatus {
    if (this.open_turn === null) return "idle";
    return Object.keys(this.pending).length === 0 ? "running" : "waiting";
  }

  /** Folds the next event of the session. */
  apply(event: Event): void {
    this.last_seq = event.sequence;
    if (this.last_time === null || Date.parse(event.time) >= Date.parse(this.last_time)) this.last_time = event.time;
    this.first_prompt ??= promptTitle(event);
    // A fork begins with the words of its origin; its state is its own.
    if (event.metadata?.copied_from != null) return;
    const native = event.native_session_id ?? null;
    if (native !== null && native !== this.native_session_id) {
      this.native_session_id = native;
      this.native_since = event.time;
    }
    switch (event.type) {
      case "session.started":
        [this.started, this.ended] = [true, false];
        this.agent_version = event.data.metadata?.agent_version ?? this.agent_version;
        this.forked_from = event.data.metadata?.forked_from ?? this.forked_from;
        break;
      case "session.ended":
        this.ended = true;
        break;
      case "session.updated":
        if (event.source === "daemon" && event.data.title !== undefined) this.titled = event.data.title !== null;
        this.state = patched(this.state, event.data);
        break;
      case "turn.started": {
        const { turn_id, metadata } = event.data;
        this.turns += 1;
        this.open_turn = { turn_id, seq: event.sequence, message_id: metadata.message_id ?? null };
        break;
      }
      case "turn.ended":
        this.open_turn = null;
        for (const usage of [event.data.metadata.usage, event.data.metadata.usage_subagents])
          if (usage != null) this.state.usage = sum(this.state.usage, usage);
        break;
      case "permission.requested":
        this.pending[event.data.permission_id] = { type: "permission", ...event.data };
        break;
      case "question.requested":
        this.pending[event.data.question_id] = { type: "question", ...event.data };
        break;
      case "permission.resolved": {
        delete this.pending[event.data.permission_id];
        const { tool, pattern } = event.data.metadata ?? {};
        if (event.data.status === "accept_for_session" && tool != null && pattern != null) this.grant(tool, pattern);
        break;
      }
      case "question.resolved":
        delete this.pending[event.data.question_id];
        break;
      case "item.started":
        if (isLate(event.data.item)) this.late[event.data.item.item_id] = structuredClone(event.data.item);
        break;
      case "item.delta": {
        const part = this.late[event.data.item_id]?.content[0];
        if (part?.type === "status") part.detail = (part.detail ?? "") + event.data.delta;
        break;
      }
      case "item.completed":
        delete this.late[event.data.item.item_id];
        this.step(event.data.item);
        break;
    }
  }

  private step(item: Item): void {
    const part = item.content[0];
    if (this.open_turn === null || part?.type !== "status" || part.usage == null || item.parent_id != null) return;
    this.open_turn.steps = sum(this.open_turn.steps, part.usage);
  }

  private grant(tool: string, pattern: string): void {
    if (!this.grants.some((known) => known.tool === tool && known.pattern === pattern))
      this.grants.push({ tool, pattern });
  }
}

/** Returns the sum of two usages; what is not told adds nothing. */
function sum(one: Usage | null | undefined, other: Usage): Usage {
  if (one == null) return other;
  const usage: Usage = {};
  for (const key of ["input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens"] as const) {
    const [a, b] = [one[key], other[key]];
    if (a != null || b != null) usage[key] = (a ?? 0) + (b ?? 0);
  }
  const { input_tokens: input, output_tokens: output } = usage;
  if (input != null && output != null)
    usage.total_tokens = input + output + (usage.cache_read_tokens ?? 0) + (usage.cache_write_tokens ?? 0);
  return usage;
}

/** Returns the first line of a person's message, cut to the length of a title. */
function promptTitle(event: Event): string | null {
  if ((event.type !== "item.started" && event.type !== "item.completed") || event.data.item.role !== "user") return null;
  const lines = event.data.item.content.flatMap((part) => (part.type === "text" ? part.text.split("\n") : []));
  for (const line of lines) {
    const points = [...line.trim()];
    const title = points.filter((point) => !/\p{Cc}/u.test(point)).slice(0, 80).join("") + (points.length > 80 ? "…" : "");
    if (title !== "") return title;
  }
  return null;
}

/** Applies a merge patch: null removes a key. */
function patched(state: SessionState, patch: SessionState): SessionState {
  const entries = Object.entries({ ...state, ...patch }).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as SessionState;
}

/** Whether an item tells what came too late. */
function isLate(item: Item): boolean {
  const part: ContentPart | undefined = item.content[0];
  return item.kind === "status" && part?.type === "status" && part.label.endsWith(".late");
}
