/** One event whole, and beside it the agent's own frame that it was made of. */
import { useEffect, useState } from "preact/hooks";
import { type Event, OmniglotError, type Schemas } from "../../../sdk/typescript/src/index.js";
import { get, learnScope, pathOf } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { tell, words } from "../daemon/notices.js";
import { address, replace } from "../route.js";
import { Json } from "../text/json.js";
import { visible } from "../text/visible.js";

interface DetailProps {
  session: string;
  sequence: number;
  last: number;
}

export function EventDetail({ session, sequence, last }: DetailProps) {
  const [event, setEvent] = useState<Event | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isAdmin = may("admin");
  useEffect(() => {
    const query = { offset: sequence - 1, limit: 1, include_raw: isAdmin ? true : undefined };
    get<Schemas["EventsResponse"]>(`${pathOf(session)}/events`, query).then(
      ({ events }) => (events[0]?.sequence === sequence ? setEvent(events[0]) : setProblem("There is no such event.")),
      (error: unknown) => {
        learnScope(error, "admin");
        const isScope = error instanceof OmniglotError && error.status === 403;
        if (!isScope) setProblem(words(error).text);
      },
    );
  }, [session, sequence, isAdmin]);
  const to = (sequence?: number) => ({ page: "session", id: session, tab: "events", ...(sequence ? { sequence } : {}) }) as const;
  const copy = () => {
    const link = location.origin + location.pathname + address(to(sequence));
    // Without a secure origin there is no clipboard; the link can still be read.
    const copied = navigator.clipboard?.writeText(link) ?? Promise.reject();
    copied.then(() => tell("info", "The link is copied."), () => tell("info", link));
  };
  const { raw, ...universal } = event ?? { raw: undefined };
  return (
    <div class="event-detail">
      <div class="detail-head">
        <button type="button" class="quiet" aria-label="Previous event" disabled={sequence <= 1} onClick={() => replace(to(sequence - 1))}>←</button>
        <h2>Event {sequence}</h2>
        <button type="button" class="quiet" aria-label="Next event" disabled={last > 0 && sequence >= last} onClick={() => replace(to(sequence + 1))}>→</button>
        <span class="grow" />
        <button type="button" class="quiet" onClick={copy}>Copy link</button>
        <button type="button" class="quiet" onClick={() => void navigator.clipboard?.writeText(JSON.stringify(event, null, 2))}>Copy JSON</button>
        <button type="button" class="quiet" aria-label="Close" onClick={() => replace(to())}>×</button>
      </div>
      {problem && <p class="error-box">{visible(problem)}</p>}
      <div class="frames">
        <section aria-label="Event">
          <h3>Universal event</h3>
          {event && <Json value={universal} open={7} />}
        </section>
        <section aria-label="Native frame" data-testid="native-frame">
          <h3>Native frame</h3>
          {!isAdmin && <p class="dim">The agent's own frames need the scope <code>admin</code>: <code>omniglot ui --admin</code> opens this page with it.</p>}
          {isAdmin && event && (raw == null ? <p class="dim">The daemon made this event; there is no frame.</p> : <Json value={raw} open={7} />)}
        </section>
      </div>
    </div>
  );
}
