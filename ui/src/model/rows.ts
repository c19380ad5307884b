/** All sessions as home shows them: each is the daemon's record, folded on with the events of the stream over all. */
import { type Signal, signal } from "@preact/signals";
import { type Event, Fold, type Pending, type Schemas, type SessionInfo } from "../../../sdk/typescript/src/index.js";
import { get, pathOf, session } from "../daemon/api.js";
import { noteResolved } from "./answers.js";
import { redraw } from "./frames.js";

export type RowState = "idle" | "running" | "waiting" | "ended";

export interface Row {
  id: string;
  info: SessionInfo;
  fold: Fold;
  /** The last words of the agent; undefined until somebody has asked. */
  line: string | undefined;
  tick: Signal<number>;
}

/** The newest sessions that home knows; older ones are found by their address. */
const MOST = 2_000;

export const rows = new Map<string, Row>();
/** Sessions came, went, or their open requests or order have changed. */
export const rowsTick = signal(0);
export const isLoaded = signal(false);
/** Events of sessions that are not listed yet, until the daemon has told of the session. */
const coming = new Map<string, Event[]>();

type Requests = Record<string, Pending>;

/** What has changed since the daemon was asked for a list: that list may be older. */
class Meanwhile {
  readonly deleted = new Set<string>();
  private readonly changes = new Map<string, ((pending: Requests) => Requests)[]>();

  change(id: string, change: (pending: Requests) => Requests): void {
    this.changes.set(id, [...(this.changes.get(id) ?? []), change]);
  }

  /** The requests of a session: those of the list, with every later change. */
  requests(id: string, listed: Requests): Requests {
    return (this.changes.get(id) ?? []).reduce((pending, change) => change(pending), listed);
  }
}

const underway = new Set<Meanwhile>();

/** Forgets every session; answers that are still on their way are of no use any more. */
export function clearRows(): void {
  for (const map of [rows, coming]) map.clear();
  underway.clear();
  isLoaded.value = false;
  redraw(rowsTick);
}

/** Asks for a list, with what changes until it is there; gives nothing if all sessions were forgotten meanwhile. */
async function during(load: (meanwhile: Meanwhile) => Promise<() => void>): Promise<boolean> {
  const meanwhile = new Meanwhile();
  underway.add(meanwhile);
  try {
    const use = await load(meanwhile);
    if (!underway.has(meanwhile)) return false;
    use();
    return true;
  } finally {
    underway.delete(meanwhile);
  }
}

/** Lists all sessions anew; events that come meanwhile are folded after it. */
export async function loadRows(): Promise<void> {
  const isListed = await during(async ({ deleted }) => {
    const before = [...rows.keys()];
    const { sessions: list } = await get<Schemas["SessionListResponse"]>("/v1/sessions", { include: "state", limit: MOST });
    return () => {
      const ids = new Set(list.map((info) => info.sessionId));
      // Sessions beyond the longest list are not gone.
      if (list.length < MOST) for (const id of before) if (!ids.has(id)) rows.delete(id);
      for (const info of list) if (!deleted.has(info.sessionId)) put(info);
    };
  });
  if (isListed && (await loadRequests())) isLoaded.value = true;
}

/** Asks for everything that waits for a person; the daemon's word counts, with what has come since it was asked. */
export function loadRequests(): Promise<boolean> {
  return during(async (meanwhile) => {
    const open = await listRequests();
    // Sessions that are too old for the list are listed when they ask something.
    for (const id of open.keys()) if (!rows.has(id)) await addSession(id);
    return () => {
      for (const row of rows.values()) {
        row.fold.pending = meanwhile.requests(row.id, open.get(row.id) ?? {});
        redraw(row.tick);
      }
      redraw(rowsTick);
    };
  });
}

async function listRequests(): Promise<Map<string, Requests>> {
  const open = new Map<string, Requests>();
  let after: string | undefined;
  do {
    const page = await get<Schemas["OpenRequestsResponse"]>("/v1/requests", { after });
    for (const { sessionId, request } of page.requests) {
      const pending = open.get(sessionId) ?? {};
      pending[requestId(request)] = request;
      open.set(sessionId, pending);
    }
    after = page.hasMore ? (page.next ?? undefined) : undefined;
  } while (after !== undefined);
  return open;
}

/** Folds an event of the stream over all sessions. */
export function applyToRows(event: Event): void {
  const id = event.session_id;
  const row = rows.get(id);
  if (row === undefined) return void addSession(id, event);
  if (event.sequence <= row.fold.last_seq) return;
  if (isAsked(event)) {
    noteResolved(event, row.fold.pending);
    for (const meanwhile of underway) meanwhile.change(id, (pending) => afterEvent(pending, event));
  }
  row.fold.apply(event);
  row.info = { ...row.info, updatedAt: Date.parse(event.time), eventCount: event.sequence };
  if (event.type === "item.completed") row.line = lineOf(event.data.item) ?? row.line;
  redraw(row.tick);
  redraw(rowsTick);
}

/** Whether an event is about a permission or a question. */
export function isAsked({ type }: Event): boolean {
  return type.startsWith("permission.") || type.startsWith("question.");
}

function afterEvent(pending: Requests, event: Event): Requests {
  const fold = new Fold();
  fold.pending = { ...pending };
  fold.apply(event);
  return fold.pending;
}

/** The stream of the open session has told what waits in it. */
export function tellPending(id: string, pending: Requests): void {
  for (const meanwhile of underway) meanwhile.change(id, () => ({ ...pending }));
  const row = rows.get(id);
  if (row === undefined) return;
  row.fold.pending = { ...pending };
  redraw(row.tick);
  redraw(rowsTick);
}

export function forget(id: string): void {
  rows.delete(id);
  for (const meanwhile of underway) meanwhile.deleted.add(id);
  redraw(rowsTick);
}

/** Adds a session that was not listed: it is newer than the list, or too old for it. */
export async function addSession(id: string, event?: Event): Promise<void> {
  const waiting = coming.get(id);
  if (waiting) return void (event && waiting.push(event));
  const events = event ? [event] : [];
  coming.set(id, events);
  const isOver = await during(async ({ deleted }) => {
    const detail = await session(id).info().catch(() => undefined);
    return () => {
      coming.delete(id);
      if (detail === undefined || deleted.has(id) || rows.has(id)) return;
      put(detail).fold.pending = Object.fromEntries(detail.pending.map((request) => [requestId(request), request]));
    };
  });
  if (isOver) for (const later of events) if (rows.has(id)) applyToRows(later);
  redraw(rowsTick);
}

function put(info: SessionInfo): Row {
  const known = rows.get(info.sessionId);
  // The stream was faster than the list.
  if (known && known.fold.last_seq > info.eventCount) return known;
  const fold = new Fold();
  fold.last_seq = info.eventCount;
  fold.state = info.state ?? {};
  fold.ended = info.ended;
  if (info.status === "running" || info.status === "waiting") fold.open_turn = { turn_id: "", seq: 0, message_id: null };
  const row: Row = { id: info.sessionId, info, fold, line: known?.fold.last_seq === info.eventCount ? known.line : undefined, tick: known?.tick ?? signal(0) };
  fold.pending = known?.fold.pending ?? {};
  rows.set(row.id, row);
  redraw(row.tick);
  return row;
}

/** Lines are asked for one after the other: the browser has few connections, and people's answers come first. */
let asked: Promise<void> = Promise.resolve();

/** Reads the last words of a session from the end of its log, once. */
export function loadLine(row: Row): void {
  if (row.line !== undefined) return;
  row.line = "";
  asked = asked.then(() => readLine(row));
}

async function readLine(row: Row): Promise<void> {
  const query = { offset: Math.max(0, row.fold.last_seq - 60), types: "item.completed", limit: 60 };
  const page = await get<Schemas["EventsResponse"]>(`${pathOf(row.id)}/events`, query).catch(() => undefined);
  for (const event of page?.events ?? []) if (event.type === "item.completed") row.line = lineOf(event.data.item) ?? row.line;
  redraw(row.tick);
}

function lineOf(item: Schemas["UniversalItem"]): string | undefined {
  const part = item.content[0];
  if (item.kind === "message" && part?.type === "text") {
    const line = part.text.slice(-2_000).trim().split("\n").at(-1)?.slice(0, 200);
    return line && item.role === "user" ? `You: ${line}` : line;
  }
  if (item.kind === "tool_call" && part?.type === "tool_call") return `▸ ${(part.title ?? part.subject?.command ?? part.name).slice(0, 200)}`;
  return undefined;
}

export function rowState(row: Row): RowState {
  return row.fold.ended && row.fold.open_turn === null ? "ended" : row.fold.status;
}

export function rowTitle(row: Row): string {
  return row.fold.state.title ?? row.info.title ?? row.fold.first_prompt ?? row.id;
}

export function requestId(request: Pending): string {
  return request.type === "permission" ? request.permission_id : request.question_id;
}

export interface OpenRequest {
  id: string;
  session: string;
  request: Pending;
}

/** Everything that waits for a person, those of the session that waits longest first. */
export function openRequests(): OpenRequest[] {
  const waiting = [...rows.values()].filter((row) => Object.keys(row.fold.pending).length > 0);
  waiting.sort((one, other) => one.info.updatedAt - other.info.updatedAt);
  return waiting.flatMap((row) =>
    Object.entries(row.fold.pending).map(([id, request]) => ({ id, session: row.id, request })));
}
