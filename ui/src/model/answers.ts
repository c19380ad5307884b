/** Answers to permissions and questions, and who was first. */
import { signal } from "@preact/signals";
import { type Event, OmniglotError, type Pending, type Schemas } from "../../../sdk/typescript/src/index.js";
import { http, isLoggedOut, pathOf } from "../daemon/api.js";
import { tell, words } from "../daemon/notices.js";
import type { Resolution } from "./entries.js";

export interface Resolved {
  id: string;
  session: string;
  subject: string;
  text: string;
}

const KEPT = 8;

/** Requests that this tab has shown and somebody else has answered. */
export const resolved = signal<Resolved[]>([]);
/** Requests whose answer is on its way. */
export const answering = signal<ReadonlySet<string>>(new Set());
const ours = new Set<string>();
/** Requests that people have seen here, while the page was up to date. */
const seen = new Set<string>();
/** How the latest requests ended, as the stream told it. */
const endings = new Map<string, string>();

export type Answer =
  | { verb: "reply"; body: Schemas["PermissionReplyRequest"] | Schemas["QuestionReplyRequest"] }
  | { verb: "reject"; body?: undefined };

/** Sends an answer once; the loser of a race is told who was first. */
export async function answer(session: string, request: Pending, { verb, body }: Answer): Promise<void> {
  const id = request.type === "permission" ? request.permission_id : request.question_id;
  if (answering.value.has(id)) return;
  answering.value = new Set([...answering.value, id]);
  ours.add(id);
  try {
    const path = `${pathOf(session)}/${request.type}s/${encodeURIComponent(id)}/${verb}`;
    // After a cut, a 409 is most likely about the try that was cut.
    await http().send("POST", path, { body, again: true, done: 409 });
  } catch (error) {
    ours.delete(id);
    if (isLoggedOut(error)) return;
    const { text, hint } = words(error);
    const isLate = error instanceof OmniglotError && error.status === 409;
    if (!isLate) return tell("error", text, hint);
    addResolved(id, session, subjectOf(request), endings.get(id) ?? text);
  } finally {
    answering.value = new Set([...answering.value].filter((other) => other !== id));
  }
}

/** Remembers how a request ended that this tab had shown and has not answered itself. */
export function noteResolved(event: Event, open: Record<string, Pending>): void {
  if (event.type !== "permission.resolved" && event.type !== "question.resolved") return;
  const id = event.type === "permission.resolved" ? event.data.permission_id : event.data.question_id;
  const ending = outcome(event.data);
  endings.set(id, ending);
  if (endings.size > 50) endings.delete(endings.keys().next().value ?? "");
  const request = open[id];
  if (request !== undefined && seen.has(id) && !ours.has(id)) addResolved(id, event.session_id, subjectOf(request), ending);
}

/** A person can see this request. */
export function noteSeen(id: string): void {
  seen.add(id);
}

export function clearAnswers(): void {
  for (const known of [ours, seen, endings]) known.clear();
  resolved.value = [];
}

export function dismissResolved(id: string): void {
  resolved.value = resolved.value.filter((one) => one.id !== id);
}

function addResolved(id: string, session: string, subject: string, text: string): void {
  const others = resolved.value.filter((one) => one.id !== id);
  resolved.value = [...others, { id, session, subject, text }].slice(-KEPT);
}

export function subjectOf(request: Pending): string {
  return request.type === "permission" ? request.action : request.prompt;
}

const CAUSES: Record<string, string> = {
  cancel: "Closed: the turn was cancelled",
  agent: "Closed by the agent itself",
  crash: "Closed: the agent's process died",
  restart: "Closed: the daemon was restarted",
  turn_end: "Closed: the turn ended",
  expiry: "Closed: nobody answered in time",
  policy: "Answered by a policy",
};

const DONE: Record<string, string> = {
  accept: "allowed once",
  accept_for_session: "always allowed",
  reject: "rejected",
  answered: "answered",
  rejected: "dismissed",
};

/** How a request ended, and by whom, in words. */
export function outcome(data: Resolution): string {
  const { resolved_by, by, answers, message } = data.metadata ?? {};
  const who = resolved_by == null || resolved_by === "person" ? `Answered by ${by ?? "the daemon's own token"}` : CAUSES[resolved_by];
  const what = answers?.length ? answers.map((one) => one.join(", ")).join(" · ") : (DONE[data.status] ?? data.status);
  return `${who ?? resolved_by}: ${what}${message ? ` (“${message}”)` : ""}`;
}
