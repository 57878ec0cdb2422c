import { join } from "node:path";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ProxyFacts } from "../../../core/resources/proxy-facts.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import type { ProxyConfig } from "../../config.ts";
import { RequestLimit } from "../../limits/request-limit.ts";
import { askUpstreamBy } from "./ask-upstream.ts";
import { Channels } from "./channels.ts";
import { HostTargets } from "./host-targets.ts";
import { reportChannels } from "./report-channels.ts";

/** Requests for versions from one client address. */
export interface UpgradeLimit {
  readonly perMinute: number;
  readonly burst: number;
}

/** A thousand hosts behind one address ask twice in ten minutes: 200 a minute. */
const usualLimit: UpgradeLimit = { perMinute: 600, burst: 1200 };

/** The version server's parts. */
export interface VersionServer {
  readonly channels: Channels;
  readonly targets: HostTargets;
  readonly limit: RequestLimit;
  readonly clock: () => number;
  /** The auth service may have lost the reports: sends them again. */
  readonly reportSoon: () => void;
  /** Runs until the signal; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface VersionServerDeps {
  readonly config: ProxyConfig;
  readonly version: string;
  readonly auth: AuthClient;
  readonly env: Env;
  /** Trusted authorities for upstream servers, PEM, instead of this machine's. */
  readonly upstreamCa?: readonly string[] | undefined;
  readonly limit?: UpgradeLimit | undefined;
  /** True once another process has taken over, which reports instead of this one. */
  readonly retired: () => boolean;
  /** The proxy's report about itself. */
  readonly facts: () => ProxyFacts;
  readonly log: Log;
  readonly now: () => Date;
  readonly clock: () => number;
}

export async function openVersionServer(deps: VersionServerDeps): Promise<VersionServer> {
  const { config, version, auth, env, log, now, clock, retired } = deps;
  const ask = askUpstreamBy({ env, ca: deps.upstreamCa });
  const file = join(config.dataDir, "proxy", "upgrade-channels.json");
  const channels = await Channels.open({ configured: config.upgradeChannels ?? {}, version, ask, file, log, now });
  const reporter = reportChannels({ channels, auth, facts: deps.facts, log, retired });
  return {
    channels,
    targets: new HostTargets({ auth, log, own: `v${version}`, clock }),
    limit: new RequestLimit({ ...(deps.limit ?? usualLimit), clock }),
    clock,
    reportSoon: reporter.soon,
    run: async (signal) => {
      await Promise.all([channels.run(signal), reporter.run(signal)]);
    },
  };
}
