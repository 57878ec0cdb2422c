import type { MessageShape } from "@bufbuild/protobuf";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { HostRouteSchema, HostsEvent } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import {
  type DirectHost,
  directHostDocument,
  directHostSchema,
  type RecordedHost,
  recordedHostDocument,
  recordedHostSchema,
  type TunnelledHost,
  tunnelledHostDocument,
  tunnelledHostSchema,
} from "../../../core/resources/directory-host.ts";
import { readDocuments } from "../../../core/resources/document.ts";
import { maxOffered, offeredSchema } from "../../../core/resources/offered.ts";
import { backOffDelay, failuresAfter } from "../../../core/transport/back-off.ts";
import { NameIndex } from "../../name-index.ts";
import { wait } from "../wait.ts";
import { type DialledOffer, DialledOffers } from "./dialled-offers.ts";
import type { DirectTarget, ElsewhereTarget, RecordedTarget } from "./find-target.ts";

export interface HostDirectoryOptions {
  readonly auth: Pick<AuthClient, "watchHosts" | "findDirectHosts">;
  readonly log: Log;
  readonly cluster: string;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** How long an answer is used after the auth service's last event, ms. */
const freshMs = 30_000;
/** Maximum number of hosts; the auth service keeps below it. */
const maxHosts = 50_000;
/** Time before the next attempt when the auth service cannot send the hosts at all, ms. */
const retryMs = 300_000;

interface Hosts {
  readonly byId: Map<string, FoundHosts["reachable"][number] | FoundHosts["recorded"][number]>;
  readonly names: NameIndex;
  readonly offers: DialledOffers;
}

/**
 * The hosts that a target may mean besides those with a tunnel here: it follows the auth service's watch, so that no stream waits for the auth
 * service. Without a current answer (an auth service of the version before, or too many hosts) it asks for each target.
 */
export class HostDirectory {
  readonly #options: HostDirectoryOptions;
  /** The last complete answer. */
  #hosts: Hosts | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;
  #sooner: () => void = () => {};
  /** The first watch is complete, or has failed. */
  readonly #begun = Promise.withResolvers<void>();

  constructor(options: HostDirectoryOptions) {
    this.#options = options;
  }

  /** Whether targets are found without a call. */
  get isCurrent(): boolean {
    return this.#hosts !== undefined && this.#options.clock() - this.#heardAt < freshMs;
  }

  /** Throws PlatformError when it has to ask the auth service and that fails. */
  async find(target: string): Promise<FoundHosts> {
    const { auth, cluster } = this.#options;
    const hosts = this.isCurrent ? this.#hosts : undefined;
    if (hosts === undefined) return await findByCall(auth, target);
    const found = hosts.names.find(target.slice(0, 600), cluster).flatMap((id) => hosts.byId.get(id) ?? []);
    return { reachable: found.filter((host) => host.via !== "record"), recorded: found.filter((host) => host.via === "record") };
  }

  /** Agents that proxies dial and that offer a resource; none without a current answer of the auth service. */
  offering(kind: string, name: string): readonly DialledOffer[] {
    return this.isCurrent ? (this.#hosts?.offers.offering(kind, name) ?? []) : [];
  }

  /** Resolves once this proxy's first watch is complete or has failed, at the latest after so many ms. Never rejects. */
  async begun(limitMs: number): Promise<void> {
    if (this.isCurrent) return;
    const timer = setTimeout(() => this.#begun.resolve(), limitMs);
    await this.#begun.promise;
    clearTimeout(timer);
  }

  /** Call this when the auth service was restarted: it may be another version. */
  retry(): void {
    this.#sooner();
  }

  /** Follows the auth service until the signal; reconnects with back-off. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const began = clock();
      const error = await this.#watch(signal).catch((thrown: unknown) => thrown);
      this.#begun.resolve();
      if (signal.aborted) return;
      const code = error instanceof PlatformError ? error.code : undefined;
      failures = failuresAfter(failures, clock() - began);
      if (code === "limit" || code === "unsupported") {
        log.info("the auth service does not send the hosts: asking it for each target", { error: errorText(error) });
        const sooner = new AbortController();
        this.#sooner = () => sooner.abort();
        await wait(retryMs, AbortSignal.any([signal, sooner.signal]));
      } else {
        log.debug("lost the auth service's watch of hosts", { error: errorText(error) });
        await wait(backOffDelay(failures, Math.random()), signal);
      }
    }
  }

  /** Ends with an error: the watch broke off, or was silent for too long. */
  async #watch(signal: AbortSignal): Promise<never> {
    const silent = new AbortController();
    const hosts: Hosts = { byId: new Map(), names: new NameIndex(), offers: new DialledOffers() };
    let timer: NodeJS.Timeout | undefined;
    const listen = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), freshMs);
    };
    listen();
    try {
      const either = AbortSignal.any([signal, silent.signal]);
      for await (const event of this.#options.auth.watchHosts({}, { signal: either, timeoutMs: 0 })) {
        listen();
        apply(event, hosts);
        if (event.complete) this.#hosts = hosts;
        if (this.#hosts === hosts) this.#heardAt = this.#options.clock();
        if (event.complete) this.#begun.resolve();
      }
    } finally {
      clearTimeout(timer);
    }
    throw new PlatformError("unavailable", "the watch of hosts ended");
  }
}

function apply({ changed, gone }: HostsEvent, { byId, names, offers }: Hosts): void {
  for (const id of gone) {
    byId.delete(id);
    names.delete(id);
    offers.delete(id);
  }
  for (const route of changed) {
    const host = read(route);
    byId.set(route.id, host);
    names.set(route.id, route.names.slice(0, 256));
    offers.set(route.id, offersOf(host, route.via));
  }
  if (byId.size > maxHosts) throw new PlatformError("limit", `more than ${maxHosts} hosts have no tunnel to this proxy`);
}

/** Throws for a malformed host: a target that may mean it is unknown then. */
function read({
  id,
  hostname,
  labels,
  names,
  via,
}: MessageShape<typeof HostRouteSchema>): FoundHosts["reachable"][number] | FoundHosts["recorded"][number] {
  const host = { id, hostname, labels };
  if (via.case === "dial") {
    const { addresses, shared, serviceAddresses } = via.value;
    const services = Object.fromEntries(serviceAddresses.map((one) => [one.kind, one.addresses]));
    return targetOf.dial(directHostSchema.parse({ ...host, names: names.slice(0, 64), addresses, shared, services }));
  }
  if (via.case === "tunnel") return targetOf.elsewhere(tunnelledHostSchema.parse({ ...host, proxies: via.value.proxies }));
  const since = via.case === "record" && via.value.since !== "" ? { since: via.value.since } : {};
  return targetOf.record(recordedHostSchema.parse({ ...host, ...since }));
}

/** Offers that this version cannot read, of a later auth service, are left out. */
function offersOf(host: ReturnType<typeof read>, via: MessageShape<typeof HostRouteSchema>["via"]): readonly DialledOffer[] {
  if (host.via !== "dial" || via.case !== "dial") return [];
  const { offered, namedKinds } = via.value;
  return offered.slice(0, maxOffered.count).flatMap((one) => {
    const { data } = offeredSchema.safeParse(one);
    return data === undefined ? [] : [{ target: host, offered: data, isNamed: namedKinds.includes(data.kind) }];
  });
}

/** Time limit of the auth service's answer, ms. */
const callMs = 3_000;

/** Hosts that match a target, besides those with a tunnel to this proxy. */
interface FoundHosts {
  /** Dialled hosts, and those with a tunnel to other proxies. */
  readonly reachable: readonly (DirectTarget | ElsewhereTarget)[];
  /** Other hosts of that name, possibly including those with a tunnel here. */
  readonly recorded: readonly RecordedTarget[];
}

/** Without a current directory: the auth service's answer for one target. An older auth service does not return any. Throws PlatformError. */
async function findByCall(auth: Pick<AuthClient, "findDirectHosts">, target: string): Promise<FoundHosts> {
  try {
    const { hostsJson, tunnelledJson, recordedJson } = await auth.findDirectHosts({ target }, { timeoutMs: callMs });
    const dialled = readDocuments(directHostDocument, hostsJson).map(targetOf.dial);
    const elsewhere = readDocuments(tunnelledHostDocument, tunnelledJson).map(targetOf.elsewhere);
    const recorded = readDocuments(recordedHostDocument, recordedJson).map(targetOf.record);
    return { reachable: [...dialled, ...elsewhere], recorded };
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return { reachable: [], recorded: [] };
    throw thrown;
  }
}

/** Targets made from the auth service's facts about a host. Pure. */
const targetOf = {
  dial: ({ id, hostname, labels, addresses, shared, services = {} }: DirectHost): DirectTarget => {
    return { via: "dial", identity: { id }, facts: { hostname, labels }, addresses, shared, services, peer: addresses[0] ?? "" };
  },
  elsewhere: ({ id, hostname, labels, proxies }: TunnelledHost): ElsewhereTarget => {
    return { via: "elsewhere", identity: { id }, facts: { hostname, labels }, proxies: proxies.map(({ name, addr }) => ({ name, addr })) };
  },
  record: ({ id, hostname, labels, since }: RecordedHost): RecordedTarget => {
    return { via: "record", identity: { id }, facts: { hostname, labels }, since };
  },
};
