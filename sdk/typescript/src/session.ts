/** One session: its events, its state, and everything that a client can do with it. */
import { type Answer, answerTo } from "./answer.js";
import { Follower } from "./follower.js";
import type { Http } from "./http.js";
import { type PermissionRequest, type QuestionRequest, requests } from "./requests.js";
import { type EventsOptions, EventStream } from "./stream.js";
import type { Event, Pending, Schemas, SessionDetail, SessionState, SessionStatus } from "./types.js";
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

export class Session {
  private readonly path: string;
  private readonly follower: Follower;

  constructor(
    private readonly http: Http,
    readonly id: string,
    /** The daemon's answer to the request that made this session: whether it can work yet. */
    readonly created?: Schemas["CreateSessionResponse"],
    /** Whether all its events are news; else what happened before it is followed is not told to listeners. */
    isNew = false,
  ) {
    this.path = `/v1/sessions/${encodeURIComponent(id)}`;
    this.follower = new Follower((signal, onCaughtUp) => this.events({ signal, onCaughtUp }), isNew);
  }

  /** The events, in order and each once; see `EventStream`. */
  events(options: EventsOptions = {}): EventStream {
    return new EventStream(this.http, this.path, options);
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

  /**
   * Calls back for every event from now on, with the change of the view; returns how to stop that. Of a session that
   * this client has not made, "now" is when `sync` is done. An exception of a callback is reported as uncaught, as that
   * of a DOM listener is, and keeps nobody else from hearing.
   */
  onEvent(heard: (event: Event, change: Change) => void): () => void {
    void this.follower.sync();
    const event = (event: Event, change: Change) => {
      try {
        heard(event, change);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    };
    return this.follower.listen({ event, end: () => undefined });
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

  /** Sends a message and waits for the end of the turn that answers it; throws if it is removed from the queue. */
  async prompt(message: string, options: Omit<SendOptions, "delivery"> = {}): Promise<Answer> {
    const { signal } = options;
    let leave = () => {};
    const left = new Promise<never>((_, reject) => (leave = () => reject(signal?.reason)));
    left.catch(() => undefined);
    if (signal?.aborted) leave();
    signal?.addEventListener("abort", leave, { once: true });
    let stop = () => {};
    try {
      await Promise.race([this.sync(), left]);
      const clientIds = options.clientIds?.length ? options.clientIds : [randomId()];
      const waiting = answerTo(clientIds[0], this.http, this.follower);
      stop = waiting.stop;
      await this.send(message, { ...options, clientIds });
      return await Promise.race([waiting.answer, left]);
    } finally {
      stop();
      signal?.removeEventListener("abort", leave);
    }
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

export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
