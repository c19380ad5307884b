/** The universal stream of a session as a table, and beside it one event whole with its native frame. */
import { useEffect, useState } from "preact/hooks";
import type { Event, Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt } from "../daemon/api.js";
import { EventWindow } from "../model/event-window.js";
import type { OpenSession } from "../model/open.js";
import { EventDetail } from "../parts/event-detail.js";
import { address, replace } from "../route.js";
import { clock } from "../text/numbers.js";
import { summary } from "../text/summary.js";
import { visible } from "../text/visible.js";

type EventType = Event["type"];

/** Every type of event; the compiler tells when one is missing. */
const KNOWN: Record<EventType, true> = {
  "session.started": true, "session.ended": true, "session.updated": true, "turn.started": true, "turn.ended": true,
  "item.started": true, "item.delta": true, "item.completed": true, "error": true, "permission.requested": true,
  "permission.resolved": true, "question.requested": true, "question.resolved": true, "agent.unparsed": true,
};
const TYPES = Object.keys(KNOWN) as EventType[];

export function EventsPage({ opened, sequence }: { opened: OpenSession; sequence: number | undefined }) {
  const [window] = useState(() => new EventWindow(opened.id, () => opened.transcript.fold.last_seq));
  const [types, setTypes] = useState<EventType[]>([]);
  const [words, setWords] = useState("");
  const [source, setSource] = useState<"" | Schemas["EventSource"]>("");
  void window.tick.value;
  const isWhole = opened.isWhole.value;
  useEffect(() => {
    const watch = (event: Event) => window.add(event);
    opened.watchers.add(watch);
    return () => void opened.watchers.delete(watch);
  }, []);
  useEffect(() => {
    window.types = types;
    if (isWhole) void attempt(() => (sequence === undefined ? window.toLast() : window.toAround(sequence)));
  }, [isWhole, types]);
  const toggle = (type: EventType) => setTypes(types.includes(type) ? types.filter((one) => one !== type) : [...types, type]);
  const shown = window.events.filter((event) => (source === "" || event.source === source) && (words === "" || text(event).includes(words.toLowerCase())));
  const page = (move: () => Promise<void>) => () => void attempt(move);
  const select = (sequence: number) => replace({ page: "session", id: opened.id, tab: "events", sequence });
  return (
    <div class={`events ${sequence === undefined ? "" : "with-detail"}`}>
      <div class="events-list">
        <div class="filters">
          <input type="search" data-search aria-label="Filter events" placeholder="Words in these events" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
          <select aria-label="Source" value={source} onChange={(event) => setSource(event.currentTarget.value as typeof source)}>
            <option value="">any source</option><option value="agent">agent</option><option value="daemon">daemon</option>
          </select>
          <div class="types" role="group" aria-label="Types">
            {TYPES.map((type) => <button type="button" key={type} class="type" aria-pressed={types.includes(type)} onClick={() => toggle(type)}>{type}</button>)}
          </div>
        </div>
        <div class="events-scroll" tabIndex={0} role="region" aria-label="List of events">
          <table aria-label="Events">
            <thead><tr><th scope="col">#</th><th scope="col">Time</th><th scope="col">Source</th><th scope="col">Type</th><th scope="col">What</th></tr></thead>
            <tbody>
              {shown.map((event) => <EventRow key={event.sequence} event={event} session={opened.id} isSelected={event.sequence === sequence} onSelect={select} />)}
            </tbody>
          </table>
          {shown.length === 0 && <p class="dim empty">{isWhole && !window.isBusy ? "No such event here." : "Reading…"}</p>}
        </div>
        <div class="pager">
          <button type="button" disabled={!window.hasBefore} onClick={page(() => window.toFirst())}>First</button>
          <button type="button" disabled={!window.hasBefore} onClick={page(() => window.toOlder())}>Older</button>
          <span class="dim small" role="status">{window.words()}</span>
          <button type="button" disabled={!window.hasAfter} onClick={page(() => window.toNewer())}>Newer</button>
          <button type="button" disabled={!window.hasAfter} onClick={page(() => window.toLast())}>Last</button>
        </div>
      </div>
      {sequence !== undefined && <EventDetail key={sequence} session={opened.id} sequence={sequence} last={opened.transcript.fold.last_seq} />}
    </div>
  );
}

function text(event: Event): string {
  return JSON.stringify(event).toLowerCase();
}

interface RowProps {
  event: Event;
  session: string;
  isSelected: boolean;
  onSelect: (sequence: number) => void;
}

function EventRow({ event, session, isSelected, onSelect }: RowProps) {
  const { sequence, type, source, synthetic, time } = event;
  return (
    <tr data-testid="event-row" data-sequence={sequence} data-type={type} aria-selected={isSelected} class={isSelected ? "selected" : ""} onClick={() => onSelect(sequence)}>
      <td><a href={address({ page: "session", id: session, tab: "events", sequence })}>{sequence}</a></td>
      <td class="dim">{clock(time)}</td>
      <td class="dim">{source}{synthetic ? " *" : ""}</td>
      <td><span class={`type-name t-${type.split(".")[0] ?? ""}`}>{type}</span></td>
      <td class="data">{visible(summary(event))}</td>
    </tr>
  );
}
