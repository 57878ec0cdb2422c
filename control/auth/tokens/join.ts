import { randomUUID } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName } from "../../../core/identity/cluster-names.ts";
import { serviceKinds, serviceNames } from "../../../core/kinds/service-kinds.ts";
import type { Queue } from "../../../core/limits/queue.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import { joinRoles, type Token, tokenServices } from "../../../core/resources/token.ts";
import { misfitText } from "../../../core/versions/compare-versions.ts";
import { version as clusterVersion } from "../../../core/versions/version.ts";
import { clientNetwork } from "../../limits/request-limit.ts";
import type { Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import { checkDocument } from "../document.ts";
import { issueHostCertificates } from "../inventory/host-certificates.ts";
import { hostWrite, nodeNamesWrite, nodeServicesWrite, offerLimitsWrite, proxyNamesWrite } from "../inventory/host-records.ts";
import { checkLabels } from "../inventory/nodes.ts";
import { checkHostNames } from "./host-names.ts";
import { checkKubernetesJoin } from "./kubernetes-join.ts";
import { findTokenByName, findTokenBySecret, isExpired, type JoinRole, type StoredToken, tokenWrite } from "./tokens.ts";

/** Facts that decide whether a host may join. */
export interface JoinFacts {
  /** Its secret; with `idToken` its name. */
  readonly token: string;
  /** Token of a Kubernetes service account; empty: none. */
  readonly idToken: string;
  readonly role: string;
  readonly hostname: string;
  readonly names: readonly string[];
  readonly version: string;
  /** Kinds of services to offer; empty: SSH. */
  readonly services: readonly string[];
  readonly address: string;
}

export interface JoinAsk extends JoinFacts {
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Number of retries for joins that race for the uses of one token. */
const maxTries = 20;

/**
 * A host exchanges a token for its identity. The token's use and the host's record are one write: two hosts never share one
 * use. A host that lost the answer after that write joins again, which requires another use.
 */
export async function join(context: AuthContext, ask: JoinAsk): Promise<{ id: string; issued: IssuedCertificates }> {
  return await orRefused(context, ask, async (facts, seen) => {
    const role = joinRole(ask.role);
    const node = newNode(ask);
    const { names, nodes } = await admissible(context, { ask, role, id: node.metadata.name, seen });
    warnOfDouble(context, { role, hostname: names[0] ?? ask.hostname, nodes });
    const certificates = { ...ask, hostId: node.metadata.name, role, names };
    // Issued first: keys that cannot be certified do not cost a use, and certificates are not returned before the write.
    const issued = await issueHostCertificates(context, certificates);
    await spend(context, { ask, role, node: called(node, names[0]), names, seen });
    context.audit.emit({ ...facts, success: true, server_id: node.metadata.name, ...(seen.token !== undefined && { token: seen.token }) });
    return { id: node.metadata.name, issued };
  });
}

/**
 * The token with which a host could join now. It is not used up; a refusal is the same as that of `join`, and audited as such: guessing is
 * visible.
 */
export async function checkJoin(context: AuthContext, ask: JoinFacts): Promise<Token> {
  return await orRefused(context, ask, async (_facts, seen) => {
    const role = joinRole(ask.role);
    const { stored } = await admissible(context, { ask, role, id: randomUUID(), seen });
    return stored.token;
  });
}

interface Seen {
  /** Name of the token, once it is known. */
  token?: string;
}

/** Audits the refusals of `work`. */
async function orRefused<T>(context: AuthContext, ask: JoinFacts, work: (facts: ReturnType<typeof eventOf>, seen: Seen) => Promise<T>): Promise<T> {
  const [facts, seen]: [ReturnType<typeof eventOf>, Seen] = [eventOf(ask), {}];
  try {
    return await work(facts, seen);
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...facts, success: false, error, ...(seen.token !== undefined && { token: seen.token }) });
    throw thrown;
  }
}

function eventOf({ role, hostname, address }: JoinFacts) {
  return { event: "instance.join", role: role.slice(0, 64), server_name: hostname.slice(0, 128), "addr.remote": address } as const;
}

interface Applicant {
  readonly ask: JoinFacts;
  readonly role: JoinRole;
  readonly id: string;
  readonly seen: Seen;
}

/** Checks token, version and names. The token comes first, so that names of other hosts are not revealed to clients without one. */
async function admissible(context: AuthContext, { ask, role, id, seen }: Applicant) {
  await checkAccount(context, ask, seen);
  const stored = await usable(context, { ask, role, seen });
  refuseMisfit(ask.version);
  const others = await context.namesInUse.others({ id });
  const names = checkHostNames({ role, hostname: ask.hostname, names: ask.names, cluster: context.clusterName, others });
  return { stored, names, nodes: others.nodes };
}

/** A pod proves its account before it learns anything about the token: its name is not a secret. */
async function checkAccount(context: AuthContext, { token: name, idToken, address }: JoinFacts, seen: Seen): Promise<void> {
  const stored = idToken === "" ? undefined : await findTokenByName(context, name);
  if (stored === undefined) return;
  seen.token = name;
  const { clusterName: audience, kubernetes: api, reviews } = context;
  // Anybody can name an account that the token allows: a network with many such requests takes turns with the others.
  const queue: Queue = async (work) => await reviews(clientNetwork(address), work);
  await checkKubernetesJoin({ token: stored.token, idToken, audience, now: context.now(), api, queue });
}

/** A joining host can easily get another version; one that has joined only causes a warning, so that it stays reachable. */
function refuseMisfit(peer: string): void {
  const misfit = misfitText("this host", { peer, cluster: clusterVersion });
  if (misfit !== undefined) throw new PlatformError("unsupported", misfit.message, { hint: misfit.hint });
}

/** Legal, but worth a warning: users of this name get the answer that it is ambiguous. */
function warnOfDouble(
  { log, clusterName }: AuthContext,
  { role, hostname, nodes }: { role: JoinRole; hostname: string; nodes: Pick<ReadonlySet<string>, "has"> },
): void {
  if (role === "node" && nodes.has(baseName(hostname, clusterName))) {
    log.warn("another node has the same name: both are reachable only by id, until one of them is removed with tctl nodes rm", { name: hostname });
  }
}

/** The host name in the record is that of the certificate. */
function called(node: Node, hostname = node.spec.hostname): Node {
  return { ...node, spec: { ...node.spec, hostname } };
}

interface Spent {
  readonly ask: JoinAsk;
  readonly role: JoinRole;
  readonly node: Node;
  /** Names in the certificates. */
  readonly names: readonly string[];
  readonly seen: Seen;
}

async function spend(context: AuthContext, facts: Spent): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const stored = await usable(context, facts);
    const writes: Write[] = [hostWrite(facts.role, facts.node, "absent")];
    const { name: id } = facts.node.metadata;
    writes.push(facts.role === "proxy" ? proxyNamesWrite(id, facts.ask) : nodeNamesWrite(id, { names: [...facts.names], refused: [] }));
    const { roles, resources } = stored.token.spec;
    if (facts.role === "node") writes.push(nodeServicesWrite(id, tokenServices(roles)));
    if (facts.role === "node" && resources !== undefined) writes.push(offerLimitsWrite(id, resources));
    const { revision } = stored.entry;
    const left = stored.token.spec.uses_left;
    if (left !== undefined) {
      const spent = { ...stored.token, spec: { ...stored.token.spec, uses_left: left - 1 } };
      writes.push(tokenWrite(spent, stored.secretHash, { revision }));
    }
    try {
      await context.storage.batch(writes);
      return;
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    }
  }
  throw new PlatformError("unavailable", "too many hosts are joining with this token at once", { hint: "try again shortly" });
}

async function usable(context: AuthContext, { ask, role, seen }: Pick<Applicant, "ask" | "role" | "seen">): Promise<StoredToken> {
  const refuse = (why: string, hint: string): never => {
    throw new PlatformError("denied", why, { hint });
  };
  const stored = await (ask.idToken === "" ? findTokenBySecret : findTokenByName)(context, ask.token);
  if (stored === undefined) return refuse("unknown join token", "make one with: tctl tokens add");
  const { token } = stored;
  seen.token = token.metadata.name;
  if (isExpired(token, context.now())) refuse(`the join token expired at ${token.metadata.expires}`, "make a new one with: tctl tokens add");
  const wanted = neededRoles(role, ask.services);
  if (!wanted.every((one) => token.spec.roles.some((granted) => granted === one))) {
    refuse(
      `the join token is for ${token.spec.roles.join(", ")}, not for ${wanted.join(", ")}`,
      `make one with: tctl tokens add --type=${wanted.join(",")}`,
    );
  }
  if (token.spec.uses_left === 0) refuse("the join token is used up", "make a new one with: tctl tokens add");
  return stored;
}

/** The roles that the token must have. A service of a later version is one that this cluster cannot serve. */
function neededRoles(role: JoinRole, services: readonly string[]): readonly string[] {
  if (role === "proxy") return [role];
  const tokens = serviceNames.filter((kind) => services.includes(kind)).map((kind) => serviceKinds[kind].token);
  return tokens.length > 0 ? tokens : [serviceKinds.ssh.token];
}

function joinRole(text: string): JoinRole {
  const role = joinRoles.find((one) => one === text);
  if (role === undefined)
    throw new PlatformError("invalid", `cannot join with role ${JSON.stringify(text.slice(0, 64))}`, { hint: "hosts join as node or proxy" });
  return role;
}

function newNode(ask: JoinAsk): Node {
  checkLabels(ask.labels);
  return checkDocument(nodeSchema, {
    kind: "node",
    version: "v2",
    metadata: { name: randomUUID(), labels: ask.labels },
    spec: { hostname: ask.hostname, services: ask.services, version: ask.version },
  });
}
