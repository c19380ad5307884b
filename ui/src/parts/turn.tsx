/** One turn: what was said and done in it, how it ended and what it cost. */
import { attempt, pathOf, post } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { tell } from "../daemon/notices.js";
import type { TurnBlock } from "../model/entries.js";
import { open } from "../model/open.js";
import { address, go } from "../route.js";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { randomId } from "../../../sdk/typescript/src/session.js";
import { clock, cost, count, duration, plural, stamp, total, usageWords } from "../text/numbers.js";
import { plain, visible } from "../text/visible.js";
import { Entries } from "./entry.js";
import { Menu } from "./menu.js";

const STOPS: Record<string, string> = {
  end_turn: "done", max_tokens: "stopped: the answer was too long", max_turns: "stopped: too many answers",
  max_budget: "stopped: budget used up", refusal: "refused", cancelled: "cancelled", error: "failed",
};

export function TurnView({ turn }: { turn: TurnBlock }) {
  void turn.tick.value;
  if (turn.id === null) return <div class="between" data-key={turn.key}><Entries entries={turn.entries} tick={turn.tick} /></div>;
  const state = turn.end === null ? "running" : "ended";
  return (
    <article
      class="turn" data-testid="turn" data-key={turn.key} data-turn={turn.id} data-state={state} tabIndex={-1}
      aria-label={`Turn ${turn.number} ${plain(turn.title)}`}
    >
      <Entries entries={turn.entries} tick={turn.tick} />
      <Foot turn={turn} />
    </article>
  );
}

function Foot({ turn }: { turn: TurnBlock }) {
  void turn.tick.value;
  const session = open.value?.id ?? "";
  const end = turn.end;
  return (
    <footer class="turn-foot">
      <a href={address({ page: "session", id: session, tab: "transcript", turn: turn.id ?? "" })} title={stamp(turn.time)}>
        Turn {turn.number}
      </a>
      <span>{clock(turn.time)}</span>
      {turn.by && <span>by {visible(turn.by)}</span>}
      {turn.origin === "agent" && <span>begun by the agent</span>}
      {turn.isCopy && <span class="tag">copied</span>}
      {end === null && <span class="working">working…</span>}
      {end && <span class={end.stop_reason === "end_turn" ? "good" : "bad"}>{STOPS[end.stop_reason] ?? end.stop_reason}</span>}
      {end && <span>{duration(end.duration_ms)}</span>}
      {end?.usage && <span title={usageWords(end.usage)}>{count(total(end.usage))} tokens</span>}
      {end?.usage_subagents && <span title={usageWords(end.usage_subagents)}>+ {count(total(end.usage_subagents))} of subagents</span>}
      {end?.cost_usd != null && <span>{cost(end.cost_usd)}</span>}
      {end?.model && <span>{visible(end.model)}</span>}
      {end && may("drive") && !turn.isCopy && <TurnMenu session={session} turn={turn.id ?? ""} />}
    </footer>
  );
}

function TurnMenu({ session, turn }: { session: string; turn: string }) {
  const revert = (force: boolean) => async () => {
    const done = await post<Schemas["RevertResponse"]>(`${pathOf(session)}/revert`, { turn, force });
    tell("info", `${plural(done.paths.length, "file")} restored.`);
  };
  const fork = async () => {
    const sessionId = randomId();
    await post(`${pathOf(session)}/fork`, { sessionId, beforeTurn: turn });
    go({ page: "session", id: sessionId, tab: "transcript" });
  };
  return (
    <Menu label="Turn actions" name="⋯" items={[
      { name: "Revert files of this turn", act: () => attempt(revert(false)) },
      { name: "Revert files by force", act: () => attempt(revert(true)) },
      { name: "Fork before this turn", act: () => attempt(fork) },
    ]} />
  );
}
