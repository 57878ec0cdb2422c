import { access, constants, readdir } from "node:fs/promises";
import { join } from "node:path";
import { environmentFile, type Places } from "../open-world.ts";
import type { AgentFacts } from "../service/service.ts";
import type { UpdaterState } from "./parse-state.ts";

/** Inputs of a run that exist and that this user may not read, each with what is unknown without it; none for root. Never throws. */
export async function unreadInputs(
  places: Places,
  state: UpdaterState,
  agent: Pick<AgentFacts, "active" | "version"> | undefined,
): Promise<readonly string[]> {
  const settings = await readdir(places.settings).catch(() => []);
  const configuration = state.skip.flatMap(({ config }) => (config === undefined ? [] : [config.file]));
  const changes = "whether the configuration that a version refused was changed";
  const inputs: readonly (readonly [path: string, what: string])[] = [
    [environmentFile, "the HTTP proxy"],
    ...settings.map((name) => [join(places.settings, name), "a setting"] as const),
    [join(places.state, "lock"), "whether a run is in progress"],
    ...configuration.flatMap((file) => [[file, changes] as const, [join(places.state, "stamp-key"), changes] as const]),
  ];
  const unread = await Promise.all(inputs.map(async ([path, what]) => ((await isDenied(path)) ? [`${path} (${what})`] : [])));
  // The agent answers root and its own user alone.
  const isSilent = agent?.active === true && agent.version === undefined && process.geteuid?.() !== 0;
  return [...new Set([...unread.flat(), ...(isSilent ? ["the agent's state (its version and sessions)"] : [])])];
}

async function isDenied(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return false;
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown && (thrown.code === "EACCES" || thrown.code === "EPERM");
  }
}
