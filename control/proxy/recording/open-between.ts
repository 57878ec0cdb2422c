import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { sendRecordings } from "../../../core/api/send-recordings.ts";
import type { Log } from "../../../core/log/log.ts";
import { openRecordings, type Recordings } from "../../../core/recording-spool/recordings.ts";
import { type RecordingMode, recordedAt } from "../../../core/resources/recording.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import type { AccessCache } from "../routing/access-cache.ts";
import type { AuditQueue } from "../routing/audit-queue.ts";
import type { Target } from "../routing/find-target.ts";
import { type StandFacts, StandInKeys, standBetween } from "./stand-between.ts";

export interface BetweenFacts extends Omit<StandFacts, "isSync" | "host"> {
  readonly host: Pick<Target, "via" | "identity" | "facts">;
  readonly mode: RecordingMode;
}

/**
 * Returns the stream for a client of a channel to a host, on which the reply to its request comes next: the channel itself, where proxies do not
 * record.
 */
export type StandBetween = (channel: Duplex, facts: BetweenFacts) => Promise<Duplex>;

export interface BetweenOptions {
  /** The proxy's own key. */
  readonly folder: string;
  readonly auth: Pick<AuthClient, "signRelayedHost" | "signRelayedUser" | "uploadRecording" | "uploadRecordings">;
  readonly access: Pick<AccessCache, "current" | "forUser">;
  readonly audit: Pick<AuditQueue, "emit">;
  readonly log: Log;
  readonly now: () => Date;
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
}

/** Recordings wait in the proxy's folder until the auth service has them; those left by an earlier process are sent too. */
export function openBetween(options: BetweenOptions): { readonly between: StandBetween; run(): Promise<void> } {
  const { folder, auth, log, signal } = options;
  const keys = new StandInKeys(options);
  let opened: Promise<Recordings> | undefined;
  const recordings = (): Promise<Recordings> => {
    opened ??= openRecordings({ folder: join(folder, "recordings"), log, ...sendRecordings(async () => auth) });
    return opened;
  };
  return {
    between: async (channel, { host, mode, ...facts }) => {
      const how = recordedAt(mode);
      if (how?.place !== "proxy") return channel;
      const { id } = host.identity;
      const { hostname: name, labels } = host.facts;
      // A host without an agent is only known by its names.
      const principal = host.via === "sshd" ? name : id;
      const between = { ...facts, host: { id, name, labels, principal }, isSync: how.isSync };
      return await standBetween(channel, between, { ...options, keys, recordings: await recordings() });
    },
    run: async () => await (await recordings()).upload(signal),
  };
}
