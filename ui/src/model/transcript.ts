/** The transcript of one session: turns with their pieces, made of the changes that the SDK's view tells. */
import { signal } from "@preact/signals";
import { type Call, type Event, Fold, type Item, type Message, View } from "../../../sdk/typescript/src/index.js";
import { Changes } from "./changes.js";
import { base, type Entry, type EntryOf, type TurnBlock } from "./entries.js";
import { redraw } from "./frames.js";

export class Transcript {
  readonly fold = new Fold();
  readonly view = new View();
  readonly turns: TurnBlock[] = [];
  readonly changes = new Changes();
  /** Turns were added. */
  readonly tick = signal(0);
  /** The state, the open requests or the status have changed. */
  readonly stateTick = signal(0);
  private readonly byItem = new Map<string, Entry>();
  private readonly byCall = new Map<string, Entry>();
  private readonly requests = new Map<string, EntryOf<"request">>();
  private numbered = 0;

  apply(event: Event): void {
    const wasStatus = this.fold.status;
    this.fold.apply(event);
    const change = this.view.apply(event);
    if (wasStatus !== this.fold.status) redraw(this.stateTick);
    switch (change.type) {
      case "turn_started":
        return this.begin(event);
      case "turn_ended":
        return this.end(change.end, event);
      case "message_started":
      case "message_text":
      case "message_ended":
        return this.message(change.message, event, change.type === "message_ended");
      case "call_started":
      case "call_input":
      case "call_ready":
      case "call_running":
      case "call_output":
        return this.call(change.call, event);
      case "call_ended":
        this.call(change.call, event);
        return this.files(change.call.result, event);
      case "happened":
        return this.add({ ...this.place(event, change.item.item_id), type: "status", item: change.item }, change.item.parent_id);
      case "other":
        return this.other(event);
    }
  }

  private begin(event: Event): void {
    if (event.type !== "turn.started") return;
    const { turn_id, metadata } = event.data;
    this.numbered += 1;
    this.turns.push({ ...block(event), key: turn_id, id: turn_id, number: this.numbered, by: metadata.by ?? null, origin: metadata.origin });
    redraw(this.tick);
    redraw(this.stateTick);
  }

  private end(end: { metadata: TurnBlock["end"] }, event: Event): void {
    const turn = this.turns.at(-1);
    if (turn === undefined || turn.id === null) return this.note(event, "The turn ended", null);
    turn.end = end.metadata;
    redraw(turn.tick);
    redraw(this.stateTick);
  }

  private message(message: Message, event: Event, isOver: boolean): void {
    const known = this.byItem.get(message.item.item_id);
    if (known?.type === "message") {
      [known.message, known.isOver] = [message, isOver];
      redraw(known.tick);
    } else {
      const data = event.type === "item.started" || event.type === "item.completed" ? event.data : undefined;
      const by = data?.metadata?.by ?? null;
      this.add({ ...this.place(event, message.item.item_id), type: "message", message, isOver, by }, message.within);
    }
    if (!isOver) return;
    this.files(message.item, event);
    const turn = this.turns.at(-1);
    if (turn && turn.title === "" && message.item.role === "user") turn.title = firstLine(message.text);
  }

  private call(call: Call, event: Event): void {
    const known = this.byItem.get(call.item);
    if (known?.type === "call") {
      known.call = call;
      return redraw(known.tick);
    }
    const entry: Entry = { ...this.place(event, call.item), type: "call", call };
    this.byCall.set(call.call_id, entry);
    this.add(entry, call.within);
  }

  /** The rest: requests, failures, the session itself, and items that the view does not know. */
  private other(event: Event): void {
    switch (event.type) {
      case "permission.requested":
        return this.request({ type: "permission", ...event.data }, event.data.permission_id, event);
      case "question.requested":
        return this.request({ type: "question", ...event.data }, event.data.question_id, event);
      case "permission.resolved":
        return this.resolve(event.data.permission_id, event.data);
      case "question.resolved":
        return this.resolve(event.data.question_id, event.data);
      case "error":
        return this.add({ ...this.place(event), type: "error", error: event.data });
      case "agent.unparsed":
        return this.add({ ...this.place(event), type: "unparsed", data: event.data });
      case "session.started":
        return this.note(event, started(event.data.metadata), null);
      case "session.ended":
        return this.note(event, `Session ended: ${event.data.reason} (by the ${event.data.terminated_by})`, ended(event.data));
      case "session.updated":
      case "item.delta":
        return redraw(this.stateTick);
      case "item.started":
        // Until it completes, the fold has what came too late.
        return redraw(this.stateTick);
      case "item.completed":
        return this.add({ ...this.place(event, event.data.item.item_id), type: "unknown", value: event.data.item });
      case "turn.started":
      case "turn.ended":
        return;
      default:
        return this.add({ ...this.place(event), type: "unknown", value: event });
    }
  }

  private request(request: EntryOf<"request">["request"], id: string, event: Event): void {
    const entry: EntryOf<"request"> = { ...this.place(event), type: "request", request, resolution: null };
    this.requests.set(id, entry);
    this.add(entry);
    redraw(this.stateTick);
  }

  private resolve(id: string, resolution: NonNullable<EntryOf<"request">["resolution"]>): void {
    const entry = this.requests.get(id);
    if (entry) {
      entry.resolution = resolution;
      redraw(entry.tick);
    }
    redraw(this.stateTick);
  }

  private note(event: Event, text: string, detail: string | null): void {
    this.add({ ...this.place(event), type: "note", text, detail });
    redraw(this.stateTick);
  }

  private files(item: Item | null, event: Event): void {
    const turn = this.turns.at(-1);
    for (const part of item?.content ?? [])
      if (part.type === "file_ref" && part.action !== "read") this.changes.add(part, turn?.id ?? null, turn?.number ?? 0, event);
  }

  private place(event: Event, key = event.event_id): ReturnType<typeof base> {
    return base({ key, sequence: event.sequence, time: event.time });
  }

  /** Adds a piece below the call or item that it belongs to, else to the newest turn. */
  private add(entry: Entry, parent?: string | null): void {
    this.byItem.set(entry.key, entry);
    const above = parent == null ? undefined : (this.byCall.get(parent) ?? this.byItem.get(parent));
    if (above?.type === "call") {
      above.children.push(entry);
      return redraw(above.tick);
    }
    const turn = this.current(entry);
    turn.entries.push(entry);
    redraw(turn.tick);
  }

  /** The turn that runs, or a block for what happens between turns. */
  private current(entry: Entry): TurnBlock {
    const last = this.turns.at(-1);
    if (last !== undefined && (last.id === null || last.end === null)) return last;
    const between = { ...block(entry), key: `between-${entry.sequence}` };
    this.turns.push(between);
    redraw(this.tick);
    return between;
  }
}

function block(at: { sequence: number; time: string; metadata?: Event["metadata"] }): TurnBlock {
  const isCopy = at.metadata?.copied_from != null;
  const { sequence, time } = at;
  return { key: "", id: null, number: 0, sequence, time, by: null, origin: "", title: "", entries: [], end: null, isCopy, tick: signal(0) };
}

function started(metadata: Extract<Event, { type: "session.started" }>["data"]["metadata"]): string {
  const agent = [metadata?.agent, metadata?.agent_version].filter(Boolean).join(" ");
  const how = metadata?.forked_from ? `forked from ${metadata.forked_from}` : metadata?.resumed ? "resumed" : "started";
  return `Session ${how}${agent ? ` with ${agent}` : ""}`;
}

function ended(data: Extract<Event, { type: "session.ended" }>["data"]): string | null {
  const { message, exit_code, stderr } = data;
  const code = exit_code == null ? null : `exit code ${exit_code}`;
  return [message, code, stderr?.head, stderr?.tail].filter(Boolean).join("\n") || null;
}

function firstLine(text: string): string {
  return text.split("\n", 5).map((line) => line.trim()).find((line) => line !== "")?.slice(0, 120) ?? "";
}
