/** What a session is now: choices, context, cost, tasks, plan, queue and subagents. */
import type { ComponentChildren } from "preact";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt, session } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { useListed } from "../model/listed.js";
import type { OpenSession } from "../model/open.js";
import { Json } from "../text/json.js";
import { LongText } from "../text/long.js";
import { cost, count, stamp, total, usageWords } from "../text/numbers.js";
import { visible } from "../text/visible.js";
import { Part, Words } from "./content.js";
import { Choices } from "./choices.js";

type State = Schemas["SessionState"];

export function Panel({ opened }: { opened: OpenSession }) {
  void opened.transcript.stateTick.value;
  const { fold } = opened.transcript;
  const info = opened.info.value;
  // Until the log is read, the daemon's own word is the newest.
  const state = { ...(opened.isWhole.value ? fold.state : (info?.state ?? fold.state)) };
  return (
    <aside class="panel" aria-label="Session state">
      <Choices opened={opened} state={state} />
      <Context state={state} />
      <Queue id={opened.id} state={state} />
      <Todos state={state} />
      {state.plan && <Section title="Plan"><Words text={state.plan.text} /></Section>}
      <Subagents state={state} />
      {Object.values(fold.late).map((item) => <Section title="After the turn" key={item.item_id}>{item.content.map((part) => <Part part={part} />)}</Section>)}
      {info && (
        <Section title="About">
          <dl class="facts">
            <Fact name="agent" value={`${info.agent} ${fold.agent_version ?? info.agentVersion ?? ""}`} />
            <Fact name="directory" value={info.directory} />
            <Fact name="branch" value={info.worktree?.branch} />
            <Fact name="forked from" value={info.forkedFrom} />
            <Fact name="native id" value={fold.native_session_id ?? info.nativeSessionId} />
            <Fact name="created" value={stamp(info.createdAt)} />
            <Fact name="events" value={String(Math.max(fold.last_seq, info.eventCount))} />
            <Fact name="labels" value={Object.entries(info.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(" ")} />
          </dl>
        </Section>
      )}
    </aside>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="section" aria-label={title}><h2>{title}</h2>{children}</section>;
}

function Fact({ name, value }: { name: string; value: string | null | undefined }) {
  return value ? <div><dt>{name}</dt><dd><LongText text={value} limit={500} /></dd></div> : null;
}

function Context({ state }: { state: State }) {
  const { context, cost_usd, usage, activity, connection, changes } = state;
  const percent = context && context.window > 0 ? Math.min(100, Math.round((100 * context.used) / context.window)) : null;
  if (percent === null && cost_usd == null && !usage && !activity && connection !== "lost" && !changes) return null;
  return (
    <Section title="Use">
      {percent !== null && context && (
        <>
          <progress class={percent > 80 ? "full" : ""} max={100} value={percent} aria-label="Context" />
          <p class="small dim">Context: {count(context.used)} of {count(context.window)} tokens ({percent} %)</p>
        </>
      )}
      {(cost_usd != null || usage) && (
        <p class="small">
          {cost_usd != null && <strong>{cost(cost_usd)} </strong>}
          {usage && <span title={usageWords(usage)}>{count(total(usage))} tokens <span class="dim">({usageWords(usage)})</span></span>}
        </p>
      )}
      {changes && <p class="small">{changes.files} files, <span class="plus">+{changes.additions}</span> <span class="minus">−{changes.deletions}</span></p>}
      {activity && <p class="working">{activity}…</p>}
      {connection && connection !== "connected" && <p class="bad">The agent's process: {connection}</p>}
    </Section>
  );
}

function Queue({ id, state }: { id: string; state: State }) {
  const queue = useListed<Schemas["QueuedMessage"]>(state.queue);
  if (queue.length === 0) return null;
  return (
    <Section title="Queue">
      <ol class="queue" aria-label="Queue">
        {queue.map((message) => (
          <li key={message.message_id} data-testid="queued" data-message={message.message_id}>
            <span class="queued-text"><LongText text={message.message} limit={300} />{message.by && <span class="dim"> by {visible(message.by)}</span>}</span>
            {may("drive") && <button type="button" class="quiet" onClick={() => void attempt(() => session(id).unsend(message.message_id))}>Remove</button>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

const MARKS = { pending: "○", in_progress: "◐", completed: "✓" };

function Todos({ state }: { state: State }) {
  const todos = useListed<Schemas["Todo"]>(state.todos);
  if (todos.length === 0) return null;
  return (
    <Section title="To do">
      <ul class="todos" aria-label="To do" data-testid="todos">
        {todos.map((todo, at) => (
          <li key={at} class={todo.status}><span aria-label={todo.status.replace("_", " ")} role="img">{MARKS[todo.status] ?? "○"}</span> <span><LongText text={todo.text} limit={500} /></span></li>
        ))}
      </ul>
    </Section>
  );
}

function Subagents({ state }: { state: State }) {
  const subagents = useListed<unknown>(state.subagents);
  if (subagents.length === 0 && !state.team) return null;
  return (
    <Section title="Subagents">
      {subagents.map((one) => <Json value={one} open={1} />)}
      {state.team && <Json value={state.team} open={2} />}
    </Section>
  );
}
