/** What a tool has written: the end of it while it runs, else the beginning. */
import { useEffect, useRef } from "preact/hooks";
import { Long } from "../text/long.js";
import { visible } from "../text/visible.js";

const SHOWN = 12_000;

export function Output({ text, isRunning, label = "Output" }: { text: string; isRunning: boolean; label?: string }) {
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (isRunning && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isRunning]);
  if (text === "") return null;
  return (
    <Long text={text} limit={SHOWN} end={isRunning}>
      {(shown) => <pre class="output" data-testid="output" ref={box} tabIndex={0} role="group" aria-label={label}>{visible(shown)}</pre>}
    </Long>
  );
}
