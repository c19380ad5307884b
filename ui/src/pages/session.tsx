/** The head of a session: title, state, tabs and actions. The page below it is one of its tabs. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { randomId } from "../../../sdk/typescript/src/session.js";
import { attempt, pathOf, post, session } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { tell } from "../daemon/notices.js";
import type { OpenSession } from "../model/open.js";
import { Menu, type MenuItem } from "../parts/menu.js";
import { address, go, type Tab } from "../route.js";
import { plural } from "../text/numbers.js";
import { brief } from "../text/visible.js";

export function SessionPage({ opened, tab, children }: { opened: OpenSession; tab: Tab; children: ComponentChildren }) {
  if (opened.problem.value !== null)
    return (
      <div class="gone">
        <p class="error-box" role="alert">{opened.problem.value}</p>
        <a class="button" href={address({ page: "home" })}>All sessions</a>
      </div>
    );
  return (
    <div class="session">
      <Head opened={opened} tab={tab} />
      {children}
    </div>
  );
}

function Head({ opened, tab }: { opened: OpenSession; tab: Tab }) {
  void opened.transcript.stateTick.value;
  const { fold } = opened.transcript;
  const info = opened.info.value;
  const isWhole = opened.isWhole.value;
  const [isRenaming, setRenaming] = useState(false);
  const title = fold.state.title ?? info?.title ?? fold.first_prompt ?? opened.id;
  const status = isWhole ? (fold.ended && fold.open_turn === null ? "ended" : fold.status) : info?.ended ? "ended" : (info?.status ?? "idle");
  const link = (to: Tab, name: string) => (
    <a href={address({ page: "session", id: opened.id, tab: to })} aria-current={tab === to ? "page" : undefined}>{name}</a>
  );
  return (
    <header class="session-head">
      <div class="session-title">
        <span class={`state ${status}`} role="status" data-testid="session-state" data-state={status}>{status}</span>
        {isRenaming
          ? <Rename id={opened.id} title={title} onDone={() => setRenaming(false)} />
          : <h1 title={brief(title)}>{brief(title)}</h1>}
        <span class="dim session-agent">{info?.agent ?? ""}</span>
        {!isWhole && <span class="dim small" role="status">reading… {fold.last_seq.toLocaleString("en-US")}{info ? ` of ${info.eventCount.toLocaleString("en-US")}` : ""} events</span>}
      </div>
      <nav class="tabs" aria-label="Session">
        {link("transcript", "Transcript")}
        {link("changes", "Changes")}
        {link("events", "Events")}
        {may("drive") && <Menu label="More" name="More" items={actions(opened, () => setRenaming(true))} />}
      </nav>
    </header>
  );
}

function Rename({ id, title, onDone }: { id: string; title: string; onDone: () => void }) {
  const [words, setWords] = useState(title);
  const save = async () => {
    if (await attempt(() => session(id).update({ title: words.trim() }))) onDone();
  };
  return (
    <form class="rename" onSubmit={(event) => (event.preventDefault(), void save())}>
      <h1 class="sr">{brief(title)}</h1>
      <input aria-label="Title" value={words} ref={(input) => input?.focus()} onInput={(event) => setWords(event.currentTarget.value)} onKeyDown={(event) => event.key === "Escape" && onDone()} />
      <button type="submit" class="primary">Save</button>
    </form>
  );
}

function actions(opened: OpenSession, rename: () => void): MenuItem[] {
  const path = pathOf(opened.id);
  const drive = (act: () => Promise<unknown>) => () => void attempt(act);
  const items: MenuItem[] = [
    { name: "Rename", act: rename },
    { name: "Compact", act: drive(() => session(opened.id).compact()) },
    { name: "Fork", act: drive(async () => {
      const sessionId = randomId();
      await post(`${path}/fork`, { sessionId });
      go({ page: "session", id: sessionId, tab: "transcript" });
    }) },
    { name: "Revert last turn", act: drive(async () => {
      const done = await post<Schemas["RevertResponse"]>(`${path}/revert`, {});
      tell("info", `${plural(done.paths.length, "file")} restored. “Undo revert” brings them back.`);
    }) },
    { name: "Undo revert", act: drive(async () => {
      const done = await post<Schemas["RevertResponse"]>(`${path}/unrevert`, {});
      tell("info", `${plural(done.paths.length, "file")} brought back.`);
    }) },
    { name: "End session", act: drive(() => session(opened.id).terminate()) },
  ];
  if (may("admin"))
    items.push({ name: "Delete", isDangerous: true, act: async () => {
      if (!confirm("Delete this session with everything that it has?")) return;
      if (await attempt(() => session(opened.id).delete())) go({ page: "home" });
    } });
  return items;
}
