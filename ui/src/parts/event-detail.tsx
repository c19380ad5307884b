/** One event whole, and beside it the agent's own frame that it was made of. */
import { useEffect, useState } from "preact/hooks";
import { type Event, OmniglotError, type Schemas } from "../../../sdk/typescript/src/index.js";
import { get, pathOf } from "../daemon/api.js";
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
        // A token that may not see frames was told so by this answer, and the event is asked for without one.
        const isScope = error instanceof OmniglotError && error.status === 403;
        if (!isScope) setProblem(words(error).text);
      },
    );
  }, [session, sequence, isAdmin]);
  const to = (sequence?: number) => ({ page: "session", id: session, tab: "events", ...(sequence ? { sequence } : {}) }) as const;
  // Without a secure origin or a person's leave there is no clipboard.
  const copy = (text: string, done: string, otherwise: string) => {
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject();
    copied.then(() => tell("info", done), () => tell("info", otherwise));
  };
  const link = location.origin + location.pathname + address(to(sequence));
  const { raw, ...universal } = event ?? { raw: undefined };
  return (
    <div class="event-detail">
      <div class="detail-head">
        <button type="button" class="quiet" aria-label="Previous event" disabled={sequence <= 1} onClick={() => replace(to(sequence - 1))}>←</button>
        <h2>Event {sequence}</h2>
        <button type="button" class="quiet" aria-label="Next event" disabled={last > 0 && sequence >= last} onClick={() => replace(to(sequence + 1))}>→</button>
        <span class="grow" />
        <button type="button" class="quiet" onClick={() => copy(link, "The link is copied.", link)}>Copy link</button>
        <button type="button" class="quiet" onClick={() => copy(JSON.stringify(event, null, 2), "The event is copied.", "This browser lets the page copy nothing.")}>Copy JSON</button>
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
