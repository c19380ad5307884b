/** The frame around every page: navigation, connection, notices, help. */
import { useEffect, useRef } from "preact/hooks";
import { logOut, token } from "./daemon/login.js";
import { dismiss, notices } from "./daemon/notices.js";
import { connection, retry } from "./daemon/stream.js";
import { isHelpOpen, KEYS } from "./keys.js";
import { open } from "./model/open.js";
import { openRequests, rowsTick } from "./model/rows.js";
import { AgentsPage } from "./pages/agents.js";
import { ChangesPage } from "./pages/changes.js";
import { EventsPage } from "./pages/events.js";
import { HomePage } from "./pages/home.js";
import { LoginPage } from "./pages/login.js";
import { NewPage } from "./pages/new.js";
import { SessionPage } from "./pages/session.js";
import { TranscriptPage } from "./pages/transcript.js";
import { Icon } from "./parts/icons.js";
import { address, route } from "./route.js";
import { nextTheme, tellTab, theme } from "./theme.js";
import { LongText } from "./text/long.js";
import { brief } from "./text/visible.js";

export function App() {
  if (token.value === null) return <LoginPage />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>Skip to the content</a>
      <TopBar />
      <main id="main" tabIndex={-1}><Page /></main>
      <Notices />
      {isHelpOpen.value && <Help />}
    </>
  );
}

function Page() {
  const at = route.value;
  switch (at.page) {
    case "home":
      return <HomePage />;
    case "new":
      return <NewPage />;
    case "agents":
      return <AgentsPage />;
    case "session": {
      const opened = open.value;
      if (opened === null || opened.id !== at.id) return null;
      return (
        <SessionPage key={`${opened.id}-${opened.generation.value}`} opened={opened} tab={at.tab}>
          {at.tab === "transcript" && <TranscriptPage opened={opened} turn={at.turn} />}
          {at.tab === "changes" && <ChangesPage opened={opened} />}
          {at.tab === "events" && <EventsPage opened={opened} sequence={at.sequence} />}
        </SessionPage>
      );
    }
  }
}

function TopBar() {
  void rowsTick.value;
  const waiting = openRequests().length;
  const at = route.value.page;
  const opened = open.value;
  if (opened) void opened.transcript.stateTick.value;
  const session = opened && (opened.transcript.fold.state.title ?? opened.info.value?.title ?? opened.id);
  const title = session ? `${brief(session)} · Omniglot` : "Omniglot";
  useEffect(() => tellTab(title, waiting), [title, waiting]);
  const link = (page: "home" | "new" | "agents", name: string) => (
    <a href={address({ page })} aria-current={at === page ? "page" : undefined}>{name}</a>
  );
  return (
    <header class="top">
      <nav aria-label="Omniglot">
        <span class="brand" aria-hidden="true">◎</span>
        {link("home", "Sessions")}
        {waiting > 0 && <a class="badge" href={address({ page: "home" })} aria-label={`${waiting} need you`}>{waiting}</a>}
        {link("new", "New session")}
        {link("agents", "Agents")}
      </nav>
      <span class="grow" />
      <ConnectionState />
      <button type="button" class="quiet tool-button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} onClick={nextTheme}><Icon name="sun" /></button>
      <button type="button" class="quiet tool-button wide" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (isHelpOpen.value = !isHelpOpen.value)}><Icon name="keys" /></button>
      <button type="button" class="quiet tool-button" aria-label="Log out" title="Log out" onClick={() => logOut()}><Icon name="out" /></button>
    </header>
  );
}

const STATES = { connecting: "Connecting…", live: "Caught up", reconnecting: "Reconnecting…", stopped: "Stopped" };

function ConnectionState() {
  const { state, session, reason } = connection.value;
  return (
    <span class={`connection ${state}`} data-testid="connection" data-state={state} data-session={session ?? ""} role="status" title={reason}>
      <span class="dot" aria-hidden="true" /> <span class="connection-words">{STATES[state]}{reason ? `: ${reason}` : ""}</span>
      {state === "stopped" && <button type="button" class="quiet" onClick={retry}>Try again</button>}
    </span>
  );
}

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div class={`notice ${notice.kind}`} key={notice.id} data-testid="notice" data-kind={notice.kind}>
          <span class="grow"><LongText text={notice.text} />{notice.hint && <span class="dim"> <LongText text={notice.hint} /></span>}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>×</button>
        </div>
      ))}
    </div>
  );
}

function Help() {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    button.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <div class="help" role="dialog" aria-label="Keyboard shortcuts" aria-modal="false">
      <h2>Keyboard</h2>
      <dl>{KEYS.map(([keys, meaning]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{meaning}</dd></div>)}</dl>
      <button type="button" ref={button} onClick={() => (isHelpOpen.value = false)}>Close</button>
    </div>
  );
}
