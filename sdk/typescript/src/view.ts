/**
 * The reader's view of a stream: turns, messages and tool calls, each call with its result. It is the daemon's own
 * `timeline::view`, which tells the rules.
 */
import type { Event, EventOf, Item, Schemas } from "./types.js";

/** The bytes of a running call's output that are kept, from its end. */
const OUTPUT = 1 << 20;

type Part<T> = Extract<Schemas["ContentPart"], { type: T }>;

/** `writing` its arguments, `ready` to run, `running`, and `completed` or `failed`. */
export type CallStatus = "writing" | "ready" | "running" | "completed" | "failed";

/** One tool call. */
export interface Call {
  /** The item of the call. */
  item: string;
  native_item_id: string | null;
  parent: string | null;
  call_id: string;
  /** The agent's name of the tool; empty when the view has seen only the result. */
  name: string;
  title: string | null;
  kind: Schemas["ToolKind"] | null;
  subject: Schemas["ToolSubject"];
  /** JSON text; final from `ready` on. */
  arguments: string;
  /** The arguments as they are being written. */
  input: string;
  status: CallStatus;
  /** The end of what the call has written so far. */
  output: string;
  /** The bytes that it has written so far. */
  written: number;
  /** The item of the result, as it was last told. */
  result: Item | null;
  /** The call whose subagent makes this call. */
  within: string | null;
  /** The calls and messages of the subagent that this call started, in this turn. */
  children: string[];
}

/** The words of a person, of the agent or of the system. */
export interface Message {
  item: Item;
  /** The posted message whose words these are. */
  posted: string | null;
  /** The call whose subagent says this. */
  within: string | null;
  /** Whether it is a thought. */
  reasoning: boolean;
  /** The text so far; the whole text once the message has ended. */
  text: string;
  /** The bytes of the text that came as deltas. */
  streamed: number;
}

export interface Turn {
  id: string;
  /** The posted message that it answers. */
  message: string | null;
  client_ids: string[];
  /** The item of the first message of a person. */
  user: string | null;
  failure: Schemas["ErrorData"] | null;
}

/** The change that one event makes; `other` is about the session, its state, a request or a failure. */
export type Change =
  | { type: "turn_started"; turn: Turn }
  | { type: "turn_ended"; turn: Turn | null; end: Schemas["TurnEndedData"] }
  | { type: "message_started"; message: Message }
  | { type: "message_text"; message: Message; part: "text" | "reasoning"; delta: string }
  | { type: "message_ended"; message: Message }
  | { type: "call_started"; call: Call }
  | { type: "call_input"; call: Call; delta: string }
  | { type: "call_ready"; call: Call; before: Call | null }
  | { type: "call_running"; call: Call }
  | { type: "call_output"; call: Call; delta: string }
  | { type: "call_ended"; call: Call }
  | { type: "happened"; item: Item }
  | { type: "other" };

const OTHER: Change = { type: "other" };

/** A session's turn, open messages and calls, up to the last event that was applied. */
export class View {
  /** The turn that runs. */
  turn: Turn | null = null;
  /** Open messages by item. */
  readonly messages = new Map<string, Message>();
  /** Calls of this turn, and those that may have a subagent, by item. */
  readonly calls = new Map<string, Call>();
  private readonly byCall = new Map<string, string>();
  private readonly results = new Map<string, string>();
  private readonly within = new Map<string, string>();

  /** Folds the next event of the session. */
  apply(event: Event): Change {
    switch (event.type) {
      case "turn.started":
        this.turn = turnOf(event.data);
        return { type: "turn_started", turn: this.turn };
      case "turn.ended":
        return { type: "turn_ended", turn: this.endTurn(), end: event.data };
      case "item.started":
        return this.started(event.data.item) ?? OTHER;
      case "item.delta":
        return this.grew(event.data) ?? OTHER;
      case "item.completed":
        return this.completed(event.data.item) ?? OTHER;
      case "error":
        if (this.turn !== null) this.turn.failure = event.data;
        return OTHER;
      default:
        return OTHER;
    }
  }

  private started(item: Item): Change | undefined {
    switch (item.kind) {
      case "tool_call": {
        const call = callOf(item);
        return call && { type: "call_started", call: this.add(call) };
      }
      case "tool_result": {
        const call = this.callOfResult(item);
        if (call === undefined) return undefined;
        if (call.status === "ready") call.status = "running";
        call.result = item;
        return { type: "call_running", call };
      }
      case "status":
        return undefined;
      default: {
        const message = this.message(item);
        this.messages.set(item.item_id, message);
        return { type: "message_started", message };
      }
    }
  }

  private grew({ item_id, delta, part_type }: EventOf<"item.delta">["data"]): Change | undefined {
    if (part_type === "tool_input") {
      const call = this.calls.get(item_id);
      if (call === undefined) return undefined;
      call.input += delta;
      return { type: "call_input", call, delta };
    }
    if (part_type === "tool_output") {
      const call = this.calls.get(this.byCall.get(this.results.get(item_id) ?? "") ?? "");
      if (call === undefined) return undefined;
      call.written += bytes(delta);
      call.output = bounded(call.output + delta);
      return { type: "call_output", call, delta };
    }
    const message = this.messages.get(item_id);
    if (message === undefined) return undefined;
    const part = part_type ?? "text";
    message.reasoning ||= part === "reasoning";
    message.text += delta;
    message.streamed += bytes(delta);
    return { type: "message_text", message, part, delta };
  }

  private completed(item: Item): Change | undefined {
    switch (item.kind) {
      case "tool_call": {
        const call = callOf(item);
        if (call === undefined) return undefined;
        const before = this.calls.get(item.item_id) ?? null;
        this.calls.delete(item.item_id);
        call.status = item.status === "failed" ? "failed" : "ready";
        call.children = [...(before?.children ?? [])];
        return { type: "call_ready", call: this.add(call), before };
      }
      case "tool_result": {
        const call = this.callOfResult(item);
        if (call === undefined) return undefined;
        this.results.delete(item.item_id);
        call.status = item.status === "failed" ? "failed" : "completed";
        const ended: Call = { ...call, children: [...call.children], result: item };
        Object.assign(call, { arguments: "", input: "", output: "", result: null });
        return { type: "call_ended", call: ended };
      }
      case "status":
        return { type: "happened", item };
      default: {
        const message = this.messages.get(item.item_id) ?? this.message(item);
        this.messages.delete(item.item_id);
        message.item = { ...message.item, status: item.status, content: item.content };
        message.reasoning ||= item.content.some((part) => part.type === "reasoning");
        message.text = item.content.map(words).join("");
        return { type: "message_ended", message };
      }
    }
  }

  /** Adds a call that is new, or replaces one that is known. */
  private add(call: Call): Call {
    call.within = this.place(call.item, call.parent);
    this.byCall.set(call.call_id, call.item);
    this.calls.set(call.item, call);
    return call;
  }

  /** Returns the call of a result; one that the view has not seen has only the ids of its result. */
  private callOfResult(item: Item): Call | undefined {
    const part = item.content.find((part): part is Part<"tool_result"> => part.type === "tool_result");
    if (part === undefined) return undefined;
    this.results.set(item.item_id, part.call_id);
    const id = this.byCall.get(part.call_id) ?? item.item_id;
    this.byCall.set(part.call_id, id);
    const call = this.calls.get(id) ?? emptyCall(id, part.call_id);
    this.calls.set(id, call);
    return call;
  }

  private message(item: Item): Message {
    const within = this.place(item.item_id, item.parent_id ?? null);
    const reasoning = item.content.some((part) => part.type === "reasoning");
    const message: Message = { item, posted: null, within, reasoning, text: "", streamed: 0 };
    const isPerson = item.kind === "message" && item.role === "user" && within === null;
    if (this.turn !== null && isPerson && this.turn.user === null) {
      this.turn.user = item.item_id;
      message.posted = this.turn.message;
    }
    return message;
  }

  /** Returns the call whose subagent an item belongs to, and puts the item among that call's children. */
  private place(item: string, parent: string | null): string | null {
    if (parent === null) return null;
    const within = this.calls.get(parent)?.call_id ?? this.within.get(parent);
    if (within === undefined) return null;
    const isNew = !this.within.has(item);
    this.within.set(item, within);
    if (isNew) this.calls.get(this.byCall.get(within) ?? "")?.children.push(item);
    return within;
  }

  private endTurn(): Turn | null {
    for (const map of [this.messages, this.results, this.within]) map.clear();
    for (const [item, call] of this.calls)
      if (call.kind === "agent") call.children = [];
      else this.calls.delete(item);
    for (const [call, item] of this.byCall) if (!this.calls.has(item)) this.byCall.delete(call);
    const turn = this.turn;
    this.turn = null;
    return turn;
  }
}

function turnOf({ turn_id, metadata }: Schemas["TurnStartedData"]): Turn {
  const { message_id, client_ids } = metadata;
  return { id: turn_id, message: message_id ?? null, client_ids: client_ids ?? [], user: null, failure: null };
}

function emptyCall(item: string, call_id: string): Call {
  return {
    item, native_item_id: null, parent: null, call_id, name: "", title: null, kind: null, subject: {}, arguments: "",
    input: "", status: "writing", output: "", written: 0, result: null, within: null, children: [],
  };
}

function callOf(item: Item): Call | undefined {
  const part = item.content.find((part): part is Part<"tool_call"> => part.type === "tool_call");
  return part && {
    ...emptyCall(item.item_id, part.call_id),
    native_item_id: item.native_item_id ?? null,
    parent: item.parent_id ?? null,
    name: part.name,
    title: part.title ?? null,
    kind: part.kind ?? null,
    subject: part.subject ?? {},
    arguments: part.arguments,
  };
}

function words(part: Schemas["ContentPart"]): string {
  return part.type === "text" || part.type === "reasoning" ? part.text : "";
}

const encoder = new TextEncoder();

function bytes(text: string): number {
  return encoder.encode(text).length;
}

/** Cuts a text that is longer than twice the limit to its end. */
function bounded(text: string): string {
  if (text.length * 3 <= 2 * OUTPUT) return text;
  const all = encoder.encode(text);
  if (all.length <= 2 * OUTPUT) return text;
  let from = all.length - OUTPUT;
  while (((all[from] ?? 0) & 0xc0) === 0x80) from++;
  return new TextDecoder().decode(all.subarray(from));
}
