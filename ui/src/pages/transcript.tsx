/** The transcript of a session, the box for the next message, and what the session is now. */
import { useEffect, useState } from "preact/hooks";
import { may } from "../daemon/login.js";
import type { TurnBlock } from "../model/entries.js";
import type { OpenSession } from "../model/open.js";
import { Composer } from "../parts/composer.js";
import { Icon } from "../parts/icons.js";
import { Panel } from "../parts/panel.js";
import { Turns } from "../parts/turns.js";
import { plural } from "../text/numbers.js";
import { plain } from "../text/visible.js";

export function TranscriptPage({ opened, turn }: { opened: OpenSession; turn: string | undefined }) {
  const { transcript } = opened;
  void transcript.tick.value;
  const [target, setTarget] = useState<{ turn: string; wish: number } | null>(null);
  const [isPanelOpen, setPanelOpen] = useState(false);
  const [isBack, setBack] = useState(false);
  const isWhole = opened.isWhole.value;
  useEffect(() => {
    if (turn !== undefined && isWhole) setTarget({ turn, wish: Date.now() });
  }, [turn, isWhole]);
  const { shown, taken } = split(transcript.turns, transcript.fold.state.reverted_from ?? null);
  const turns = isBack ? transcript.turns : shown;
  return (
    <div class={`transcript ${isPanelOpen ? "with-panel" : ""}`}>
      <div class="column">
        <div class="turn-bar">
          <Jump turns={isWhole ? turns.filter((one) => one.id !== null) : []} current={target?.turn ?? null} onJump={(turn) => setTarget({ turn, wish: Date.now() })} />
          <span class="grow" />
          {taken > 0 && <button type="button" class="quiet" onClick={() => setBack(!isBack)}>{isBack ? "Hide" : "Show"} {plural(taken, "turn")} taken back</button>}
          <button type="button" class="quiet panel-button" aria-expanded={isPanelOpen} onClick={() => setPanelOpen(!isPanelOpen)}><Icon name="panel" /> State</button>
        </div>
        <Turns transcript={transcript} turns={turns} target={target} endWish={opened.endWish.value} />
        {turns.length === 0 && isWhole && <p class="dim empty">Nothing was said yet.</p>}
        {may("drive") && <Composer key={opened.id} opened={opened} />}
      </div>
      <Panel opened={opened} />
    </div>
  );
}

/** Turns that count, and how many were taken back. */
function split(turns: TurnBlock[], from: string | null): { shown: TurnBlock[]; taken: number } {
  const at = from === null ? -1 : turns.findIndex((turn) => turn.id === from);
  return at < 0 ? { shown: turns, taken: 0 } : { shown: turns.slice(0, at), taken: turns.length - at };
}

/** So many turns are in the list of turns at once. */
const LISTED = 500;

function Jump({ turns, current, onJump }: { turns: TurnBlock[]; current: string | null; onJump: (turn: string) => void }) {
  const at = current === null ? turns.length : turns.findIndex((turn) => turn.id === current);
  const step = (by: number) => {
    const to = turns[Math.min(Math.max(at + by, 0), turns.length - 1)];
    if (to?.id) onJump(to.id);
  };
  // The newest turns are listed first, and others on demand.
  const [pages, setPages] = useState(0);
  const to = Math.max(Math.min(LISTED, turns.length), turns.length - pages * LISTED);
  const from = Math.max(0, to - LISTED);
  const choose = (value: string) => {
    if (value === "earlier" || value === "later") setPages(pages + (value === "earlier" ? 1 : -1));
    else if (value !== "") onJump(value);
  };
  if (turns.length === 0) return null;
  return (
    <div class="jump">
      <button type="button" class="quiet" data-step="-1" aria-label="Previous turn" onClick={() => step(-1)}>↑</button>
      <button type="button" class="quiet" data-step="1" aria-label="Next turn" onClick={() => step(1)}>↓</button>
      <select aria-label="Jump to turn" value={current ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{plural(turns.length, "turn")}</option>
        {from > 0 && <option value="earlier">Earlier turns…</option>}
        {turns.slice(from, to).map((turn) => <option key={turn.key} value={turn.id ?? ""}>{turn.number}. {plain(turn.title) || "…"}</option>)}
        {to < turns.length && <option value="later">Later turns…</option>}
      </select>
    </div>
  );
}
