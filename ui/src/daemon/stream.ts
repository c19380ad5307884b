/**
 * The one event stream of this tab: that of the open session, or that of all sessions at home and while the tab is
 * hidden. Each goes on where it was when it is needed again.
 */
import { effect, signal } from "@preact/signals";
import { type Cursor, OmniglotError } from "../../../sdk/typescript/src/index.js";
import { setSeldom } from "../model/frames.js";
import { open, OpenSession } from "../model/open.js";
import { clearAnswers } from "../model/answers.js";
import { clearAgents } from "../model/agents.js";
import { drafts } from "../model/drafts.js";
import { addSession, applyToRows, clearRows, forget, isAsked, isLoaded, loadRequests, loadRows, tellPending } from "../model/rows.js";
import { route } from "../route.js";
import { allEvents, isLoggedOut, session } from "./api.js";
import { token } from "./login.js";
import { clearNotices, tell, words } from "./notices.js";

type State = "connecting" | "live" | "reconnecting" | "stopped";
/** How the stream is, and of which session; null for that of all sessions. */
export type Connection = { state: State; session: string | null; reason?: string };

export const connection = signal<Connection>({ state: "connecting", session: null });
/** Raised by the button that tries again after a stop. */
const round = signal(0);
const isHidden = signal(document.hidden);
let allCursor: Cursor | undefined;
let running: AbortController | undefined;

/** Asks for open requests of other sessions so often while one session is open. */
const POLL_MS = 15_000;

export function retry(): void {
  const opened = open.peek();
  if (opened !== null && opened.problem.peek() !== null) opened.reset();
  round.value += 1;
}

/** Follows what the page shows, for as long as there is a token. */
export function follow(): void {
  document.addEventListener("visibilitychange", () => (isHidden.value = document.hidden));
  effect(() => {
    const at = route.value;
    const id = at.page === "session" && token.value !== null ? at.id : null;
    if (open.peek()?.id !== id) open.value = id === null ? null : new OpenSession(id);
  });
  effect(() => {
    const current = open.value;
    void round.value;
    running?.abort();
    if (token.value === null) return forgetAll();
    running = new AbortController();
    const target = current !== null && !isHidden.value ? current : null;
    connection.value = { state: "connecting", session: target?.id ?? null };
    void run(target, running.signal);
  });
  setInterval(() => {
    if (open.peek() && token.peek() !== null && !isHidden.peek() && isLoaded.peek()) void loadRequests().catch(() => undefined);
  }, POLL_MS);
}

/** The next token may be allowed to see less: nothing stays of what this one has seen. */
function forgetAll(): void {
  allCursor = undefined;
  clearRows();
  clearAnswers();
  clearAgents();
  clearNotices();
  drafts.clear();
}

async function run(target: OpenSession | null, signal: AbortSignal): Promise<void> {
  setSeldom(false);
  const reason = await (target ? followSession(target, signal) : followAll(signal)).catch((error: unknown) => error);
  if (signal.aborted || isLoggedOut(reason)) return;
  const { text } = reason === undefined ? { text: "This session was deleted." } : words(reason);
  connection.value = { state: "stopped", session: target?.id ?? null, reason: text };
  if (target && target.problem.value === null && reason === undefined) target.problem.value = text;
}

function setState(signal: AbortSignal, state: State, session: string | null, reason?: string): void {
  if (!signal.aborted) connection.value = { state, session, ...(reason === undefined ? {} : { reason }) };
}

async function followSession(target: OpenSession, signal: AbortSignal): Promise<void> {
  if (target.info.peek() === null) await target.load();
  if (!isLoaded.peek()) void loadRows().catch(() => undefined);
  if (target.problem.peek() !== null) throw new Error(target.problem.peek() ?? "");
  for (;;) {
    setSeldom(!target.isWhole.peek());
    const stream = session(target.id).events({
      after: target.cursor,
      signal,
      onCaughtUp: () => {
        setSeldom(false);
        target.isWhole.value = true;
        tellPending(target.id, target.transcript.fold.pending);
        setState(signal, "live", target.id);
      },
      onCut: () => setState(signal, "reconnecting", target.id),
    });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        target.apply(event);
        target.cursor = stream.cursor;
        if (target.isWhole.peek() && isAsked(event)) tellPending(target.id, target.transcript.fold.pending);
      }
      return;
    } catch (error) {
      if (!(error instanceof OmniglotError && error.status === 410) || signal.aborted) throw error;
      tell("info", "The log of this session was replaced by another one. It is read anew.");
      target.reset();
      forget(target.id);
      void addSession(target.id);
    }
  }
}

async function followAll(signal: AbortSignal): Promise<void> {
  let cuts = 0;
  for (;;) {
    const stream = allEvents({
      after: allCursor,
      signal,
      onCaughtUp: () => void caughtUp(signal, () => cuts),
      onCut: () => {
        cuts += 1;
        setState(signal, "reconnecting", null);
      },
      onDeleted: forget,
      onDamaged: () => tell("error", "The daemon cannot read an event of its log.", "`omniglot db check` tells more."),
    });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        applyToRows(event);
        allCursor = stream.cursor;
      }
    } catch (error) {
      if (!(error instanceof OmniglotError && error.status === 410) || signal.aborted) throw error;
      tell("info", "The daemon cannot tell what has happened since this page was last connected. Everything is listed anew.");
      allCursor = undefined;
      clearRows();
    }
  }
}

/** A stream that begins now tells nothing of what was: the list does. After a cut, the next connection asks again. */
async function caughtUp(signal: AbortSignal, cuts: () => number): Promise<void> {
  const before = cuts();
  try {
    await (isLoaded.peek() && allCursor !== undefined ? loadRequests() : loadRows());
    if (cuts() === before) setState(signal, "live", null);
  } catch (error) {
    if (!isLoggedOut(error) && cuts() === before) setState(signal, "stopped", null, words(error).text);
  }
}
