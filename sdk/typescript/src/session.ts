/** One session: its events, its state, and everything that a client can do with it. */
import { Follower } from "./follower.js";
import type { Http } from "./http.js";
import { type PermissionRequest, type QuestionRequest, requests } from "./requests.js";
import { type EventsOptions, EventStream } from "./stream.js";
import type { Event, Pending, Schemas, SessionDetail, SessionState, SessionStatus, StopReason, Usage } from "./types.js";
import type { Change, View } from "./view.js";

export interface SendOptions {
  attachments?: Schemas["MessageAttachment"][];
  /** How the message is delivered while a turn runs; it is queued by default. */
  delivery?: Schemas["Delivery"];
  /** Ids of your own, which `turn.started` repeats. */
  clientIds?: string[];
  signal?: AbortSignal;
}

export interface Sent {
  messageId: string;
  delivery: Schemas["Delivered"];
}

/** The end of a turn. */
export interface Answer {
  turnId: string;
  /** The agent's messages, without thoughts and subagents. */
  text: string;
  stopReason: StopReason;
  usage: Usage | undefined;
  costUsd: number | undefined;
  /** Why the turn failed, if its stop reason is `error`. */
  error: Schemas["ErrorData"] | undefined;
}

export class Session {
  private readonly path: string;
  private readonly follower: Follower;

  constructor(
    private readonly http: Http,
    readonly id: string,
    /** The daemon's answer to the request that made this session: whether it can work yet. */
    readonly created?: Schemas["CreateSessionResponse"],
  ) {
    this.path = `/v1/sessions/${encodeURIComponent(id)}`;
    this.follower = new Follower((signal, onCaughtUp) => this.events({ signal, onCaughtUp }));
  }

  /** The events, in order and each once; see `EventStream`. */
  events(options: EventsOptions = {}): EventStream {
    return new EventStream(this.http, `${this.path}/events/sse`, options);
  }

  /** Follows the session in the background, and waits until `state`, `pending` and `view` are up to date. */
  sync(): Promise<void> {
    return this.follower.sync();
  }

  /** Stops following in the background; loops over permissions and questions end. */
  close(): void {
    this.follower.close();
  }

  /** The state, as far as the session was followed (`sync`). */
  get state(): SessionState {
    return this.follower.fold.state;
  }

  /** Whether it works, waits for a person, or is idle, as far as the session was followed. */
  get status(): SessionStatus {
    return this.follower.fold.status;
  }

  /** Whether it has ended, as far as the session was followed; a message starts it again. */
  get ended(): boolean {
    return this.follower.fold.ended;
  }

  /** Open permissions and questions, oldest first, as far as the session was followed. */
  get pending(): Pending[] {
    return Object.values(this.follower.fold.pending);
  }

  /** The turn, the messages and the calls, as far as the session was followed. */
  get view(): View {
    return this.follower.view;
  }

  /** Calls back for every event from now on, with the change of the view; returns how to stop that. */
  onEvent(heard: (event: Event, change: Change) => void): () => void {
    this.follower.sync().catch(() => undefined);
    return this.follower.listen({ event: heard, end: () => undefined });
  }

  /** Every permission that is or will be open. */
  permissions(): AsyncIterableIterator<PermissionRequest> {
    return requests("permission", this.http, this.path, this.follower);
  }

  /** Every question that is or will be open. */
  questions(): AsyncIterableIterator<QuestionRequest> {
    return requests("question", this.http, this.path, this.follower);
  }

  /** Sends a message once, also over cuts; the agent's work comes as events. */
  async send(message: string, options: SendOptions = {}): Promise<Sent> {
    const { attachments, delivery, clientIds, signal } = options;
    const body = { message, attachments, delivery, client_ids: clientIds };
    const headers = { "idempotency-key": randomId() };
    const { headers: told } = await this.http.send("POST", `${this.path}/messages`, {
      body, headers, signal, again: true, expects: "omniglot-message-id",
    });
    const header = (name: string) => told.get(`omniglot-${name}`) ?? "";
    return { messageId: header("message-id"), delivery: header("delivery") as Sent["delivery"] };
  }

  /** Sends a message and waits for the end of the turn that answers it. */
  async prompt(message: string, options: Omit<SendOptions, "delivery"> = {}): Promise<Answer> {
    await this.sync();
    const mark = options.clientIds?.[0] ?? randomId();
    const answer = this.answerTo(mark, options.signal);
    answer.catch(() => undefined);
    await this.send(message, { ...options, clientIds: options.clientIds ?? [mark] });
    return answer;
  }

  private answerTo(mark: string, signal: AbortSignal | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isOurs = false;
      const said: string[] = [];
      const event = (_: Event, change: Change) => {
        if (change.type === "turn_started") isOurs = change.turn.client_ids[0] === mark;
        if (!isOurs) return;
        if (change.type === "message_ended" && isAnswer(change.message)) said.push(change.message.text);
        if (change.type !== "turn_ended") return;
        stop();
        const { stop_reason, usage, cost_usd } = change.end.metadata;
        const error = change.turn?.failure ?? undefined;
        const [turnId, text] = [change.end.turn_id, said.join("\n\n")];
        resolve({ turnId, text, stopReason: stop_reason, usage: usage ?? undefined, costUsd: cost_usd ?? undefined, error });
      };
      const unlisten = this.follower.listen({ event, end: reject });
      const leave = () => {
        stop();
        reject(signal?.reason);
      };
      const stop = () => {
        unlisten();
        signal?.removeEventListener("abort", leave);
      };
      if (signal?.aborted) leave();
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** The session with its state, as the daemon has it now. */
  info(): Promise<SessionDetail> {
    return this.http.json("GET", this.path);
  }

  /** Changes title, model, modes or labels. */
  update(patch: Schemas["SessionPatch"]): Promise<SessionDetail> {
    return this.http.json("PATCH", this.path, { body: patch, again: true });
  }

  /** Cancels the running turn; queued messages stay unless they are dropped. */
  async cancel(options: { queue?: Schemas["QueueOnCancel"] } = {}): Promise<void> {
    await this.http.send("POST", `${this.path}/cancel`, { body: options, again: true });
  }

  /** Removes a queued message. */
  async unsend(messageId: string): Promise<void> {
    await this.http.send("DELETE", `${this.path}/messages/${encodeURIComponent(messageId)}`, { again: true, done: 404 });
  }

  /** Has the agent shorten its memory. */
  async compact(): Promise<void> {
    await this.http.send("POST", `${this.path}/compact`);
  }

  /** Ends the agent's process and the session; a message starts it again. */
  async terminate(): Promise<void> {
    await this.http.send("POST", `${this.path}/terminate`, { again: true });
  }

  /** Removes the session with everything that it has. */
  async delete(): Promise<void> {
    await this.http.send("DELETE", this.path, { again: true, done: 404 });
  }

  /** Makes a session that begins with the memory of this one's agent. */
  async fork(id: string = randomId()): Promise<Session> {
    const created = await this.http.json<Schemas["CreateSessionResponse"]>("POST", `${this.path}/fork`, {
      body: { sessionId: id },
    });
    return new Session(this.http, id, created);
  }
}

function isAnswer(message: { item: Schemas["UniversalItem"]; within: string | null; reasoning: boolean }): boolean {
  return message.item.role === "assistant" && message.within === null && !message.reasoning;
}

export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
