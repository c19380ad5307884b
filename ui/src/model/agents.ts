/** The agents of the daemon, as they were last told, with their models and modes. */
import { signal } from "@preact/signals";
import type { AgentInfo, Schemas } from "../../../sdk/typescript/src/index.js";
import { agents } from "../daemon/api.js";

export const known = signal<AgentInfo[] | null>(null);

export interface Lists {
  models: Schemas["AgentModelInfo"][];
  modes: Schemas["AgentModeInfo"][];
}

/** Models and modes of an agent, asked for once per page. */
const lists = new Map<string, Promise<Lists>>();

export async function loadAgents(): Promise<void> {
  known.value = await agents().list();
}

export function agentLists(agent: string): Promise<Lists> {
  const asked = lists.get(agent) ?? askLists(agent).catch(() => ({ models: [], modes: [] }));
  lists.set(agent, asked);
  return asked;
}

export function clearAgents(): void {
  known.value = null;
  lists.clear();
}

async function askLists(agent: string): Promise<Lists> {
  // Some agents tell their lists only when they are started, which takes an installed one.
  const all = await agents().list();
  if (!all.some(({ id, installed }) => id === agent && installed)) return { models: [], modes: [] };
  const [{ models }, modes] = await Promise.all([agents().models(agent), agents().modes(agent)]);
  return { models, modes };
}
