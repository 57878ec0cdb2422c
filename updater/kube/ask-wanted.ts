import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { trustedRoots } from "../../core/transport/dial/start-tls.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { askEndpoint } from "../endpoint/endpoint.ts";
import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import { judgeProof, type Proof } from "../endpoint/judge-proof.ts";
import type { Endpoint } from "../settings.ts";
import { jsonOf, objectOf, textOf } from "./cluster/json-value.ts";
import type { SharedState } from "./cluster/shared-state.ts";
import type { WantedVersion } from "./update/update-decision.ts";
import type { AskFacts } from "./update/update-run.ts";

export interface AskOptions {
  readonly endpoint: Endpoint;
  readonly proxy: HostPort;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** PEM; additional trusted authorities. */
  readonly ca: string | undefined;
  readonly log: Log;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Maximum agents in whose name the endpoint is asked; a release has a few replicas. */
const maxHosts = 8;

/**
 * What the cluster wants of this workload. Its agents are hosts of their own in a staged roll-out, and go together: the first one that may take
 * the version speaks for all. Throws only for the signal.
 */
export async function askWanted({ authorities, hosts }: SharedState, { pods, last }: AskFacts, options: AskOptions): Promise<WantedVersion> {
  const { endpoint, env, ca, signal, now } = options;
  const ids = pods.flatMap((pod) => (Object.hasOwn(hosts, pod) ? (hosts[pod] ?? []) : [])).slice(0, maxHosts);
  let answer: EndpointAnswer | undefined;
  let host: string | undefined;
  for (const id of ids.length === 0 ? [undefined] : ids) {
    const next = await askEndpoint(endpoint, { env, signal, ca, hostId: id });
    const isFree = next.kind === "version" && next.held === undefined;
    if (answer === undefined || isFree) [answer, host] = [next, id];
    // Another host of the same release gets no other answer from an endpoint that fails.
    if (isFree || next.kind === "failed") break;
  }
  if (answer === undefined) throw new Error("no question was asked");
  if (answer.kind !== "version") return { endpoint: answer };
  const keys = authorities;
  const facts = { version: answer.version, signed: answer.signed, host, channel: endpoint.channel, keys, last, now: now().getTime() / 1000 };
  const proof: Proof = judgeProof(facts);
  const proxy = await proxyVersion(options);
  return { endpoint: answer, proof, ...(proxy !== undefined && { proxy }) };
}

/** Longest answer to a ping, bytes. */
const maxPing = 65_536;

/** The proxy's own version: agents must not be of a higher major. Undefined if it does not answer. */
async function proxyVersion({ proxy, env, ca, log, signal }: AskOptions): Promise<string | undefined> {
  try {
    const trust = ca === undefined ? {} : { ca: [...trustedRoots(), ca] };
    const { status, body } = await httpsGet(proxy, "/webapi/ping", { env, signal, maxBytes: maxPing, ...trust });
    const version = textOf(objectOf(jsonOf(body.toString("utf8"))).server_version);
    return status === 200 && version !== "" ? version : undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    log.warn("could not ask the proxy for its version", { error: errorText(thrown) });
    return undefined;
  }
}
