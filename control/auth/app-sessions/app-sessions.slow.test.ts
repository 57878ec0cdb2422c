import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { browserSessionHeader, clientAddressHeader } from "../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import type { TestUser } from "../../../test/inside/enrol-user.ts";
import { addUser, joinHost, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import type { AppCredential } from "./find-app-session.ts";

let t: TestAuth;
let proxy: AuthClient;
let hostId: string;
let alice: TestUser;

beforeEach(async () => {
  t = await openTestAuth();
  proxy = (await joinHost(t, "proxy1", { role: "proxy" })).client;
  await putRole("apps", { allow: { app_labels: { team: "sales" } } });
  alice = await addUser(t, "alice", { roles: ["apps"] });
  hostId = await offer("node1");
});
afterEach(() => t[Symbol.asyncDispose]());

async function putRole(name: string, spec: object): Promise<void> {
  await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec }), overwrite: true });
}

/** A connected host with the applications orders, of sales, and payroll. */
async function offer(hostname: string): Promise<string> {
  const { secret } = await t.admin.createToken({ roles: ["node", "app"] });
  const facts = { token: secret, role: "node", hostname, version: "1.0.0", services: ["app"] };
  const { hostId: id } = await t.connect().join({ ...facts, ...publicKeys(generateKeys()) });
  await proxy.reportNode({ hostId: id, hostname, connected: true, services: ["app"], version: "1.0.0" });
  const offered = [
    { kind: "app", name: "orders", labels: { team: "sales" } },
    { kind: "app", name: "payroll", labels: { team: "people" } },
  ];
  await proxy.reportOffered({ hostId: id, offered });
  return id;
}

const browser = "198.51.100.4:5000";

async function open(user = alice): Promise<{ headers: Record<string, string> }> {
  const ask = { user: user.name, password: user.password, code: codeAt(user.otpauthUri, t.now()) };
  const { session, secret } = await proxy.createBrowserSession(ask, { headers: { [clientAddressHeader]: browser } });
  t.forward(60_000);
  return { headers: { [browserSessionHeader]: `${session?.id}.${secret}`, [clientAddressHeader]: browser } };
}

async function made(session: { headers: Record<string, string> }): Promise<AppCredential & { readonly expires: string }> {
  const { credential, expires } = await proxy.createAppSession({ app: "orders" }, session);
  return { id: credential?.id ?? "", secret: credential?.secret ?? "", subject: credential?.subject ?? "", expires };
}

async function begin(session: { headers: Record<string, string> }): Promise<Awaited<ReturnType<typeof made>>> {
  const { expires, ...credential } = await made(session);
  await proxy.beginAppSession({ credential, app: "orders" });
  return { ...credential, expires };
}

const keys = generateKeys();
const sign = (credential: AppCredential, app = "orders") =>
  proxy.signBrowserApp({ credential, app, hostId, tlsPublicKey: publicKeys(keys).tlsPublicKey, clientAddress: browser });

describe("a session with an application", () => {
  test("where a role demands a code for each session, none begins, in words that name the command to use", async () => {
    const inBrowser = await open();
    expect((await proxy.createAppSession({ app: "orders" }, inBrowser)).credential).not.toBe("");
    await putRole("apps", { options: { require_session_mfa: true }, allow: { app_labels: { team: "sales" } } });
    await expect(proxy.createAppSession({ app: "orders" }, inBrowser)).rejects.toMatchObject({
      code: "mfa_required",
      hint: expect.stringContaining("tsh proxy app orders"),
    });
    await expect(proxy.createAppSession({ app: "payroll" }, inBrowser)).rejects.toMatchObject({ code: "denied" });
  });

  test("gives a proxy certificates in the user's name for this application alone", async () => {
    const { expires, ...credential } = await begin(await open());
    expect(await proxy.getAppSession({ credential, app: "orders" })).toMatchObject({ user: "alice", expires });
    const identity = fromX509Certificate(new X509Certificate((await sign(credential)).tlsCertificate));
    expect(identity).toMatchObject({ kind: "user", name: "alice", route: { kind: "app", name: "orders" }, relayed: { until: expires } });
    expect(identity.validBefore.getTime() - t.now().getTime()).toBeLessThanOrEqual(300_000);
    const [issued] = (await t.events("cert.create")).slice(-1);
    expect(issued).toMatchObject({ name: "alice", route_to_app: { name: "orders", session_id: credential.id } });
    await expect(sign(credential, "payroll")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("begins only for users who may use it, and does not show which exist", async () => {
    const session = await open();
    const refusals = await Promise.all(
      ["payroll", "nothing"].map((app) => proxy.createAppSession({ app }, session).catch((thrown: Error) => thrown.message.replace(app, "…"))),
    );
    expect(refusals[0]).toBe(refusals[1]);
    await expect(proxy.createAppSession({ app: "orders" })).rejects.toMatchObject({ code: "denied" });
  });

  test("needs its id, its secret, its subject and its application, of one session", async () => {
    const session = await open();
    const [one, two] = [await begin(session), await begin(session)];
    for (const wrong of [
      { ...one, secret: two.secret },
      { ...one, subject: two.subject },
      { ...one, id: two.id },
      { ...one, subject: "" },
      { ...one, id: "" },
    ]) {
      await expect(proxy.getAppSession({ credential: wrong, app: "orders" })).rejects.toMatchObject({ code: "unauthenticated" });
      await expect(sign(wrong)).rejects.toMatchObject({ code: "unauthenticated" });
    }
    await expect(proxy.getAppSession({ credential: one, app: "payroll" })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("begins once, within a minute, and is good for nothing before", async () => {
    const session = await open();
    const [one, late] = await Promise.all([made(session), made(session)]);
    const app = "orders";
    await expect(proxy.getAppSession({ credential: one, app })).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(sign(one)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(proxy.beginAppSession({ credential: one, app: "payroll" })).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await proxy.beginAppSession({ credential: one, app })).toMatchObject({ user: "alice", roles: ["apps"] });
    await expect(proxy.beginAppSession({ credential: one, app })).rejects.toMatchObject({ code: "unauthenticated" });
    t.forward(60_000);
    await expect(proxy.beginAppSession({ credential: late, app })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("ends with the browser session, and with its own log-out", async () => {
    const session = await open();
    const [one, two, three] = [await begin(session), await begin(session), await begin(await open())];
    const ids = [one.id, two.id, three.id];
    await proxy.endAppSession({ credential: { ...one, secret: two.secret } });
    expect(await proxy.checkAppSessions({ ids })).toMatchObject({ endedIds: [] });
    await proxy.endAppSession({ credential: one });
    expect(await proxy.checkAppSessions({ ids })).toMatchObject({ endedIds: [one.id] });
    await proxy.endBrowserSession({}, session);
    expect(await proxy.checkAppSessions({ ids })).toMatchObject({ endedIds: [one.id, two.id] });
    await expect(sign(two)).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("follows locks and roles at the next use", async () => {
    const credential = await begin(await open());
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
    await t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(proxy.getAppSession({ credential, app: "orders" })).rejects.toMatchObject({ code: "denied" });
    await t.admin.deleteResource({ kind: "lock", name: "l" });
    await sign(credential);
    await putRole("apps", { allow: { app_labels: { team: "people" } } });
    await expect(sign(credential)).rejects.toMatchObject({ code: "denied" });
  });

  test("whose hand-off was refused ends, if the secret was sent, and the refusal is recorded", async () => {
    const credential = await begin(await open());
    const refuse = (changed: object) =>
      proxy.endAppSession(
        { credential: { ...credential, ...changed }, app: "orders", refusal: "the state is not known" },
        { headers: { [clientAddressHeader]: browser } },
      );
    await refuse({ secret: "A".repeat(43) });
    expect(await proxy.checkAppSessions({ ids: [credential.id] })).toMatchObject({ endedIds: [] });
    await refuse({ subject: "wrong" });
    expect(await proxy.checkAppSessions({ ids: [credential.id] })).toMatchObject({ endedIds: [credential.id] });
    const [first, last] = await t.events("auth");
    expect(last).toMatchObject({
      code: "T3007W",
      app_name: "orders",
      user: "alice",
      sid: credential.id,
      error: "the state is not known",
      "addr.remote": browser,
    });
    expect(first).not.toHaveProperty("user");
  });

  test("is one of fifty of a browser session", async () => {
    const session = await open();
    const all = [];
    for (let count = 0; count < 51; count += 1) {
      all.push((await begin(session)).id);
      t.forward(1000);
    }
    expect(await proxy.checkAppSessions({ ids: all })).toMatchObject({ endedIds: [all[0]] });
  });
});
