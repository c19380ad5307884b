/** Home: everything that needs a person, and every session at a glance. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { answering, dismissResolved, resolved } from "../model/answers.js";
import { isLoaded, loadLine, openRequests, type Row, rowState, rows, rowsTick, rowTitle } from "../model/rows.js";
import { RequestCard } from "../parts/request.js";
import { Select } from "../parts/select.js";
import { SearchHits } from "../parts/hits.js";
import { address, go } from "../route.js";
import { ago, cost, count, plural, stamp } from "../text/numbers.js";
import { LongText } from "../text/long.js";
import { brief, plain, visible } from "../text/visible.js";

/** So many sessions are listed at once. */
const PAGE = 100;

/** Changes so that times stay true. */
const minute = signal(0);
setInterval(() => (minute.value += 1), 30_000);

export function HomePage() {
  return (
    <div class="home">
      <h1 class="sr">Sessions</h1>
      <Inbox />
      <SessionList />
    </div>
  );
}

function Inbox() {
  void rowsTick.value;
  const requests = openRequests();
  const gone = resolved.value;
  return (
    <section class="inbox" aria-labelledby="needs">
      <h2 id="needs">Needs you {requests.length > 0 && <span class="badge">{requests.length}</span>}</h2>
      <div class="sr" role="status" aria-live="polite">{requests.length > 0 ? `${plural(requests.length, "request")} for you` : ""}</div>
      {gone.map((one) => (
        <div class="resolved" key={one.id} data-testid="resolved" data-request={one.id} role="status">
          <span class="grow"><strong><LongText text={one.subject} limit={300} /></strong>: <LongText text={one.text} limit={300} /></span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismissResolved(one.id)}>×</button>
        </div>
      ))}
      {requests.length === 0 && <p class="dim empty">{isLoaded.value ? "Nothing waits for you." : "Asking the daemon…"}</p>}
      {requests.map(({ id, session, request }) => (
        <div key={id} aria-busy={answering.value.has(id)}><RequestCard session={session} request={request} origin={<Origin id={session} />} /></div>
      ))}
    </section>
  );
}

function Origin({ id }: { id: string }) {
  const row = rows.get(id);
  return (
    <a class="origin" href={address({ page: "session", id, tab: "transcript" })}>
      {row ? `${row.info.agent} · ${brief(rowTitle(row))}` : id}
    </a>
  );
}

function SessionList() {
  void rowsTick.value;
  const [words, setWords] = useState("");
  const [state, setState] = useState("");
  const [agent, setAgent] = useState("");
  const [shown, setShown] = useState(PAGE);
  const all = [...rows.values()].sort((one, other) => other.info.updatedAt - one.info.updatedAt);
  const found = all.filter((row) => (state === "" || rowState(row) === state) && (agent === "" || row.info.agent === agent) && matches(row, words));
  const names = [...new Set(all.map((row) => row.info.agent))].sort();
  return (
    <section aria-labelledby="sessions">
      <div class="list-head">
        <h2 id="sessions">Sessions <span class="dim">{found.length}</span></h2>
        <input type="search" data-search aria-label="Search sessions" placeholder="Title, directory, agent, label, words ( / )" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        <Select label="State" value={state} none="any" options={["running", "waiting", "idle", "ended"].map((one) => [one, one])} onChange={setState} />
        <Select label="Agent" value={agent} none="any" options={names.map((one) => [one, one])} onChange={setAgent} />
        <a class="button primary" href={address({ page: "new" })}>New session</a>
      </div>
      {found.length === 0 && isLoaded.value && <p class="dim empty">{all.length === 0 ? "There is no session yet. Begin one." : "No session matches."}</p>}
      <ul class="rows">
        {found.slice(0, shown).map((row) => <li key={row.id}><RowView row={row} /></li>)}
      </ul>
      {found.length > shown && <button type="button" class="more" onClick={() => setShown(shown + PAGE)}>Show more ({found.length - shown} left)</button>}
      <SearchHits words={words} />
    </section>
  );
}

function matches(row: Row, words: string): boolean {
  if (words.trim() === "") return true;
  const labels = Object.entries(row.info.labels ?? {}).map(([key, value]) => `${key}:${value} ${key}=${value}`);
  const text = [rowTitle(row), row.info.directory, row.info.agent, row.id, row.fold.state.model, ...labels].join(" ").toLowerCase();
  return words.trim().toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function RowView({ row }: { row: Row }) {
  void row.tick.value;
  void minute.value;
  useEffect(() => loadLine(row), [row]);
  const state = rowState(row);
  const { context, cost_usd, model } = row.fold.state;
  const percent = context && context.window > 0 ? Math.round((100 * context.used) / context.window) : null;
  const to = { page: "session", id: row.id, tab: "transcript" } as const;
  return (
    <a class="session-row" data-testid="session-row" data-session={row.id} data-state={state} href={address(to)} onKeyDown={(event) => event.key === "o" && go(to)}>
      <span class={`state ${state}`}>{state}</span>
      <span class="row-main">
        <span class="row-title">{brief(rowTitle(row))}</span>
        <span class="row-line dim">{visible(row.line ?? "")}</span>
      </span>
      <span class="row-facts dim">
        <span class="row-agent">{row.info.agent}{model ? ` · ${plain(model)}` : ""}</span>
        <span class="row-directory" title={row.info.directory ?? ""}>{visible(short(row.info.directory ?? ""))}</span>
      </span>
      <span class="row-numbers dim">
        <span>{percent !== null && context && <><progress max={100} value={percent} class={percent > 80 ? "full" : ""} aria-label={`Context ${percent} %`} title={`${count(context.used)} of ${count(context.window)} tokens`} /> </>}{cost_usd != null && cost(cost_usd)}</span>
        <time dateTime={new Date(row.info.updatedAt).toISOString()} title={stamp(row.info.updatedAt)}>{ago(row.info.updatedAt)}</time>
      </span>
      {Object.keys(row.info.labels ?? {}).length > 0 && (
        <span class="row-labels">{Object.entries(row.info.labels ?? {}).map(([key, value]) => <span class="tag" key={key}>{visible(`${key}=${value}`)}</span>)}</span>
      )}
    </a>
  );
}

/** The end of a path, which tells most. */
function short(path: string): string {
  const parts = path.split("/");
  return parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : path;
}
