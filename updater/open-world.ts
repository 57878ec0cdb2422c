import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLog } from "../core/log/log.ts";
import { withProxyVariables } from "../core/transport/dial/proxy-environment.ts";
import { version } from "../core/versions/version.ts";
import { askEndpoint } from "./endpoint/endpoint.ts";
import type { EndpointAnswer } from "./endpoint/endpoint-answer.ts";
import { chooseInstaller } from "./installers/choose-installer.ts";
import type { Installer } from "./installers/installer.ts";
import { openAgentService } from "./service/open-agent-service.ts";
import type { AgentService } from "./service/service.ts";
import { readSettings } from "./settings.ts";
import { fileStamp } from "./state/file-stamp.ts";
import type { UpdaterState } from "./state/parse-state.ts";
import { type FoundState, readState, writeState } from "./state/state.ts";
import type { Schedule } from "./tick/schedule.ts";
import { UpgradeError } from "./tick/upgrade-error.ts";

/** Everything that a run of the updater touches. */
export interface World {
  readonly installer: Installer;
  readonly service: AgentService;
  readonly store: { read(): Promise<FoundState>; write(state: UpdaterState): Promise<void> };
  /** Asks the version endpoint; without `hostId` for no host in particular. Throws only for the signal. */
  ask(hostId: string | undefined): Promise<EndpointAnswer>;
  /** Version that the updater's executable on disk reports; undefined if it does not run, or its dry run on this host fails. */
  updaterOnDisk(): Promise<string | undefined>;
  /** Stamp of a file's state; undefined if it is not there or cannot be examined. Never throws. */
  stampOf(file: string): Promise<string | undefined>;
  readonly package: string;
  readonly schedule: Schedule;
  /** Lowest version that may be installed; undefined if the admin has set none. */
  readonly minimum: string | undefined;
  /** Public keys by which the cluster signs, as lines; empty if the agent has written none. */
  readonly authorities: readonly string[];
  /** Name of the requested channel; undefined if no endpoint is configured. */
  readonly channel: string | undefined;
  /** Version of this updater. */
  readonly updater: string;
  /** Kernel's id of this boot. */
  readonly boot: string;
  now(): Date;
  /** Prints one line for users. */
  say(line: string): void;
  readonly signal: AbortSignal;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Environment of the agent's service. */
export const environmentFile = "/etc/default/platform";

/** Paths on this host, and the environment. */
export interface Places {
  /** Folder of the settings. */
  readonly settings: string;
  /** Folder of the state and the lock. */
  readonly state: string;
  readonly env: Env;
}

export function placesOf(env: Env): Places {
  return {
    settings: env.PLATFORM_UPGRADE_CONFIG || "/etc/platform-upgrade.d",
    state: env.PLATFORM_UPGRADE_STATE || "/var/lib/platform-upgrade",
    env,
  };
}

interface WorldOptions extends Pick<World, "say" | "signal"> {
  /** Nothing is written that is not there yet. */
  readonly isDry?: boolean;
}

/** The real world: this host's settings, package manager and service. Throws UpgradeError. */
export async function openWorld(places: Places, { say, signal, isDry = false }: WorldOptions): Promise<World> {
  const settings = await readSettings(places.settings);
  const env = withProxyVariables(withoutRuntimeTricks(places.env), await textOf(environmentFile));
  const { endpoint } = settings;
  const log = createLog({ level: "info", format: "text", write: (line) => say(line.trimEnd().replace(/^\S+ +\S+ +/, "")) });
  return {
    installer: chooseInstaller(settings.installer, { log, env, signal }),
    service: openAgentService({ log, signal }),
    store: { read: () => readState(places.state), write: (state) => writeState(places.state, state) },
    ask: async (hostId) => {
      if (endpoint instanceof UpgradeError) return { kind: "failed", reason: endpoint.reason, detail: endpoint.message };
      return await askEndpoint(endpoint, { env, signal, ca: settings.ca, hostId });
    },
    updaterOnDisk: () => tryUpdater("/usr/sbin/platform-upgrade", { env: places.env, signal }),
    stampOf: (file) => fileStamp(file, join(places.state, "stamp-key"), { isDry }),
    package: settings.package,
    schedule: settings.schedule,
    minimum: settings.minimum,
    authorities: settings.authorities,
    channel: endpoint instanceof UpgradeError ? undefined : endpoint.channel,
    updater: version,
    boot: (await textOf("/proc/sys/kernel/random/boot_id")).trim(),
    now: () => new Date(),
    say,
    signal,
  };
}

/** Disables variables of the runtime that would weaken TLS, here and in child processes. */
function withoutRuntimeTricks(env: Env): Env {
  const tricks = new Set(["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !tricks.has(name)));
}

/** Empty for a missing file. */
async function textOf(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}

interface Options {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * The version of an updater's executable, undefined if it does not work: `version` must print one, and `dry-run`, which reads all
 * inputs of a run and changes nothing, must end by itself. Any result counts as working, except `internal`.
 */
export async function tryUpdater(program: string, options: Options): Promise<string | undefined> {
  const found = /^platform-upgrade (\S+)$/m.exec(await said([program, "version"], options))?.[1];
  if (found === undefined) return undefined;
  const reason = /^reason=(\w+)/m.exec(await said([program, "dry-run"], options))?.[1];
  return reason === undefined || reason === "internal" ? undefined : found;
}

/** Longer than all waits of a dry run together, ms. */
const limitMs = 240_000;

/** Its standard output if it exited with 0 or 1; otherwise empty. */
function said([program, command]: readonly [string, string], { env, signal }: Options): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [command], { timeout: limitMs, killSignal: "SIGKILL", signal, env: { ...env }, maxBuffer: 65_536 }, (error, stdout) => {
      resolve(error === null || error.code === 1 ? stdout : "");
    });
  });
}
