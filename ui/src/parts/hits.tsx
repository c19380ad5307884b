/** What was said in all sessions that has the words of a search. */
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { get } from "../daemon/api.js";
import { address } from "../route.js";
import { stamp } from "../text/numbers.js";
import { visible } from "../text/visible.js";

/** A person has stopped typing. */
const PAUSE_MS = 250;

export function SearchHits({ words }: { words: string }) {
  const [found, setFound] = useState<Schemas["SearchResponse"] | null>(null);
  useEffect(() => {
    setFound(null);
    if (words.trim().length < 3 || !/[\p{L}\p{N}]/u.test(words)) return;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      get<Schemas["SearchResponse"]>("/v1/search", { q: words, limit: 20 }, controller.signal).then(setFound, () => undefined);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [words]);
  if (found === null || found.hits.length === 0) return null;
  return (
    <section aria-label="Found in transcripts" class="hits">
      <h2>Found in transcripts</h2>
      <ul class="rows">
        {found.hits.map((hit) => (
          <li key={`${hit.sessionId}-${hit.sequence}`}>
            <a class="session-row hit" href={address({ page: "session", id: hit.sessionId, tab: "events", sequence: hit.sequence })}>
              <span class="row-main">
                <span class="row-title">{visible(hit.text)}</span>
                <span class="row-line dim">{hit.agent} · {visible(hit.title ?? hit.sessionId)} · {stamp(hit.time)}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {found.hasMore && <p class="dim">There is more; add a word.</p>}
    </section>
  );
}
