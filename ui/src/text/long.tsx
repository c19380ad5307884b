/** Texts that may be very long: a piece is shown, and more on demand. */
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { size } from "./numbers.js";
import { visible } from "./visible.js";

/** So many more characters are shown with each press. */
const STEP = 262_144;

interface LongProps {
  text: string;
  /** The characters that are shown at first. */
  limit: number;
  /** Whether the end matters more than the beginning. */
  end?: boolean;
  children: (text: string) => ComponentChildren;
}

export function Long({ text, limit, end = false, children }: LongProps) {
  const [more, setMore] = useState(0);
  const shown = limit + more;
  if (text.length <= shown) return <>{children(text)}</>;
  const button = (
    <button type="button" class="more" onClick={() => setMore(more + STEP)}>
      Show more ({size(text.length - shown)} {end ? "before" : "left"})
    </button>
  );
  // A character of two halves is not divided.
  const cut = end ? text.slice(-shown).replace(/^[\udc00-\udfff]/, "") : text.slice(0, shown).replace(/[\ud800-\udbff]$/, "");
  return (
    <>
      {end && button}
      {children(cut)}
      {!end && button}
    </>
  );
}

/** Plain words that may be very long. */
export function LongText({ text, limit = 2_000 }: { text: string; limit?: number }) {
  return <Long text={text} limit={limit}>{visible}</Long>;
}
