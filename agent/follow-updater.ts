import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AuthClient } from "../core/api/auth-client.ts";
import { errorText } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import type { HostStatus } from "../core/resources/host-status.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { httpsGet } from "../core/transport/dial/https-get.ts";
import { trustedRoots } from "../core/transport/dial/start-tls.ts";
import { parseHostPort } from "../core/transport/host-port.ts";
import { HostWatch } from "./host-status/host-watch.ts";
import { findUpgrader, type UpdaterPlaces, updaterPlaces } from "./host-status/read-updater.ts";
import type { Clock } from "./tunnels/tunnel.ts";
import { writeEndpoint } from "./upgrade-window/endpoint-file.ts";
import { openRelease, type Release } from "./upgrade-window/open-release.ts";
import { scheduleFile, writeAuthorities } from "./upgrade-window/schedule-file.ts";
import { ScheduleKeeper } from "./upgrade-window/schedule-keeper.ts";

export interface FollowOptions {
  readonly env: Env;
  readonly log: Log;
  readonly clock: Clock;
  readonly auth: { client(): Promise<AuthClient> };
  readonly identity: { current(): { readonly hostId: string; readonly hostCaPem: readonly string[]; readonly hostCaSsh: readonly string[] } };
  /** Addresses of proxies, host:port. */
  readonly proxies: () => Promise<readonly string[]>;
  /** User streams in all processes of this host. */
  readonly sessions: () => number;
  /** Called when the host's status has changed. */
  readonly changed: (status: HostStatus) => void;
}

/** The agent's side of its updater: the files written for it, and its observed state. */
export interface UpdaterSide {
  status(): HostStatus;
  /** The cluster's maintenance configuration has this revision. */
  announce(revision: string): void;
  /** Counts the work of a stream while it lasts. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Stops following the updater: another process does from now on, or none. */
  stop(): void;
}

/** Interval between checks for the updater's endpoint, ms; a host may be enrolled at any time. */
const endpointMs = 60_000;
const enrolmentMs = 15_000;
/** Timeout for the first check of the updater, before the first tunnel, ms. */
const firstLookMs = 500;
/** Largest `ca` file, bytes. */
const maxAuthorities = 262_144;

/** Follows the updater until it is stopped: enrolment, schedule, endpoint, state. */
export async function followUpdater(options: FollowOptions): Promise<UpdaterSide> {
  const stop = new AbortController();
  const { signal } = stop;
  const { env, log, clock, auth, sessions, changed } = options;
  const places = updaterPlaces(env);
  const release = await openRelease(env, log);
  const upgrader = release === undefined ? "unit" : "kube";
  const enrolled = async (): Promise<boolean> => (await findUpgrader(env, places)).upgrader === upgrader;
  const value = env.PLATFORM_EXT_UPGRADER;
  if (value !== undefined && value !== "" && value !== "unit" && value !== "kube") log.warn("PLATFORM_EXT_UPGRADER has an unknown value", { value });
  const keeper: ScheduleKeeper = new ScheduleKeeper({
    place: release?.schedule ?? scheduleFile(join(places.configDir, "schedule")),
    enrolled,
    ask: async () => await (await auth.client()).exportUpgradeWindows({ upgrader }),
    log,
    clock,
    changed: () => watch.poke(),
  });
  const { steady, wall } = clock;
  const watch = new HostWatch({ env, places, schedule: () => keeper.status, sessions, changed, steady, wall, release: release?.status });
  // The hello should contain the known state; a systemd that does not answer must not delay it.
  await Promise.race([watch.open(signal), sleep(firstLookMs, undefined, { signal, ref: false }).catch(() => {})]);
  void keeper.keep(signal);
  void keepFiles({ ...options, places, enrolled, release }, signal);
  const during = <T>(work: Promise<T>): Promise<T> => {
    watch.poke();
    return work.finally(() => watch.poke());
  };
  return { status: () => watch.status, announce: (revision) => keeper.announce(revision), during, stop: () => stop.abort() };
}

interface EndpointParts extends FollowOptions {
  readonly places: UpdaterPlaces;
  readonly enrolled: () => Promise<boolean>;
  readonly release: Release | undefined;
}

/** Keeps what the updater reads: the version endpoint (unless it has one) and the cluster's keys; in Kubernetes keys and id. Never throws. */
async function keepFiles({ log, places, enrolled, release, ...parts }: EndpointParts, signal: AbortSignal): Promise<void> {
  const failed = new Map<string, string>();
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      failed.delete(what);
    } catch (thrown) {
      const text = errorText(thrown);
      if (text !== failed.get(what) && !signal.aborted) log.warn(`could not write ${what} for the updater`, { error: thrown });
      failed.set(what, text);
    }
  };
  while (!signal.aborted) {
    const isEnrolled = await enrolled();
    if (isEnrolled && release !== undefined) {
      await attempt("the cluster's keys", async () => {
        const { hostCaSsh: keys, hostId } = parts.identity.current();
        if (await release.share({ keys, hostId })) log.info("wrote the cluster's keys for the updater");
      });
    } else if (isEnrolled) {
      await attempt("the version endpoint", async () => {
        const endpoint = await writeEndpoint(endpointOptions(parts, places, signal));
        if (endpoint !== undefined) log.info("wrote the version endpoint for the updater", { endpoint });
      });
      await attempt("the cluster's keys", async () => {
        const { hostCaSsh } = parts.identity.current();
        if (await writeAuthorities(join(places.configDir, "authorities"), hostCaSsh)) log.info("wrote the cluster's keys for the updater");
      });
    }
    await sleep((isEnrolled ? endpointMs : enrolmentMs) * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => {});
  }
}

function endpointOptions(
  { env, proxies, identity }: Pick<FollowOptions, "env" | "proxies" | "identity">,
  places: UpdaterPlaces,
  signal: AbortSignal,
) {
  return {
    configDir: places.configDir,
    proxies,
    hostCa: identity.current().hostCaPem,
    get: async (address: string, path: string, ca?: readonly string[]) => {
      const trusted = ca ?? [...trustedRoots(), ...(await configuredAuthorities(places))];
      return await httpsGet(parseHostPort(address, undefined, "proxy"), path, { env, ca: trusted, maxBytes: 4096, signal });
    },
  };
}

/** Additional authorities that the admin lets the updater trust. */
async function configuredAuthorities({ configDir }: UpdaterPlaces): Promise<readonly string[]> {
  const text = await readFile(join(configDir, "ca"), "utf8").catch(() => "");
  return text === "" || text.length > maxAuthorities ? [] : [text];
}
