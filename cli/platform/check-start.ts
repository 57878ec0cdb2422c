import { hostname } from "node:os";
import { resolve } from "node:path";
import { agentServices, type PlatformConfig } from "../../core/config/platform-config.ts";
import { readConfigFile } from "../../core/config/read-config-file.ts";
import { type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { WebCertificate } from "../../core/resources/proxy-facts.ts";
import type { Call } from "../command.ts";
import { type Result, writeNote } from "../output.ts";
import { chooseConfigFile } from "./choose-config-file.ts";
import type { ProcessFacts } from "./reload/process-state.ts";
import { requireSameFolder } from "./reload/same-folder.ts";
import { type AskedProcesses, askProcesses, patientMs } from "./reload/status-socket.ts";
import type { Services } from "./services.ts";

/** Environment of the unit, for a manual check beside the service. */
const usualRuntimeDirectory = "/run/platform";

/**
 * `platform start --check`: reports every refusal that is possible before a start. Without --config it checks the configuration with which the
 * service runs, or else the default one, and notes which of them it is before anything can be refused. Throws PlatformError as the start would.
 */
export async function checkStart(services: Services, { io, options }: Call): Promise<Result> {
  const asked = await askService(io.env.RUNTIME_DIRECTORY?.split(":")[0] ?? usualRuntimeDirectory);
  const running = mainOf(asked);
  const { file: chosen, note } = chooseConfigFile({ wanted: options.text("config"), running, silent: asked?.silent });
  const file = resolve(chosen);
  if (note !== undefined) writeNote(io, note);
  const { config, warnings } = await readConfigFile(file, hostname());
  const moved = running?.config === file ? await movedFolder(running, config.platform.data_dir) : [];
  // The unit runs this with each reload, which has been refused then. After a check by hand the service may also be restarted.
  if (moved[0] !== undefined && io.env.RUNTIME_DIRECTORY !== undefined) throw moved[0];
  const found = [...moved.map(({ message }) => message), ...(await services.check(config, running?.web_certificates ?? []))];
  const names = enabledServices(config);
  const notes = [...warnings, ...found].map((text) => `warning: ${text}`);
  return { data: { config: file, services: names, warnings: [...warnings, ...found] }, text: `${file} would start: ${names.join(", ")}`, notes };
}

/** The refusal of a reload into another data_dir, if it is one. */
async function movedFolder({ data_dir, data_folder }: ProcessFacts, dataDir: string): Promise<readonly PlatformError[]> {
  return await requireSameFolder({ dataDir: data_dir, folder: data_folder }, dataDir).then(
    () => [],
    (thrown: unknown) => [toPlatformError(thrown)],
  );
}

export function enabledServices(config: PlatformConfig): readonly string[] {
  const control = { auth: config.auth_service, proxy: config.proxy_service };
  return [...Object.entries(control).flatMap(([name, section]) => (section.enabled ? [name] : [])), ...agentServices(config)];
}

/** Certificates of the web address in use by the main process of this service; none when it does not answer. */
export async function certificatesOf(runtimeDirectory: string | undefined): Promise<readonly WebCertificate[]> {
  return (await mainProcess(runtimeDirectory))?.web_certificates ?? [];
}

/** The main process of the service with this runtime directory. Never throws. */
export async function mainProcess(runtimeDirectory: string | undefined): Promise<ProcessFacts | undefined> {
  return runtimeDirectory === undefined ? undefined : mainOf(await askService(runtimeDirectory));
}

function mainOf(asked: AskedProcesses | undefined): ProcessFacts | undefined {
  return asked?.answers.find(isMain);
}

function isMain({ role }: ProcessFacts): boolean {
  return role === "main";
}

/** Undefined if this user may not read the runtime directory; without one, no service runs. No other process is waited for once the main one has answered. */
async function askService(runtimeDirectory: string): Promise<AskedProcesses | undefined> {
  try {
    return await askProcesses(runtimeDirectory, { timeoutMs: patientMs, isEnough: isMain });
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT" ? { answers: [], silent: [] } : undefined;
  }
}
