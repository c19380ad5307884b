/** All agents: whether they are installed and logged in, what they can do, a check, and an installation. */
import { useEffect, useState } from "preact/hooks";
import type { AgentInfo, Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt, http, post } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { tell } from "../daemon/notices.js";
import { known, loadAgents } from "../model/agents.js";
import { duration, plural } from "../text/numbers.js";
import { visible } from "../text/visible.js";

export function AgentsPage() {
  useEffect(() => void attempt(loadAgents), []);
  const list = [...(known.value ?? [])].sort((one, other) => Number(other.installed) - Number(one.installed));
  return (
    <div class="page">
      <div class="list-head"><h1>Agents</h1><span class="grow" /><button type="button" onClick={() => void attempt(loadAgents)}>Refresh</button></div>
      {known.value === null && <p class="dim">Asking the daemon…</p>}
      <div class="agents">{list.map((agent) => <Agent key={agent.id} agent={agent} />)}</div>
    </div>
  );
}

const LOGINS: Record<string, [string, string]> = {
  ready: ["completed", "logged in"],
  required: ["failed", "login required"],
  unknown: ["", "login unknown"],
};

const ABILITIES: [keyof AgentInfo["capabilities"], string][] = [
  ["permissions", "permissions"], ["questions", "questions"], ["planMode", "plan mode"], ["images", "images"],
  ["fileAttachments", "files"], ["reasoning", "thoughts"], ["fileChanges", "diffs"], ["mcpTools", "MCP"], ["systemPrompt", "instructions"],
];

function Agent({ agent }: { agent: AgentInfo }) {
  const [check, setCheck] = useState<Schemas["AgentCheck"] | null>(null);
  const [busy, setBusy] = useState<"" | "check" | "install">("");
  const path = `/v1/agents/${encodeURIComponent(agent.id)}`;
  const run = (what: "check" | "install", act: () => Promise<void>) => async () => {
    setBusy(what);
    await attempt(act);
    setBusy("");
  };
  const doCheck = run("check", async () => setCheck(await post<Schemas["AgentCheck"]>(`${path}/check`)));
  const doInstall = (newest: boolean) => run("install", async () => {
    const headers = { accept: "application/json" };
    const done = await http().json<Schemas["AgentInstallResponse"]>("POST", `${path}/install`, { body: { newest }, headers });
    tell("info", done.already_installed ? `${agent.id} was there already.` : `${agent.id} is installed.`);
    await loadAgents();
  });
  const [login, words] = LOGINS[agent.login ?? "unknown"] ?? ["", "login unknown"];
  return (
    <article class="agent" aria-label={agent.id} data-testid="agent" data-agent={agent.id} data-installed={agent.installed}>
      <div class="agent-head">
        <h2>{agent.id}</h2>
        {agent.version && <span class="dim">{visible(agent.version)}</span>}
        <span class={`chip ${agent.installed ? "completed" : ""}`}>{agent.installed ? "installed" : "not installed"}</span>
        {agent.installed && <span class={`chip ${login}`}>{words}</span>}
        {agent.serverStatus && <span class="chip">server {agent.serverStatus.status}</span>}
      </div>
      {agent.path && <p class="path dim">{visible(agent.path)}</p>}
      {(agent.installedVersions?.length ?? 0) > 0 && <p class="small dim">Installed here: {agent.installedVersions?.join(", ")}</p>}
      <p class="abilities">{ABILITIES.filter(([key]) => agent.capabilities[key]).map(([key, name]) => <span class="tag" key={key}>{name}</span>)}</p>
      <div class="answers">
        {may("drive") && agent.installed && <button type="button" disabled={busy !== ""} onClick={() => void doCheck()}>{busy === "check" ? "Checking…" : "Check"}</button>}
        {may("admin") && agent.source !== "configured" && agent.id !== "mock" && !agent.installed && <button type="button" disabled={busy !== ""} onClick={() => void doInstall(false)()}>{busy === "install" ? "Installing…" : "Install"}</button>}
        {may("admin") && (agent.installedVersions?.length ?? 0) > 0 && <button type="button" disabled={busy !== ""} onClick={() => void doInstall(true)()}>{busy === "install" ? "Installing…" : "Install newest"}</button>}
      </div>
      {check && <Findings check={check} />}
    </article>
  );
}

function Findings({ check }: { check: Schemas["AgentCheck"] }) {
  return (
    <div class="findings" role="status">
      <p class={check.healthy ? "good" : "bad"}>
        {check.healthy ? "Accepts prompts" : "Does not work"} <span class="dim">({duration(check.durationMs)}, {plural(check.models.length, "model")}, {plural(check.modes.length, "mode")})</span>
      </p>
      {check.findings.map((finding) => (
        <div key={finding.message} class={finding.problem ? "bad" : "dim"}>
          {visible(finding.message)} {finding.hint && <span class="dim">{visible(finding.hint)}</span>}
          {finding.stderr?.head && <pre class="output" tabIndex={0}>{visible([finding.stderr.head, finding.stderr.tail].filter(Boolean).join("\n…\n"))}</pre>}
        </div>
      ))}
      <p class="path dim small">{visible(check.command.join(" "))}</p>
    </div>
  );
}
