import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName } from "../../../core/identity/cluster-names.ts";
import { opensshHostCertificate } from "../../../core/identity/ssh-identity.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { checkHostNames } from "../tokens/host-names.ts";

export interface SignHostAsk {
  readonly names: readonly string[];
  readonly sshPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
  readonly actor: Actor;
}

/** The certificate of a host without an agent is not renewed: it is valid for a year, or until the host authority is rotated. */
const usualTtlSeconds = 365 * 86_400;
const mostTtlSeconds = 366 * 86_400;

/** A certificate for the sshd of a host without an agent. Throws `denied` for names of other hosts. */
export async function signHost(context: AuthContext, ask: SignHostAsk): Promise<string> {
  const { clusterName: cluster } = context;
  const [hostname, ...more] = ask.names;
  if (hostname === undefined) throw new PlatformError("invalid", "a host certificate needs a name", { hint: "give --host=<name>[,<name>]" });
  const others = await context.namesInUse.others({ id: "" });
  const taken = await context.namesInUse.agents();
  refuseTaken(ask.names, taken, cluster);
  // Names of hosts without an agent do not conflict: this host may already be registered.
  const names = checkHostNames({ role: "node", hostname, names: more, cluster, others: { ...others, nodes: taken } });
  const ttl = Math.min(mostTtlSeconds, ask.ttlSeconds === 0 ? usualTtlSeconds : Math.max(60, ask.ttlSeconds));
  const now = context.now();
  const validBefore = new Date(Math.floor(now.getTime() / 1000 + ttl) * 1000);
  const line = context.authorities.issueSsh("host", opensshHostCertificate({ names, cluster, validBefore }), { sshPublicKey: ask.sshPublicKey, now });
  const { name: user, address } = ask.actor;
  context.audit.emit({ event: "cert.create", user, name: hostname, kind: "host", expires: validBefore.toISOString(), "addr.remote": address });
  return line;
}

/** Clients trust the name in a host certificate: with the name of a host with an agent this one could impersonate it. */
function refuseTaken(names: readonly string[], taken: Pick<ReadonlySet<string>, "has">, cluster: string): void {
  const double = names.find((name) => taken.has(baseName(name, cluster)));
  if (double === undefined) return;
  throw new PlatformError("denied", `${JSON.stringify(double)} is the name of a host with an agent`, {
    hint: "choose another name; remove a host that is gone with: tctl nodes rm",
  });
}
