/** All changes of files that the session has told, by file or by turn. */
import { useState } from "preact/hooks";
import { type Change, grouped } from "../model/changes.js";
import type { OpenSession } from "../model/open.js";
import { Counts, FileRef, near } from "../parts/file.js";
import { address } from "../route.js";
import { plural } from "../text/numbers.js";
import { plain, visible } from "../text/visible.js";

/** So many changes are in the page at once. */
const SHOWN = 60;

export function ChangesPage({ opened }: { opened: OpenSession }) {
  const { changes } = opened.transcript;
  void changes.tick.value;
  const [by, setBy] = useState<"file" | "turn">("file");
  const [shown, setShown] = useState(SHOWN);
  const groups = by === "file" ? grouped(changes.all, ({ path }) => path) : grouped(changes.all, ({ number }) => `Turn ${number}`);
  let left = shown;
  return (
    <div class="page changes">
      <div class="list-head">
        <h2>{plural(changes.all.length, "change")} in {plural(new Set(changes.all.map(({ path }) => path)).size, "file")}</h2>
        <span class="grow" />
        <div class="segmented" role="group" aria-label="Order">
          <button type="button" aria-pressed={by === "file"} onClick={() => setBy("file")}>By file</button>
          <button type="button" aria-pressed={by === "turn"} onClick={() => setBy("turn")}>By turn</button>
        </div>
      </div>
      {changes.all.length === 0 && <p class="dim empty">{opened.isWhole.value ? "The agent has told no change of a file." : "Reading…"}</p>}
      {[...groups].map(([name, list]) => {
        const part = list.slice(0, Math.max(0, left));
        left -= list.length;
        return part.length === 0 ? null : <Group key={name} name={name} changes={part} by={by} session={opened.id} />;
      })}
      {left < 0 && <button type="button" class="more" onClick={() => setShown(shown + SHOWN)}>Show more ({-left} left)</button>}
    </div>
  );
}

function Group({ name, changes, by, session }: { name: string; changes: Change[]; by: "file" | "turn"; session: string }) {
  const diffs = changes.map(({ diff }) => diff ?? "").join("\n");
  return (
    <details class="group" open>
      <summary><span class="path" title={plain(name)}>{visible(near(name))}</span> <span class="dim">{plural(changes.length, "change")}</span> <Counts diff={diffs} /></summary>
      {changes.map((change) => (
        <div class="change" key={change.key} data-testid="change" data-path={change.path} data-turn={change.turn ?? ""}>
          {by === "file" && change.turn && <a class="small" href={address({ page: "session", id: session, tab: "transcript", turn: change.turn })}>Turn {change.number}</a>}
          <FileRef path={by === "file" ? "" : change.path} action={change.action} diff={change.diff} blob={change.blob} />
        </div>
      ))}
    </details>
  );
}
