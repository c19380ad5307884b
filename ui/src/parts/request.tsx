/** A permission or a question that waits for a person, with everything that is needed to answer it. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Pending } from "../../../sdk/typescript/src/index.js";
import { may } from "../daemon/login.js";
import { connection } from "../daemon/stream.js";
import { answer, answering, noteSeen, subjectOf } from "../model/answers.js";
import { requestId, rows } from "../model/rows.js";
import { Long, LongText } from "../text/long.js";
import { brief, visible } from "../text/visible.js";
import { Part } from "./content.js";
import { QuestionForm } from "./question.js";

interface RequestProps {
  session: string;
  request: Pending;
  /** Where it was asked, if that is another place than here. */
  origin?: ComponentChildren;
}

export function RequestCard({ session, request, origin }: RequestProps) {
  const id = requestId(request);
  const { detail, files } = request.metadata ?? {};
  const isLive = connection.value.state === "live";
  // What is told while the page catches up may be over already.
  useEffect(() => {
    if (isLive) noteSeen(id);
  }, [id, isLive]);
  return (
    <article class="request" data-testid="request" data-request={id} aria-label={brief(subjectOf(request))} tabIndex={-1}>
      <div class="request-head">
        <span class="tag ask">{request.type === "permission" ? "Permission" : "Question"}</span>
        {request.type === "permission" && <strong class="request-subject"><LongText text={subjectOf(request)} /></strong>}
        {origin}
      </div>
      {detail && <Long text={detail} limit={4_000}>{(text) => <pre class="output" tabIndex={0}>{visible(text)}</pre>}</Long>}
      {files?.map((file) => <Part part={file} directory={rows.get(session)?.info.directory} />)}
      {!may("answer") && <p class="dim">This token may not answer.</p>}
      {may("answer") && request.type === "permission" && <PermissionForm session={session} request={request} isBusy={answering.value.has(id)} />}
      {may("answer") && request.type === "question" && <QuestionForm session={session} request={request} isBusy={answering.value.has(id)} />}
      {!may("answer") && request.type === "question" && <p><LongText text={subjectOf(request)} /></p>}
    </article>
  );
}

type Permission = Extract<Pending, { type: "permission" }>;

function PermissionForm({ session, request, isBusy }: { session: string; request: Permission; isBusy: boolean }) {
  const [words, setWords] = useState("");
  const [isRejecting, setRejecting] = useState(false);
  const { tool, pattern, options } = request.metadata ?? {};
  const reply = (reply: "once" | "always" | "reject") => {
    const message = words.trim();
    void answer(session, request, { verb: "reply", body: { reply, ...(message === "" ? {} : { message }) } });
  };
  const named = (kind: string) => options?.find((option) => option.kind === kind)?.name;
  return (
    <form class="answers" aria-label={`Answer ${brief(request.action)}`} onSubmit={(event) => (event.preventDefault(), reply("reject"))}>
      <button type="button" class="primary" data-key="a" disabled={isBusy} title={named("allow_once")} onClick={() => reply("once")}>Allow once</button>
      <button type="button" data-key="A" disabled={isBusy} title={named("allow_always") ?? [tool, pattern].filter(Boolean).join(" ")} onClick={() => reply("always")}>Always allow</button>
      <button type="button" class="danger" data-key="r" disabled={isBusy} title={named("reject_once")} onClick={() => reply("reject")}>Reject</button>
      {isRejecting
        ? <input class="grow" aria-label="Words for the agent" placeholder="Why not? Enter rejects with these words" value={words} ref={(input) => { if (input && words === "") input.focus(); }} onInput={(event) => setWords(event.currentTarget.value)} />
        : <button type="button" class="quiet" data-key="w" disabled={isBusy} onClick={() => setRejecting(true)}>Reject with words…</button>}
    </form>
  );
}
