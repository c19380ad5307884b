/** A unified diff with its lines coloured. */
import { memo } from "./memo.js";
import { Long } from "./long.js";
import { visible } from "./visible.js";

const SHOWN = 30_000;
const LINES = 600;
/** Longer lines are cut; the whole text is in the event. */
const WIDTH = 2_000;

function kind(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "add";
  return line.startsWith("-") ? "del" : "same";
}

export const Diff = memo(({ diff }: { diff: string }) => (
  <Long text={diff} limit={SHOWN}>
    {(shown) => {
      const lines = shown.replace(/\n$/, "").split("\n");
      return (
        <div class="diff" data-testid="diff" role="group" aria-label="Diff" tabIndex={0}>
          {lines.slice(0, shown.length > SHOWN ? lines.length : LINES).map((line) => (
            <div class={kind(line)}>
              {visible(line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line) || " "}
            </div>
          ))}
          {shown.length <= SHOWN && lines.length > LINES && <div class="file">… {lines.length - LINES} more lines</div>}
        </div>
      );
    }}
  </Long>
));

/** The numbers of added and removed lines. */
export function counted(diff: string): { added: number; removed: number } {
  const lines = diff.split("\n");
  const count = (mark: string) => lines.filter((line) => kind(line) === mark).length;
  return { added: count("add"), removed: count("del") };
}
