/**
 * The one event stream of this tab: that of the open session, or that of all sessions at home and while the tab is
 * hidden. Each goes on where it was when it is needed again.
 */
import { effect, signal } from "@preact/signals";
import { type Cursor, OmniglotError } from "../../../sdk/typescript/src/index.js";
import { setSeldom } from "../model/frames.js";
import { open, OpenSession } from "../model/open.js";
import { forget, hear, isLoaded, loadRequests, loadRows, tellPending } from "../model/rows.js";
import { route } from "../route.js";
import { allEvents, isLoggedOut, session } from "./api.js";
import { token } from "./login.js";
import { tell, words } from "./notices.js";

export type Connection = { state: "connecting" | "live" | "reconnecting" | "stopped"; reason?: string };

export const connection = signal<Connection>({ state: "connecting" });
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
    const id = at.page === "session" ? at.id : null;
    if (open.peek()?.id !== id) open.value = id === null ? null : new OpenSession(id);
  });
  effect(() => {
    const current = open.value;
    void round.value;
    running?.abort();
    if (token.value === null) {
      [allCursor, isLoaded.value] = [undefined, false];
      return;
    }
    running = new AbortController();
    connection.value = { state: "connecting" };
    const target = current !== null && !isHidden.value ? current : null;
    void run(target, running.signal);
  });
  setInterval(() => {
    if (open.peek() && token.peek() !== null && !isHidden.peek() && isLoaded.peek()) void loadRequests().catch(() => undefined);
  }, POLL_MS);
}

async function run(target: OpenSession | null, signal: AbortSignal): Promise<void> {
  setSeldom(false);
  const reason = await (target ? followSession(target, signal) : followAll(signal)).catch((error: unknown) => error);
  if (signal.aborted || isLoggedOut(reason)) return;
  const { text } = reason === undefined ? { text: "This session was deleted." } : words(reason);
  connection.value = { state: "stopped", reason: text };
  if (target && target.problem.value === null && reason === undefined) target.problem.value = text;
}

function heard(signal: AbortSignal, state: Connection["state"]): void {
  if (!signal.aborted) connection.value = { state };
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
        heard(signal, "live");
      },
      onCut: () => heard(signal, "reconnecting"),
    });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        target.hear(event);
        target.cursor = stream.cursor;
        if (target.isWhole.peek() && isAsked(event.type)) tellPending(target.id, target.transcript.fold.pending);
      }
      return;
    } catch (error) {
      if (!(error instanceof OmniglotError && error.status === 410) || signal.aborted) throw error;
      tell("info", "The log of this session was replaced by another one. It is read anew.");
      target.reset();
    }
  }
}

function isAsked(type: string): boolean {
  return type.startsWith("permission.") || type.startsWith("question.");
}

async function followAll(signal: AbortSignal): Promise<void> {
  for (;;) {
    const stream = allEvents({
      after: allCursor,
      signal,
      onCaughtUp: () => void caughtUp(signal),
      onCut: () => heard(signal, "reconnecting"),
      onDeleted: forget,
      onDamaged: () => tell("error", "The daemon cannot read an event of its log.", "`omniglot db check` tells more."),
    });
    try {
      for await (const event of stream) {
        if (signal.aborted) return;
        hear(event);
        allCursor = stream.cursor;
      }
    } catch (error) {
      if (!(error instanceof OmniglotError && error.status === 410) || signal.aborted) throw error;
      tell("info", "The daemon's data is other data than before. Everything is listed anew.");
      [allCursor, isLoaded.value] = [undefined, false];
    }
  }
}

/** A stream that begins now tells nothing of what was: the list does. */
async function caughtUp(signal: AbortSignal): Promise<void> {
  try {
    await (isLoaded.peek() && allCursor !== undefined ? loadRequests() : loadRows());
    heard(signal, "live");
  } catch (error) {
    if (!isLoggedOut(error)) tell("error", words(error).text);
  }
}
