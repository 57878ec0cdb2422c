import { differenceHint } from "../access/agreed-offers.ts";
import type { ServedAsk, SshAsk } from "../access/ask.ts";
import { type Explanation, explainAccess } from "../access/explain-access.ts";
import { offeredAsks } from "../access/offered-asks.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { ServedKind, ServiceKind } from "../kinds/service-kinds.ts";
import { documentKind, readDocument } from "../resources/document.ts";
import { lockDocument } from "../resources/lock.ts";
import { nodeDocument } from "../resources/node.ts";
import { roleDocument } from "../resources/role.ts";
import { userSchema } from "../resources/user.ts";
import type { AuthClient } from "./auth-client.ts";

const userDocument = documentKind("resource", userSchema, { what: "the user" });

/** An access in question: the names at the resource, by parameter, as in a request (core/kinds). */
export interface AccessQuestion {
  readonly user: string;
  readonly kind: ServiceKind;
  /** Name of the resource; of a host also its id. */
  readonly name: string;
  readonly login?: string | undefined;
  readonly dbUser?: string | undefined;
  readonly dbName?: string | undefined;
  /** At a Kubernetes cluster: what is done there, and as whom. */
  readonly request?: ServedAsk["request"] | undefined;
  readonly now: Date;
}

type Client = Pick<AuthClient, "getResource" | "listResources" | "listOffered">;

/**
 * Whether a user may have an access, and why, by what the caller may read: the user, the roles, the locks and the resource. Throws what the auth service
 * refuses, `not_found` for a resource that is not there, and `invalid` for a name that several hosts have.
 */
export async function askWhy(client: Client, question: AccessQuestion): Promise<Explanation> {
  const { user, kind, now } = question;
  // First: a caller without the rights is refused, and audited, once.
  const person = await client.getResource({ kind: "user", name: user });
  const [roles, locks, asks] = await Promise.all([
    client.listResources({ kind: "role" }),
    client.listResources({ kind: "lock" }),
    kind === "ssh" ? hostAsks(client, question) : servedAsks(client, { ...question, kind }),
  ]);
  const facts = {
    user: readDocument(userDocument, person.json),
    roles: roles.resources.map(({ json }) => readDocument(roleDocument, json)),
    locks: locks.resources.map(({ json }) => readDocument(lockDocument, json)),
    now,
  };
  const all = asks.map((ask) => explainAccess({ ...facts, ask }));
  // One host that may be used is enough.
  const found = all.find(({ allowed }) => allowed) ?? all[0];
  if (found === undefined) throw new PlatformError("not_found", `nothing offers ${kind}/${question.name.slice(0, 64)} now`);
  return found;
}

async function hostAsks(client: Client, { name, login }: AccessQuestion): Promise<readonly SshAsk[]> {
  const text = JSON.stringify(name);
  const { resources } = await client.listResources({ kind: "node", query: `name == ${text} || id == ${text}`, limit: 2 });
  const nodes = resources.map(({ json }) => readDocument(nodeDocument, json));
  const [only] = nodes;
  if (nodes.length > 1) throw new PlatformError("invalid", `several hosts have the name ${text.slice(0, 64)}`, { hint: "give the host's id" });
  if (only === undefined) throw new PlatformError("not_found", `there is no host ${text.slice(0, 64)}`);
  const node = { id: only.metadata.name, name: only.spec.hostname, labels: only.metadata.labels ?? {} };
  return [{ kind: "ssh", node, ...(login !== undefined && { login }) }];
}

/** Throws `conflict` while its agents disagree about it. */
async function servedAsks(client: Client, { kind, name, ...use }: AccessQuestion & { readonly kind: ServedKind }): Promise<readonly ServedAsk[]> {
  const { resources } = await client.listOffered({ kind, query: `name == ${JSON.stringify(name)}` });
  // Passed over are agents beside others that count; if none counts, agents disagree.
  const used = resources.filter(({ unused }) => unused === "");
  const [fault] = resources;
  if (used.length === 0 && fault !== undefined) throw new PlatformError("conflict", fault.unused, { hint: differenceHint({ kind, name }) });
  return used.flatMap((place) => offeredAsks(kind, place, use));
}
