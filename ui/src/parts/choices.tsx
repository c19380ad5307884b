/** The model, effort, mode and rule of permissions of a session, and how to change them. */
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { attempt, session } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { agentLists, type Lists } from "../model/agents.js";
import { useListed } from "../model/listed.js";
import type { OpenSession } from "../model/open.js";
import { plain } from "../text/visible.js";
import { Select } from "./select.js";

/** The rules of permissions that every agent is asked for by the same names; the daemon refuses what one cannot. */
export const PERMISSIONS = ["default", "acceptEdits", "plan", "bypass"];

export function Choices({ opened, state }: { opened: OpenSession; state: Schemas["SessionState"] }) {
  const info = opened.info.value;
  const [known, setKnown] = useState<Lists | null>(null);
  const agent = info?.agent;
  const told = { models: useListed<Schemas["AgentModelInfo"]>(state.models), modes: useListed<Schemas["AgentModeInfo"]>(state.modes) };
  const isTold = state.models != null && state.modes != null;
  useEffect(() => {
    if (agent && !isTold && opened.isWhole.value) void agentLists(agent).then(setKnown);
  }, [agent, isTold, opened.isWhole.value]);
  const models = told.models.length ? told.models : (known?.models ?? []);
  const modes = told.modes.length ? told.modes : (known?.modes ?? []);
  const model = state.model ?? info?.model ?? "";
  const variants = models.find(({ id }) => id === model)?.variants ?? [];
  const variant = state.variant ?? info?.variant ?? "";
  const mode = state.agent_mode ?? info?.agentMode ?? "";
  const permission = state.permission_mode ?? info?.permissionMode ?? "";
  const change = (patch: Schemas["SessionPatch"]) => void attempt(() => session(opened.id).update(patch));
  const isLocked = !may("drive");
  return (
    <section class="section choices" aria-label="Choices">
      <Select label="Model" value={model} isDisabled={isLocked} options={models.map(({ id, name }) => [id, plain(name ?? id)])} onChange={(model) => change({ model })} />
      {variants.length > 0 && <Select label="Effort" value={variant} isDisabled={isLocked} options={variants.map((one) => [one, one])} onChange={(variant) => change({ variant })} />}
      {modes.length > 0 && <Select label="Mode" value={mode} isDisabled={isLocked} options={modes.map(({ id, name }) => [id, plain(name)])} onChange={(agentMode) => change({ agentMode })} />}
      {permission && <Select label="Permissions" value={permission} isDisabled={isLocked} options={PERMISSIONS.map((one) => [one, one])} onChange={(permissionMode) => change({ permissionMode })} />}
    </section>
  );
}
