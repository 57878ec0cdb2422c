import { expect, test } from "vitest";
import { findLock } from "../../../core/access/find-lock.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { type Lock, lockSchema } from "../../../core/resources/lock.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import type { TestUser } from "../../../test/inside/enrol-user.ts";
import { addUser, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { userIdKey } from "./users.ts";

interface Session {
  readonly client: AuthClient;
  readonly identity: UserIdentity;
}

function identityOf(line: string): UserIdentity {
  const identity = fromSshCertificate(parseCertificateLine(line));
  if (identity.kind !== "user") throw new Error("not a user's certificate");
  return identity;
}

async function logIn(t: TestAuth, user: TestUser): Promise<Session> {
  const keys = generateKeys();
  const answer = await t.connect().login({ user: user.name, password: user.password, code: codeAt(user.otpauthUri, t.now()), ...publicKeys(keys) });
  t.forward(60_000);
  return { client: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }), identity: identityOf(answer.sshCertificate) };
}

async function sign(t: TestAuth, user: string, days: number): Promise<Session> {
  const keys = generateKeys();
  const answer = await t.admin.signUser({ user, ttlSeconds: days * 86_400, ...publicKeys(keys) });
  return { client: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }), identity: identityOf(answer.sshCertificate) };
}

const locksOf = async (t: TestAuth): Promise<readonly Lock[]> =>
  (await t.admin.getAccess({})).locksJson.map((json) => lockSchema.parse(JSON.parse(json)));

/** As agents and proxies judge. */
async function lockFor(t: TestAuth, { name: user, userId, roles }: UserIdentity): Promise<string | undefined> {
  return findLock(await locksOf(t), { user, userId, roles, now: t.now() })?.metadata.name;
}

const look = ({ client }: Session) => client.listResources({ kind: "role" });
const remove = (t: TestAuth, name = "alice") => t.admin.deleteResource({ kind: "user", name });

test("a removal shuts out every certificate of the user at once, says so, and is audited with its lock", async () => {
  await using t = await openTestAuth();
  const role = { kind: "role", version: "v7", metadata: { name: "long" }, spec: { options: { max_session_ttl: "8000h" } } };
  await t.admin.putResource({ json: JSON.stringify(role) });
  await addUser(t, "alice", { roles: ["editor", "long"] });
  const machine = await sign(t, "alice", 300);
  await look(machine);
  const { revision } = await t.admin.getAccess({});
  const { notes } = await remove(t);
  const [lock, ...others] = await locksOf(t);
  expect(others).toEqual([]);
  expect(lock).toMatchObject({ spec: { target: { user: "alice" }, message: "user alice was removed" } });
  expect(await lockFor(t, machine.identity)).toBe(lock?.metadata.name);
  expect(new Date(lock?.spec.expires ?? 0).getTime()).toBeGreaterThan(machine.identity.validBefore.getTime());
  expect((await t.admin.getAccess({})).revision).not.toBe(revision);
  await expect(look(machine)).rejects.toMatchObject({ code: "unauthenticated", message: "user alice was removed" });
  expect(notes.join(" ")).toContain(lock?.metadata.name);
  expect(await t.events("user.delete")).toMatchObject([{ name: "alice" }]);
  expect(await t.events("lock.created")).toMatchObject([{ name: lock?.metadata.name, target: "user alice", reason: "user alice was removed" }]);
  // None of them is valid any more, on a host whose clock is slow either.
  t.forward(368 * 86_400_000);
  expect(await locksOf(t)).toEqual([]);
});

test("who is added under the name is another user: works at once, and revives no certificate, however often", async () => {
  await using t = await openTestAuth();
  const gone: Session[] = [];
  for (let round = 0; round < 3; round += 1) {
    const session = await logIn(t, await addUser(t, "alice", { roles: ["editor"] }));
    await look(session);
    expect(await lockFor(t, session.identity)).toBeUndefined();
    for (const old of gone) {
      expect(await lockFor(t, old.identity)).toBeDefined();
      await expect(look(old)).rejects.toMatchObject({
        code: "denied",
        message: expect.stringMatching(/^access denied: user alice was removed \(lock removed-user-/),
      });
    }
    await remove(t);
    gone.push(session);
  }
  expect(await locksOf(t)).toHaveLength(3);
});

test("a change of the user keeps certificates and id; a removal does not reach others", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["editor"] });
  const before = await logIn(t, alice);
  const bob = await logIn(t, await addUser(t, "bob", { roles: ["editor"] }));
  const changed = { kind: "user", version: "v2", metadata: { name: "alice" }, spec: { roles: ["editor", "access"] } };
  await t.admin.putResource({ json: JSON.stringify(changed), overwrite: true });
  await t.admin.createInvite({ user: "alice" });
  expect((await sign(t, "alice", 1)).identity.userId).toBe(before.identity.userId);
  await look(before);
  await remove(t);
  await look(bob);
  expect(await lockFor(t, bob.identity)).toBeUndefined();
});

test("a user of the version before has no id in certificates: the removal shuts those out too, and lets the next one in", async () => {
  await using t = await openTestAuth();
  await addUser(t, "alice", { roles: ["editor"] });
  await t.auth.close();
  const storage = openSqlite({ path: `${t.dataDir}/auth/state.sqlite`, now: t.now });
  await storage.delete(userIdKey("alice"));
  await storage.close();
  await t.restart();
  const old = await sign(t, "alice", 1);
  expect(old.identity.userId).toBeUndefined();
  await look(old);
  await remove(t);
  expect(await lockFor(t, old.identity)).toBeDefined();
  const next = await logIn(t, await addUser(t, "alice", { roles: ["editor"] }));
  await look(next);
  expect(await lockFor(t, next.identity)).toBeUndefined();
  await expect(look(old)).rejects.toMatchObject({ code: "denied" });
});

test("removals, additions and signatures at once leave no certificate of a removed user in force", async () => {
  await using t = await openTestAuth();
  const user = { kind: "user", version: "v2", metadata: { name: "alice" }, spec: { roles: ["editor"] } };
  const add = () => t.admin.putResource({ json: JSON.stringify(user) });
  await add();
  const signed: UserIdentity[] = [];
  for (let round = 0; round < 20; round += 1) {
    const signing = [1, 2, 3].map(() =>
      sign(t, "alice", 1).then(
        ({ identity }) => void signed.push(identity),
        () => {},
      ),
    );
    await Promise.allSettled([...signing, remove(t), add()]);
    await add().catch(() => {});
  }
  await remove(t);
  expect(signed.length).toBeGreaterThan(0);
  for (const identity of signed) expect(await lockFor(t, identity)).toBeDefined();
});
