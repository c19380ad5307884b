/** The answer to one message: what the agent says in the turn that takes it. */
import type { Follower } from "./follower.js";
import type { Http } from "./http.js";
import type { Event, Schemas, StopReason, Usage } from "./types.js";
import type { Change } from "./view.js";

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

type Queue = NonNullable<Schemas["SessionState"]["queue"]>;
type Queued = Schemas["QueuedMessage"][];

/** Waits for the turn of the message with this client id; `stop` leaves before it has come. */
export function answerTo(mark: string | undefined, http: Http, follower: Follower): { answer: Promise<Answer>; stop: () => void } {
  let stop = () => {};
  const answer = new Promise<Answer>((resolve, reject) => {
    let [isQueued, isOurs] = [false, false];
    let looked = Promise.resolve();
    const said: string[] = [];
    // The turn of a message begins before the message leaves the queue.
    const look = async (queue: Queue) => {
      const wasQueued = isQueued;
      const messages = Array.isArray(queue) ? queue : await http.json<Queued>("GET", queue.$blob);
      isQueued = messages.some(({ client_ids }) => client_ids?.[0] === mark);
      if (wasQueued && !isQueued && !isOurs) reject(new Error("the message was removed from the queue"));
    };
    const event = ({ type, data }: Event, change: Change) => {
      if (change.type === "turn_started") isOurs = change.turn.client_ids[0] === mark;
      if (!isOurs && type === "session.updated" && data.queue !== undefined) {
        const queue = data.queue ?? [];
        looked = looked.then(() => look(queue)).catch(() => undefined);
      }
      if (!isOurs) return;
      if (change.type === "message_ended" && isAnswer(change.message)) said.push(change.message.text);
      if (change.type !== "turn_ended") return;
      const { stop_reason, usage, cost_usd } = change.end.metadata;
      const error = change.turn?.failure ?? undefined;
      const [turnId, text] = [change.end.turn_id, said.join("\n\n")];
      resolve({ turnId, text, stopReason: stop_reason, usage: usage ?? undefined, costUsd: cost_usd ?? undefined, error });
    };
    stop = follower.listen({ event, lost: reject, end: reject });
  });
  answer.catch(() => undefined);
  return { answer, stop };
}

function isAnswer(message: { item: Schemas["UniversalItem"]; within: string | null; reasoning: boolean }): boolean {
  return message.item.role === "assistant" && message.within === null && !message.reasoning;
}
