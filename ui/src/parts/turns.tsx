/** The turns of a session as a list that scrolls: only those near what is seen are in the page. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TurnBlock } from "../model/entries.js";
import type { Transcript } from "../model/transcript.js";
import { Heights } from "../model/window.js";
import { TurnView } from "./turn.js";

/** Who is so near to the end wants to see what comes. */
const NEAR = 80;

interface TurnsProps {
  transcript: Transcript;
  turns: TurnBlock[];
  /** The turn to jump to, and a number that changes with each wish. */
  target: { turn: string; wish: number } | null;
  /** Changes when the end is wished for. */
  endWish: number;
}

export function Turns({ transcript, turns, target, endWish }: TurnsProps) {
  void transcript.tick.value;
  const pane = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const heights = useMemo(() => new Heights(), [transcript]);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [isAtEnd, setEnd] = useState(true);
  // Observers of an earlier rendering must know it at once.
  const atEnd = useRef(true);
  const setAtEnd = (isAtEnd: boolean) => {
    atEnd.current = isAtEnd;
    setEnd(isAtEnd);
  };
  const [, setMeasured] = useState(0);
  const keys = turns.map((turn) => turn.key);
  const window = isAtEnd ? heights.tail(keys, view.height) : heights.window(keys, view.top, view.height);
  const shown = turns.slice(window.from, window.to);

  const onScroll = () => {
    const box = pane.current;
    if (!box) return;
    setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight < NEAR);
    setView({ top: box.scrollTop, height: box.clientHeight });
  };
  const toEnd = () => {
    setAtEnd(true);
    if (pane.current) pane.current.scrollTop = pane.current.scrollHeight;
  };

  // What grows at the end is followed; what is measured counts for the window.
  useEffect(() => {
    const box = pane.current;
    if (!box || !list.current) return;
    const observer = new ResizeObserver(() => {
      if (atEnd.current) box.scrollTop = box.scrollHeight;
      let isNew = false;
      for (const child of list.current?.children ?? [])
        if (child instanceof HTMLElement && child.dataset["key"]) isNew = heights.set(child.dataset["key"], child.offsetHeight) || isNew;
      if (isNew) setMeasured((before) => before + 1);
    });
    observer.observe(list.current);
    observer.observe(box);
    return () => observer.disconnect();
  }, [heights]);

  useLayoutEffect(() => {
    if (atEnd.current && pane.current) pane.current.scrollTop = pane.current.scrollHeight;
  });

  useEffect(() => {
    if (endWish > 0) toEnd();
  }, [endWish]);

  // A jump is made in steps: turns on the way get their real heights only when they are in the page.
  useEffect(() => {
    if (target === null) return;
    setAtEnd(false);
    let tries = 0;
    const jump = () => {
      const box = pane.current;
      const at = keys.indexOf(target.turn);
      if (!box || at < 0) return;
      const element = list.current?.querySelector<HTMLElement>(`[data-turn="${CSS.escape(target.turn)}"]`);
      const top = element ? element.offsetTop : heights.top(keys, at);
      if (Math.abs(box.scrollTop - top) > 2) box.scrollTop = top;
      if (element) element.focus({ preventScroll: true });
      if (++tries < 8) requestAnimationFrame(jump);
    };
    requestAnimationFrame(jump);
  }, [target?.wish, target?.turn]);

  return (
    <div class="turns-pane" ref={pane} onScroll={onScroll} tabIndex={0} role="region" aria-label="Transcript">
      <div class="turns" ref={list}>
        <div style={{ height: `${window.above}px` }} />
        {shown.map((turn) => <TurnView key={turn.key} turn={turn} />)}
        <div style={{ height: `${window.below}px` }} />
      </div>
      {!isAtEnd && <button type="button" class="to-end" onClick={toEnd}>↓ To the end</button>}
    </div>
  );
}
