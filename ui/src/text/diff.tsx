/** A unified diff with its lines coloured. */
import { useMemo, useState } from "preact/hooks";
import { memo } from "./memo.js";
import { LongText } from "./long.js";
import { plural } from "./numbers.js";

/** The lines and the characters that are shown at first, and how much more with each press. */
const LINES = 600;
const SHOWN = 30_000;
const STEP = 8;
/** The characters of a line that are shown at first. */
const WIDTH = 2_000;

/** What a line of a diff is; a file is named by two lines in a row, and one of them alone is a change. */
function kind(lines: string[], at: number): string {
  const line = lines[at] ?? "";
  if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) return "file";
  if (line.startsWith("+++ ") && lines[at - 1]?.startsWith("--- ")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "add";
  return line.startsWith("-") ? "del" : "same";
}

export const Diff = memo(({ diff }: { diff: string }) => {
  const [rounds, setRounds] = useState(0);
  const lines = useMemo(() => diff.replace(/\n$/, "").split("\n"), [diff]);
  const shown = fitting(lines, 1 + STEP * rounds);
  return (
    <>
      <div class="diff" data-testid="diff" role="group" aria-label="Diff" tabIndex={0}>
        {lines.slice(0, shown).map((line, at) => <div class={kind(lines, at)}>{line === "" ? " " : <LongText text={line} limit={WIDTH} />}</div>)}
      </div>
      {shown < lines.length && (
        <button type="button" class="more" onClick={() => setRounds(rounds + 1)}>Show more ({plural(lines.length - shown, "line")} left)</button>
      )}
    </>
  );
});

/** How many lines fit into so many times what is shown at first; one always does. */
function fitting(lines: string[], times: number): number {
  let [at, left] = [0, SHOWN * times];
  while (at < lines.length && at < LINES * times && (at === 0 || left > 0)) left -= Math.min(lines[at++]?.length ?? 0, WIDTH);
  return at;
}

/** The numbers of added and removed lines. */
export function counted(diff: string): { added: number; removed: number } {
  const lines = diff.split("\n");
  const count = (mark: string) => lines.filter((_, at) => kind(lines, at) === mark).length;
  return { added: count("add"), removed: count("del") };
}
