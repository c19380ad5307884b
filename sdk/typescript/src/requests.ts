/** Permissions and questions: the agent asks, a person answers, and everybody learns how it was resolved. */
import { Closed, type Follower, Queue } from "./follower.js";
import type { Http } from "./http.js";
import type { Event, PermissionData, PermissionReply, QuestionData } from "./types.js";

abstract class OpenRequest<Data> {
  /** Is fulfilled when the request is resolved, by whomever. */
  readonly resolved: Promise<Data>;
  /** @internal */
  settle!: (data: Data) => void;
  /** @internal */
  fail!: (error: unknown) => void;

  constructor(
    readonly id: string,
    readonly data: Data,
    private readonly http: Http,
    private readonly path: string,
  ) {
    this.resolved = new Promise((resolve, reject) => {
      [this.settle, this.fail] = [resolve, reject];
    });
    this.resolved.catch(() => undefined);
  }

  protected async post(verb: string, body: unknown): Promise<void> {
    await this.http.send("POST", `${this.path}/${encodeURIComponent(this.id)}/${verb}`, { body, again: true, done: 409 });
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
  const open = new Map<string, RequestOf<K>>();
  const queue = new Queue<RequestOf<K>>(() => stop());
  const add = (data: PermissionData | QuestionData) => {
    const request = make(kind, data, http, path) as RequestOf<K>;
    open.set(request.id, request);
    queue.push(request);
  };
  const hear = (event: Event) => {
    if (event.type === `${kind}.requested`) add(event.data as PermissionData | QuestionData);
    if (event.type !== `${kind}.resolved`) return;
    const request = open.get(idOf(event.data as PermissionData | QuestionData));
    if (request === undefined) return;
    open.delete(request.id);
    queue.remove((waiting) => waiting === request);
    (request as OpenRequest<unknown>).settle(event.data);
  };
  const end = (error: unknown) => {
    for (const request of open.values()) request.fail(error);
    queue.end(error instanceof Closed ? undefined : error);
  };
  const stop = follower.listen({ event: hear, end });
  for (const { type, ...data } of Object.values(follower.fold.pending)) if (type === kind) add(data as PermissionData);
  follower.sync().catch(() => undefined);
  return queue;
}

function make(kind: Kind, data: PermissionData | QuestionData, http: Http, path: string) {
  return "permission_id" in data
    ? new PermissionRequest(data.permission_id, data, http, `${path}/${kind}s`)
    : new QuestionRequest(data.question_id, data, http, `${path}/${kind}s`);
}

function idOf(data: PermissionData | QuestionData): string {
  return "permission_id" in data ? data.permission_id : data.question_id;
}
