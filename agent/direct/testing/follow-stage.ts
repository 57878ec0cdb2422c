import { once } from "node:events";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { createLog } from "../../../core/log/log.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import { FollowAuth, type FollowAuthOptions } from "../follow-auth.ts";

type Client = Awaited<ReturnType<FollowAuthOptions["client"]>>;
type Watch = (signal: AbortSignal | undefined) => ReturnType<Client["watchAccess"]>;

const services = {
  served: {} as Readonly<Record<string, readonly string[]>>,
  offered: undefined as readonly Offered[] | undefined,
  refuseOffers: undefined as PlatformError | undefined,
};

function nothingSeen() {
  return {
    reports: [] as { connected: boolean; ending: string; addresses: readonly string[] }[],
    dropped: 0,
    renewed: 0,
    logged: [] as string[],
    revisions: [] as string[],
    resources: [] as string[],
    offers: [] as (readonly string[])[],
    connected: 0,
    /** How often the agent checked whether it serves. */
    asked: 0,
  };
}

function usualFacts() {
  return { addresses: ["10.0.0.5:3022"], refuse: undefined as PlatformError | undefined, serves: true, ...services };
}

type Seen = ReturnType<typeof nothingSeen>;
type Facts = ReturnType<typeof usualFacts>;

/** An auth service as its client sees it: the reports, and how a watch behaves. */
export function stage(watch: Watch) {
  const [seen, facts] = [nothingSeen(), usualFacts()];
  const client = answeringClient(watch, seen, facts);
  const follow = new FollowAuth({
    log: createLog({ level: "warn", format: "text", write: (line) => seen.logged.push(line) }),
    client: async () => client,
    drop: () => {
      seen.dropped += 1;
    },
    renew: () => {
      seen.renewed += 1;
    },
    facts: () => ({
      ...{ hostId: "id", hostname: "web-1", labels: {}, services: ["ssh"], status: { upgrader: "none", sessions: 0 } },
      ...{ addresses: facts.addresses, shared: [], served: facts.served },
    }),
    offered: () => facts.offered,
    onResources: (revision) => seen.resources.push(revision),
    onConnected: () => {
      seen.connected += 1;
    },
    onAccess: (revision) => seen.revisions.push(revision),
    onMaintenance: () => {},
    serves: () => {
      seen.asked += 1;
      return facts.serves;
    },
    steady: () => performance.now(),
    times: { firstMs: 50, heartbeatMs: 100, apartMs: 20 },
  });
  return { seen, facts, follow };
}

function answeringClient(watch: Watch, seen: Seen, facts: Facts): Client {
  return {
    reportOffered: async ({ offered = [] }) => {
      if (facts.refuseOffers !== undefined) throw facts.refuseOffers;
      seen.offers.push(offered.map(({ kind = "", name = "" }) => `${kind}/${name}`));
      return { $typeName: "platform.auth.v1.ReportOfferedResponse" };
    },
    watchAccess: (_request, options) => watch(options?.signal),
    reportNode: async ({ connected = false, ending = "", directAddresses = [] }) => {
      if (facts.refuse !== undefined) throw facts.refuse;
      seen.reports.push({ connected, ending, addresses: directAddresses });
      return { $typeName: "platform.auth.v1.ReportNodeResponse", sharesName: false, refusedServices: [], offerLimits: [] };
    },
  };
}

/** A pending call: the signal aborts it, which is an error. */
export async function silence(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) throw new Error("a watch without a signal would never end");
  if (!signal.aborted) await once(signal, "abort");
  signal.throwIfAborted();
}

/** A watch that has one message. */
export async function* answering(signal: AbortSignal | undefined) {
  yield {
    $typeName: "platform.auth.v1.AccessEvent" as const,
    revision: "1",
    removedHosts: [],
    maintenanceRevision: "",
    proxiesRevision: "",
    resourcesRevision: "r1",
  };
  await silence(signal);
}
