/** All sessions as home shows them: each is the daemon's record, folded on with the events of the stream over all. */
import { type Signal, signal } from "@preact/signals";
import { type Event, Fold, type Pending, type Schemas, type SessionInfo } from "../../../sdk/typescript/src/index.js";
import { get, pathOf, sessions } from "../daemon/api.js";
import { noteResolved } from "./answers.js";
import { touch } from "./frames.js";

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
const coming = new Map<string, Event[]>();

/** Lists all sessions anew; events that come meanwhile are folded after it. */
export async function loadRows(): Promise<void> {
  const { sessions: list } = await get<Schemas["SessionListResponse"]>("/v1/sessions", { include: "state", limit: MOST });
  for (const id of rows.keys()) if (!list.some((info) => info.sessionId === id)) rows.delete(id);
  for (const info of list) put(info);
  await loadRequests();
  isLoaded.value = true;
}

/** Asks for everything that waits for a person; the daemon's word counts. */
export async function loadRequests(): Promise<void> {
  const open = new Map<string, Record<string, Pending>>();
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
  for (const row of rows.values()) {
    row.fold.pending = open.get(row.id) ?? {};
    touch(row.tick);
  }
  touch(rowsTick);
}

/** Folds an event of the stream over all sessions. */
export function hear(event: Event): void {
  const row = rows.get(event.session_id);
  if (row === undefined) return void meet(event);
  if (event.sequence <= row.fold.last_seq) return;
  const before = row.fold.pending;
  const isRequest = event.type.startsWith("permission.") || event.type.startsWith("question.");
  if (isRequest) noteResolved(event, before);
  row.fold.apply(event);
  row.info = { ...row.info, updatedAt: Date.parse(event.time), eventCount: event.sequence };
  if (event.type === "item.completed") row.line = lineOf(event.data.item) ?? row.line;
  touch(row.tick);
  touch(rowsTick);
}

/** The stream of the open session has told what waits in it. */
export function tellPending(id: string, pending: Record<string, Pending>): void {
  const row = rows.get(id);
  if (row === undefined) return;
  row.fold.pending = { ...pending };
  touch(row.tick);
  touch(rowsTick);
}

export function forget(id: string): void {
  rows.delete(id);
  touch(rowsTick);
}

/** A session that was made after the list. */
async function meet(event: Event): Promise<void> {
  const waiting = coming.get(event.session_id);
  if (waiting) return void waiting.push(event);
  coming.set(event.session_id, [event]);
  const detail = await sessions().get(event.session_id).then((session) => session.info()).catch(() => undefined);
  const events = coming.get(event.session_id) ?? [];
  coming.delete(event.session_id);
  if (detail === undefined) return;
  const row = put(detail);
  row.fold.pending = Object.fromEntries(detail.pending.map((request) => [requestId(request), request]));
  for (const later of events) hear(later);
  touch(rowsTick);
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
  touch(row.tick);
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
  touch(row.tick);
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
