/** The client of an Omniglot daemon. */
import { type ClientOptions, Http } from "./http.js";
import { randomId, Session } from "./session.js";
import { type AllEventsOptions, AllEventStream, labelFilter } from "./stream.js";
import type { AgentInfo, Schemas, SessionInfo } from "./types.js";

export interface CreateOptions extends Omit<Schemas["CreateSessionRequest"], "labels"> {
  /** The id of the session; a random one by default. */
  id?: string;
  labels?: Record<string, string>;
}

export interface ListOptions {
  /** At most this many. */
  limit?: number;
  /** The last session of the page before. */
  after?: string;
  agent?: string;
  ended?: boolean;
  /** Only sessions with all these labels. */
  labels?: Record<string, string>;
}

export class Sessions {
  constructor(private readonly http: Http) {}

  /** Makes a session. */
  async create({ id, ...request }: CreateOptions): Promise<Session> {
    const ours = id ?? randomId();
    // After a cut, an id that only we know exists only if our own request has made it.
    const again = id === undefined ? { again: true, done: 409 } : {};
    const path = `/v1/sessions/${encodeURIComponent(ours)}`;
    const created = await this.http.json<Schemas["CreateSessionResponse"]>("POST", path, { body: request, ...again });
    return new Session(this.http, ours, created, true);
  }

  /** Returns a session that exists. */
  async get(id: string): Promise<Session> {
    const session = this.open(id);
    await session.info();
    return session;
  }

  /** Returns a session without asking the daemon whether it exists. */
  open(id: string): Session {
    return new Session(this.http, id);
  }

  /** Lists sessions, newest first. */
  async list({ labels, ...query }: ListOptions = {}): Promise<SessionInfo[]> {
    const list = await this.http.json<Schemas["SessionListResponse"]>("GET", "/v1/sessions", {
      query: { ...query, label: labelFilter(labels) },
    });
    return list.sessions;
  }
}

export class Agents {
  constructor(private readonly http: Http) {}

  async list(): Promise<AgentInfo[]> {
    return (await this.http.json<Schemas["AgentListResponse"]>("GET", "/v1/agents")).agents;
  }

  models(agent: string): Promise<Schemas["AgentModelsResponse"]> {
    return this.http.json("GET", `/v1/agents/${encodeURIComponent(agent)}/models`);
  }

  async modes(agent: string): Promise<Schemas["AgentModeInfo"][]> {
    const path = `/v1/agents/${encodeURIComponent(agent)}/modes`;
    return (await this.http.json<Schemas["AgentModesResponse"]>("GET", path)).modes;
  }
}

export class Omniglot {
  readonly sessions: Sessions;
  readonly agents: Agents;

  private readonly http: Http;

  constructor(options: ClientOptions = {}) {
    this.http = new Http(options);
    this.sessions = new Sessions(this.http);
    this.agents = new Agents(this.http);
  }

  /** The events of all sessions that the token sees; see `AllEventStream`. */
  events(options: AllEventsOptions = {}): AllEventStream {
    return new AllEventStream(this.http, options);
  }
}

export type { Answer } from "./answer.js";
export { Closed } from "./follower.js";
export { Fold, type OpenTurn } from "./fold.js";
export { type ClientOptions, OmniglotError } from "./http.js";
export { PermissionRequest, QuestionRequest } from "./requests.js";
export { type SendOptions, type Sent, Session } from "./session.js";
export { type AllEventsOptions, AllEventStream, type Cursor, type Damage, DamagedError, type EventsOptions, EventStream } from "./stream.js";
export type * from "./types.js";
export { type Call, type CallStatus, type Change, type Message, type Turn, View } from "./view.js";
