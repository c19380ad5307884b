/** A new session: the agent, where it works, how, and the first message. */
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt, session, sessions, upload } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { tell } from "../daemon/notices.js";
import { agentLists, known, type Lists, loadAgents } from "../model/agents.js";
import { isLoaded, rowsTick } from "../model/rows.js";
import { PERMISSIONS } from "../parts/choices.js";
import { Directory } from "../parts/directory.js";
import { Files } from "../parts/files.js";
import { Icon } from "../parts/icons.js";
import { McpServers, type McpServer, mcpOf } from "../parts/mcp.js";
import { Select } from "../parts/select.js";
import { go } from "../route.js";
import { plain } from "../text/visible.js";

const AGENT = "omniglot.agent";

export function NewPage() {
  void rowsTick.value;
  void isLoaded.value;
  const [agent, setAgent] = useState(localStorage.getItem(AGENT) ?? "");
  const [directory, setDirectory] = useState("");
  const [title, setTitle] = useState("");
  const [choice, setChoice] = useState({ model: "", variant: "", mode: "", permission: "" });
  const [isWorktree, setWorktree] = useState(false);
  const [servers, setServers] = useState<McpServer[]>([]);
  const [prompt, setPrompt] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [lists, setLists] = useState<Lists>({ models: [], modes: [] });
  useEffect(() => void attempt(loadAgents), []);
  const installed = (known.value ?? []).filter((one) => one.installed);
  const chosen = installed.find((one) => one.id === agent)?.id ?? installed[0]?.id ?? "";
  useEffect(() => {
    setLists({ models: [], modes: [] });
    setChoice({ model: "", variant: "", mode: "", permission: "" });
    if (chosen !== "") void agentLists(chosen).then(setLists);
  }, [chosen]);
  const variants = lists.models.find(({ id }) => id === choice.model)?.variants ?? [];
  const pick = (part: Partial<typeof choice>) => setChoice({ ...choice, ...part });

  const create = async () => {
    if (isBusy || chosen === "") return;
    setBusy(true);
    await attempt(async () => {
      const made = await sessions().create({ agent: chosen, ...settings() });
      localStorage.setItem(AGENT, chosen);
      if (made.created?.healthy === false) tell("error", made.created.error?.message ?? "The session cannot work yet.");
      const attachments: Schemas["MessageAttachment"][] = [];
      for (const file of files) attachments.push(await upload(made.id, file));
      if (prompt.trim() !== "" || attachments.length > 0) await session(made.id).send(prompt, { attachments });
      go({ page: "session", id: made.id, tab: "transcript" });
    });
    setBusy(false);
  };
  const settings = () => ({
    ...(directory.trim() ? { directory: directory.trim() } : {}),
    ...(title.trim() ? { title: title.trim() } : {}),
    ...(choice.model ? { model: choice.model } : {}),
    ...(choice.variant ? { variant: choice.variant } : {}),
    ...(choice.mode ? { agentMode: choice.mode } : {}),
    ...(choice.permission ? { permissionMode: choice.permission } : {}),
    ...(servers.length > 0 ? { mcp: mcpOf(servers) } : {}),
    ...(isWorktree ? { worktree: true } : {}),
  });

  if (!may("drive")) return <div class="page"><p class="error-box">This token may not begin sessions.</p></div>;
  return (
    <div class="page new">
      <h1>New session</h1>
      <Files files={files} onFiles={setFiles} class="new-form">
        {(attach) => (
          <form aria-label="New session" onSubmit={(event) => (event.preventDefault(), void create())}>
            <Select label="Agent" value={chosen} options={installed.map(({ id, version, login }) => [id, `${id} ${version ?? ""}${login === "required" ? " (login required)" : ""}`])} onChange={setAgent} />
            <Directory value={directory} onChange={setDirectory} />
            <div class="pair">
              <Select label="Model" value={choice.model} none="the agent's own" options={lists.models.map(({ id, name }) => [id, plain(name ?? id)])} onChange={(model) => pick({ model, variant: "" })} />
              {variants.length > 0 && <Select label="Effort" value={choice.variant} none="the model's own" options={variants.map((one) => [one, one])} onChange={(variant) => pick({ variant })} />}
              <Select label="Mode" value={choice.mode} none="the agent's own" options={lists.modes.map(({ id, name }) => [id, plain(name)])} onChange={(mode) => pick({ mode })} />
            </div>
            <div class="field"><label for="title">Title</label><input id="title" placeholder="The first line of the prompt" value={title} onInput={(event) => setTitle(event.currentTarget.value)} /></div>
            <div class="field tall">
              <label for="prompt">Prompt</label>
              <textarea id="prompt" rows={7} placeholder="What shall the agent do? Drop files here." value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)}
                onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && void create()} />
            </div>
            <details class="extra">
              <summary>Permissions, worktree, MCP servers</summary>
              <Select label="Permissions" value={choice.permission} none="the agent's own" options={PERMISSIONS.map((one) => [one, one])} onChange={(permission) => pick({ permission })} />
              <label class="option"><input type="checkbox" checked={isWorktree} onChange={() => setWorktree(!isWorktree)} /> <span>In a git worktree of its own, on a new branch</span></label>
              <McpServers servers={servers} onChange={setServers} />
            </details>
            <div class="composer-row">
              <button type="button" class="quiet" onClick={attach}><Icon name="attach" /> Attach</button>
              <span class="grow" />
              <button type="submit" class="primary" disabled={isBusy || chosen === ""}>{isBusy ? "Creating…" : "Create session"}</button>
            </div>
          </form>
        )}
      </Files>
    </div>
  );
}
