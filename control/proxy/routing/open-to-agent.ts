import type { Duplex } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { splitHealth } from "../../../core/resources/offered.ts";
import { Attempt } from "../../../core/transport/dial/attempt.ts";
import { openMs } from "../tunnels/tunnel.ts";
import type { DirectTarget, TunnelTarget } from "./find-target.ts";
import type { OfferingAgent } from "./offering-agents.ts";
import { type DiallingIdentity, dialDirect } from "./reach-host.ts";
import type { RoutingServices } from "./routing-services.ts";

interface Wanted {
  readonly kind: ServedKind;
  /** Name of the resource. */
  readonly target: string;
  /** PEM. */
  readonly hostAuthorities: readonly string[];
  /** Aborted when the client has left. */
  readonly left?: AbortSignal | undefined;
}

interface Opened {
  readonly host: TunnelTarget | DirectTarget;
  readonly channel: Duplex;
}

interface Services extends Pick<RoutingServices, "now" | "log"> {
  readonly identity: DiallingIdentity;
}

/** Time for all agents together, ms: clients wait about as long for an answer. */
const allMs = 15_000;

/**
 * A channel to the first of these agents that opens one. Tries no more of them after `allMs`, or once the client has left. Throws `unavailable` with the first
 * failure.
 */
export async function openToAgent(agents: readonly OfferingAgent[], wanted: Wanted, services: Services): Promise<Opened> {
  const { kind, target } = wanted;
  using all = new Attempt({ timeoutMs: allMs, ...(wanted.left !== undefined && { signal: wanted.left }) });
  all.waitingFor = "a stream to an agent";
  let fault: unknown;
  let tried = 0;
  for (const way of waysTo(agents)) {
    if (all.signal.aborted) break;
    tried += way.length;
    try {
      return await openOne(way, { ...wanted, signal: all.signal }, services);
    } catch (thrown) {
      fault ??= thrown;
      const host = way.map(({ identity }) => identity.id).join(", ");
      services.log.info("an agent did not open a stream: trying the next one", { [kind]: target, host, error: errorText(thrown) });
    }
  }
  if (wanted.left?.aborted === true) throw new PlatformError("unavailable", "the client has left", { cause: wanted.left.reason });
  const { noun } = serviceKinds[kind].served;
  const silent = silentWords(tried, agents.length);
  throw new PlatformError("unavailable", `${noun} ${JSON.stringify(target.slice(0, 64))} is unreachable: ${silent}: ${errorText(fault)}`, {
    cause: fault,
    hint: "try again in a moment",
  });
}

function silentWords(tried: number, all: number): string {
  if (all === 1) return "its agent does not answer";
  if (tried === all) return `none of its ${all} agents answers`;
  return `${tried} of its ${all} agents ${tried === 1 ? "does" : "do"} not answer, and there was no time for the others`;
}

/** A tunnel, or agents that are dialled together. */
type Way = readonly [TunnelTarget] | readonly [DirectTarget, ...DirectTarget[]];

/** Maximum agents that are dialled together. */
const maxTogether = 4;

/**
 * In which order agents are tried. Those that are dialled stand together while they are equally good: the next one is dialled as soon as one is slow, because a
 * firewall that drops packets would use up the whole time of a connection. Pure.
 */
export function waysTo(agents: readonly OfferingAgent[]): readonly Way[] {
  const ways: { readonly health: string; readonly way: Way }[] = [];
  for (const { agent, offered } of agents) {
    const { health } = splitHealth(offered);
    const last = ways.at(-1);
    if (agent.via === "tunnel") ways.push({ health, way: [agent] });
    else if (last !== undefined && last.health === health && isDialled(last.way) && last.way.length < maxTogether) {
      ways.splice(-1, 1, { health, way: [...last.way, agent] });
    } else ways.push({ health, way: [agent] });
  }
  return ways.map(({ way }) => way);
}

function isDialled(way: Way): way is readonly [DirectTarget, ...DirectTarget[]] {
  return way[0].via === "dial";
}

interface WantedNow extends Wanted {
  readonly signal: AbortSignal;
}

async function openOne(way: Way, { kind, hostAuthorities, signal: all }: WantedNow, services: Services): Promise<Opened> {
  if (!isDialled(way)) return { host: way[0], channel: await unlessAborted(way[0].tunnel.openStream(openMs), all) };
  using attempt = new Attempt({ timeoutMs: openMs, signal: all });
  const { signal } = attempt;
  const named = new Map(
    way.toReversed().flatMap(({ facts, ...host }) => addressesFor(kind, host).map((address) => [address, facts.hostname] as const)),
  );
  const addresses = [...new Set(way.flatMap((host) => addressesFor(kind, host)))];
  const name = (address: string): string => named.get(address) ?? "";
  const { socket: channel, host } = await dialDirect({ ...services, hostAuthorities, addresses, hosts: way, name, signal });
  return { host, channel };
}

/** The channel, which is closed if it comes after the signal. Throws the signal's reason. */
async function unlessAborted(opening: Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    opening.then((channel) => channel.destroy()).catch(() => {});
    reject(signal.reason as Error);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([opening, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function addressesFor(kind: ServedKind, { services = {}, addresses }: Pick<DirectTarget, "services" | "addresses">): readonly string[] {
  return services[kind] ?? addresses;
}
