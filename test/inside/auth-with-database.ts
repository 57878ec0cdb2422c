import { randomBytes, X509Certificate } from "node:crypto";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { nonceLength, type ProvenSession, proveSession } from "../../core/identity/session-proof.ts";
import { codeAt } from "../world/one-time-code.ts";
import { addUser, joinFacts, joinHost, openTestAuth, type TestAuth } from "./open-auth.ts";
import { generateKeys, publicKeys, type UserKeys } from "./user-keys.ts";

/** An auth service with a connected host that offers a database `orders`, and a user who may be `reader` there. */
export interface AuthWithDatabase extends AsyncDisposable {
  readonly t: TestAuth;
  readonly hostId: string;
  /** Calls of the host. */
  readonly host: AuthClient;
  readonly alice: UserKeys;
  /** A user's signature over a session at `orders` through the host, as `tsh` makes it; by default for any account, and now. */
  prove(
    user: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">,
    change?: Partial<ProvenSession> & { readonly time?: Date },
  ): Uint8Array<ArrayBuffer>;
  logIn(name: string, roles: readonly string[]): Promise<UserKeys>;
  putRole(name: string, spec: object): Promise<void>;
  putLock(target: object): Promise<void>;
  /** The host offers `orders` with these facts of its kind. */
  offer(details: Readonly<Record<string, string>>): Promise<void>;
}

export async function authWithDatabase(): Promise<AuthWithDatabase> {
  const t = await openTestAuth();
  const putRole = async (name: string, spec: object): Promise<void> => {
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec }), overwrite: true });
  };
  const logIn = async (name: string, roles: readonly string[]): Promise<UserKeys> => {
    const { password, otpauthUri } = await addUser(t, name, { roles: [...roles] });
    const keys = generateKeys();
    const answer = await t.connect().login({ user: name, password, code: codeAt(otpauthUri, t.now()), ...publicKeys(keys) });
    t.forward(60_000);
    return { ...keys, sshCertificate: answer.sshCertificate, tlsCertificate: answer.tlsCertificate };
  };
  const putLock = async (target: object): Promise<void> => {
    await t.admin.putResource({ json: JSON.stringify({ kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target } }) });
  };
  await putRole("reader", { allow: { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["shop"] } });
  const offering = await offeringHost(t);
  const alice = await logIn("alice", ["reader"]);
  const prove: AuthWithDatabase["prove"] = ({ tlsCertificate: certificate, tlsPrivateKey: privateKey }, { time = t.now(), ...change } = {}) => {
    const session = { cluster: "test", hostId: offering.hostId, database: "orders", account: "", ...change };
    const frame = proveSession(session, { certificate, privateKey }, { now: time, nonce: randomBytes(nonceLength) });
    return new Uint8Array(frame.subarray(4));
  };
  return { t, ...offering, alice, prove, logIn, putRole, putLock, [Symbol.asyncDispose]: async () => await t[Symbol.asyncDispose]() };
}

async function offeringHost(t: TestAuth): Promise<Pick<AuthWithDatabase, "hostId" | "host" | "offer">> {
  const { secret } = await t.admin.createToken({ roles: ["node", "db"] });
  const keys = generateKeys();
  const facts = { ...joinFacts("node", secret, { hostname: "db-1", services: ["db"] }), ...publicKeys(keys) };
  const { hostId, tlsCertificate } = await t.connect().join(facts);
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "db-1", services: ["db"], version: "1.0.0", connected: true });
  const offer = async (details: Readonly<Record<string, string>>): Promise<void> => {
    await proxy.client.reportOffered({ hostId, offered: [{ kind: "db", name: "orders", labels: { env: "test" }, details: { ...details } }] });
  };
  await offer({});
  return { hostId, offer, host: t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey }) };
}

export function derOf(pem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new X509Certificate(pem).raw);
}
