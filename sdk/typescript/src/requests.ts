/** Permissions and questions: the agent asks, a person answers, and everybody learns how it was resolved. */
import { Closed, type Follower, Queue } from "./follower.js";
import { backoff, type Http, OmniglotError, pause } from "./http.js";
import type { Event, Pending, PermissionData, PermissionReply, QuestionData, SessionDetail } from "./types.js";

/** So often a reply is sent while somebody else's is on its way and may still fail. */
const REPLIES = 4;

abstract class OpenRequest<Data> {
  /**
   * Is fulfilled when the request is resolved, by whomever; fails when that cannot be learned any more: the session is
   * closed or deleted, or its log is another one (410).
   */
  readonly resolved: Promise<Data>;
  /** @internal */
  settle!: (data: Data) => void;
  /** @internal */
  fail!: (error: unknown) => void;

  constructor(
    readonly id: string,
    readonly data: Data,
    private readonly http: Http,
    private readonly session: string,
    private readonly kind: Kind,
  ) {
    this.resolved = new Promise((resolve, reject) => {
      [this.settle, this.fail] = [resolve, reject];
    });
    this.resolved.catch(() => undefined);
  }

  /** Sends the reply; it does nothing if somebody else's has come first, which `resolved` tells. */
  protected async post(verb: string, body: unknown): Promise<void> {
    const path = `${this.session}/${this.kind}s/${encodeURIComponent(this.id)}/${verb}`;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.http.send("POST", path, { body, again: true, done: 409 });
        return;
      } catch (error) {
        if (!(error instanceof OmniglotError && error.status === 409)) throw error;
        if (!(await this.isOpen())) return;
        if (attempt >= REPLIES) throw error;
      }
      await pause(backoff(attempt));
    }
  }

  private async isOpen(): Promise<boolean> {
    const { pending } = await this.http.json<SessionDetail>("GET", this.session);
    return pending.some((request) => idOf(request) === this.id);
  }
}

/** A permission that the agent waits for. */
export class PermissionRequest extends OpenRequest<PermissionData> {
  /** Replies; `always` covers the same tool and pattern for the rest of the session. */
  reply(reply: PermissionReply, message?: string): Promise<void> {
    return this.post("reply", { reply, message });
  }
}

/** A question that the agent waits for. */
export class QuestionRequest extends OpenRequest<QuestionData> {
  /** Answers: one array per question, of labels of its options or of free text. */
  answer(...answers: string[][]): Promise<void> {
    return this.post("reply", { answers });
  }

  reject(): Promise<void> {
    return this.post("reject", undefined);
  }
}

type Kind = "permission" | "question";
type RequestOf<K extends Kind> = K extends "permission" ? PermissionRequest : QuestionRequest;

/** Every open request of a kind, and every one that comes, until the loop is left or the session is closed. */
export function requests<K extends Kind>(
  kind: K,
  http: Http,
  path: string,
  follower: Follower,
): AsyncIterableIterator<RequestOf<K>> {
  // Those that wait to be asked, and those that were asked and are not resolved yet.
  const open = new Map<string, RequestOf<K>>();
  let isLeft = false;
  const queue = new Queue<RequestOf<K>>(() => {
    isLeft = true;
    for (const request of [...open.values()]) if (queue.remove(request)) open.delete(request.id);
    rest();
  });
  const add = (data: PermissionData | QuestionData) => {
    if (isLeft) return;
    const request = make(data, http, path) as RequestOf<K>;
    open.set(request.id, request);
    queue.push(request);
  };
  const take = (request: RequestOf<K>) => {
    open.delete(request.id);
    queue.remove(request);
    rest();
  };
  const rest = () => {
    if (isLeft && open.size === 0) stop();
  };
  const live = () => {
    for (const { type, ...data } of Object.values(follower.fold.pending)) if (type === kind) add(data as PermissionData);
  };
  const event = ({ type, data }: Event) => {
    if (type === `${kind}.requested`) add(data as PermissionData | QuestionData);
    const request = type === `${kind}.resolved` ? open.get(idOf(data as PermissionData | QuestionData)) : undefined;
    if (request === undefined) return;
    take(request);
    (request as OpenRequest<unknown>).settle(data);
  };
  const lost = (error: unknown) => {
    for (const request of [...open.values()]) {
      take(request);
      request.fail(error);
    }
  };
  const end = (error: unknown) => {
    for (const request of open.values()) request.fail(error);
    queue.end(error instanceof Closed ? undefined : error);
  };
  const stop = follower.listen({ event, live, lost, end });
  if (follower.isLive) live();
  void follower.sync();
  return queue;
}

function make(data: PermissionData | QuestionData, http: Http, session: string) {
  return "permission_id" in data
    ? new PermissionRequest(data.permission_id, data, http, session, "permission")
    : new QuestionRequest(data.question_id, data, http, session, "question");
}

function idOf(data: PermissionData | QuestionData | Pending): string {
  return "permission_id" in data ? data.permission_id : data.question_id;
}
