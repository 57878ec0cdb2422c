import { z } from "zod";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { MfaMark, UserIdentity } from "../../../core/identity/identity.ts";
import { isServedKind } from "../../../core/kinds/service-kinds.ts";
import type { Node } from "../../../core/resources/node.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import type { Caller, UserCaller } from "../api/caller.ts";
import { mayReach } from "../api/permissions.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import { nodesMeant } from "../inventory/nodes-meant.ts";
import { confirmCode, otpDevice } from "../login/confirm-code.ts";
import { routeOf } from "./sign-user.ts";

export interface SessionAsk {
  /** `ssh`, a kind of service that agents serve, or `join`. */
  readonly kind: string;
  /** Name or id of a host, name of a resource, or id of a session. */
  readonly name: string;
  /** The only account at a database; empty: any. */
  readonly account: string;
  readonly code: string;
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  readonly caller: Caller;
}

/** Time to open a session of SSH, ms; the session then lasts as the login and the roles allow. */
const openMs = 60_000;

/** What a certificate is for, and whether its user can be bound to an address there. */
interface Target extends Pick<MfaMark, "kind" | "name"> {
  readonly seesAddress: boolean;
}

/**
 * Certificates of the caller for sessions with one resource, after a fresh one-time code, marked with what confirmed them. For SSH they are good for a minute; for
 * anything else as long as the caller's own, because a tunnel opens a connection for each of its clients. They are bound to the caller's address. What
 * the roles allow is decided when a session is opened. Throws `denied`, `not_found`, `conflict`, `invalid` before the code is used up; then as `confirmCode`.
 */
export async function signSession(context: AuthContext, ask: SessionAsk): Promise<IssuedCertificates & { readonly name: string }> {
  const { caller, code, sshPublicKey, tlsPublicKey } = ask;
  if (caller.kind !== "user") throw new PlatformError("denied", "access denied: this method is for users");
  if (caller.session !== undefined) throw new PlatformError("denied", "access denied: a session in a browser gives no certificates");
  const { identity: own, address } = caller;
  const target = await targetOf(context, ask, caller);
  await confirmCode(context, { user: own.name, code, address, target });
  const now = context.now();
  const { name: user, userId, roles } = own;
  // A lock may have come while the code was on its way.
  const lock = findLock(await listLocks(context.storage), { user, userId, roles, now });
  if (lock !== undefined) throw lockedError(lock);
  const identity = confirmedIdentity(own, { ...target, address, now, account: ask.account });
  const issued = await context.authorities.issueUser(identity, { sshPublicKey, tlsPublicKey, now });
  const expires = identity.validBefore.toISOString();
  context.audit.emit({ event: "cert.create", user, name: user, kind: "user", expires, "addr.remote": address });
  return { ...issued, name: target.name };
}

interface Confirmed extends Target {
  readonly account: string;
  readonly address: string;
  readonly now: Date;
}

function confirmedIdentity(own: UserIdentity, { kind, name, seesAddress, account, address, now }: Confirmed): UserIdentity {
  const mfa = { device: otpDevice, kind, name, until: own.validBefore.toISOString() };
  const sourceIp = own.sourceIp ?? (seesAddress ? ipOf(address) : "");
  const bound = { ...own, mfa, ...(sourceIp !== "" && { sourceIp }) };
  const route = isServedKind(kind) ? routeOf({ routeKind: kind, routeName: name, routeAccount: account }) : undefined;
  if (route !== undefined) return { ...bound, route };
  return { ...bound, validBefore: new Date(Math.min(own.validBefore.getTime(), Math.floor((now.getTime() + openMs) / 1000) * 1000)) };
}

async function targetOf(context: AuthContext, { kind, name, account, sshPublicKey }: SessionAsk, caller: UserCaller): Promise<Target> {
  if (isServedKind(kind)) {
    routeOf({ routeKind: kind, routeName: name, routeAccount: account });
    return { kind, name, seesAddress: true };
  }
  if (sshPublicKey === "") throw new PlatformError("invalid", "a session of SSH needs an SSH key");
  if (kind === "join" && z.uuid().safeParse(name).success) return { kind, name, seesAddress: true };
  if (kind !== "ssh" || name === "") {
    throw new PlatformError("invalid", `a code cannot confirm a session with ${JSON.stringify(`${kind} ${name}`.slice(0, 80))}`);
  }
  const { metadata, sub_kind: subKind } = await onlyHost(context, name, caller);
  // The sshd of a host without an agent sees the proxy's address.
  return { kind, name: metadata.name, seesAddress: subKind !== "openssh" };
}

/** The only host that the user may mean and reach: a code is for one. Hosts that the user may not reach are never named. */
async function onlyHost(context: AuthContext, target: string, caller: UserCaller): Promise<Node> {
  const may = await mayReach(context, caller);
  const nodes = (await nodesMeant(context, target)).filter(({ metadata, spec }) =>
    may({ kind: "ssh", node: { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} } }),
  );
  const [only, second] = nodes;
  const named = JSON.stringify(target.slice(0, 64));
  if (only === undefined) throw new PlatformError("not_found", `no host named ${named} that you may reach`, { hint: "list your hosts with: tsh ls" });
  if (second !== undefined)
    throw new PlatformError("conflict", `${nodes.length} hosts are named ${named}`, { hint: "use the id of the one that you mean" });
  return only;
}
