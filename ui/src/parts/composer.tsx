/** The box for the next message: sent, queued or steered, with files. */
import { useRef, useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt, session, upload } from "../daemon/api.js";
import { tell } from "../daemon/notices.js";
import { drafts } from "../model/drafts.js";
import type { OpenSession } from "../model/open.js";
import { plural } from "../text/numbers.js";
import { Files } from "./files.js";
import { Icon } from "./icons.js";

type Delivery = Schemas["Delivery"];

export function Composer({ opened }: { opened: OpenSession }) {
  void opened.transcript.stateTick.value;
  const { fold } = opened.transcript;
  const [text, setText] = useState(drafts.get(opened.id) ?? "");
  const [files, setFiles] = useState<File[]>([]);
  const [isSending, setSending] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const isBusy = fold.status !== "idle";
  const write = (words: string) => {
    drafts.set(opened.id, words);
    setText(words);
  };
  const send = async (delivery: Delivery) => {
    if (isSending || (text.trim() === "" && files.length === 0)) return;
    setSending(true);
    const isSent = await attempt(async () => {
      const attachments: Schemas["MessageAttachment"][] = [];
      for (const file of files) attachments.push(await upload(opened.id, file));
      const sent = await session(opened.id).send(text, { delivery, ...(attachments.length ? { attachments } : {}) });
      if (delivery === "steer" && sent.delivery === "queued") tell("info", "The agent takes no words while it works: the message is queued.");
    });
    setSending(false);
    if (!isSent) return;
    write("");
    setFiles([]);
    opened.endWish.value += 1;
    box.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send(isBusy && (event.ctrlKey || event.metaKey) ? "steer" : "queue");
  };
  return (
    <Files files={files} onFiles={setFiles} class="composer">
      {(pick) => (
        <form aria-label="Message to the agent" onSubmit={(event) => (event.preventDefault(), void send("queue"))}>
          <textarea
            ref={box} aria-label="Message" rows={Math.min(12, Math.max(2, text.split("\n").length))} value={text}
            placeholder={isBusy ? "Enter queues, Ctrl+Enter steers the running turn" : fold.ended ? "A message starts the session again" : "Message to the agent"}
            onInput={(event) => write(event.currentTarget.value)} onKeyDown={onKey}
          />
          <div class="composer-row">
            <button type="button" class="quiet" onClick={pick}><Icon name="attach" /> Attach{files.length ? ` (${plural(files.length, "file")})` : ""}</button>
            <span class="grow" />
            {isBusy && <button type="button" class="danger" onClick={() => void attempt(() => session(opened.id).cancel())}>Cancel turn</button>}
            {isBusy && <button type="button" disabled={isSending} onClick={() => void send("steer")}>Steer</button>}
            <button type="submit" class="primary" disabled={isSending}>{isBusy ? "Queue" : "Send"}</button>
          </div>
        </form>
      )}
    </Files>
  );
}
