import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { browserAddress, by, from } from "../../../test/inside/auth-with-browser.ts";
import { addUser, joinHost, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

interface Person {
  readonly client: AuthClient;
  readonly uri: string;
}

describe("certificates that a one-time code confirms", () => {
  let t: TestAuth;
  let alice: Person;
  let web: string;
  const twins: string[] = [];
  const join = async (hostname: string, env: string): Promise<string> => {
    const services = ["ssh", "db"];
    const { secret } = await t.admin.createToken({ roles: ["node", "db"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, services, ...publicKeys(generateKeys()) });
    const report = { hostId, hostname, labels: { env }, services, version: "1.0.0", connected: true };
    await t.auth.localClient("proxy").reportNode(report);
    return hostId;
  };
  const person = async (name: string): Promise<Person> => {
    const user = await addUser(t, name, { roles: ["ssh"], logins: ["root"] });
    return { client: await loggedIn(t, user), uri: user.otpauthUri };
  };
  beforeAll(async () => {
    t = await openTestAuth();
    const labels = { env: "test" };
    const join_sessions = [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }];
    const allow = { logins: ["root"], node_labels: labels, db_labels: labels, db_users: ["reader"], db_names: ["*"], join_sessions };
    const spec = { options: { require_session_mfa: true }, allow };
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "ssh" }, spec }) });
    web = await join("web-1", "test");
    await t.auth.localClient("proxy").reportOffered({ hostId: web, offered: [{ kind: "db", name: "orders", labels }] });
    await join("secret-1", "prod");
    twins.push(await join("twin", "test"), await join("twin", "test"));
    const openssh = { kind: "node", sub_kind: "openssh", version: "v2", metadata: { name: "old-1", labels: { env: "test" } } };
    await t.admin.putResource({ json: JSON.stringify({ ...openssh, spec: { hostname: "old-1", addr: "10.0.0.9:22" } }) });
    alice = await person("alice");
  });
  afterAll(() => t[Symbol.asyncDispose]());

  const code = (who: Person): string => {
    t.forward(30_000);
    return codeAt(who.uri, t.now());
  };
  const sign = async (
    who: Person,
    ask: { kind?: string; name?: string; login?: string; account?: string; code?: string; client?: AuthClient } = {},
  ) => {
    const keys = generateKeys();
    const { client = who.client, ...rest } = ask;
    const answer = await client.signSession({ kind: "ssh", name: "web-1", code: ask.code ?? code(who), ...rest, ...publicKeys(keys) });
    const x509 = new X509Certificate(answer.tlsCertificate);
    const ssh = answer.sshCertificate === "" ? undefined : parseCertificateLine(answer.sshCertificate);
    return {
      name: answer.name,
      ssh: ssh && (fromSshCertificate(ssh) as UserIdentity),
      tls: fromX509Certificate(x509) as UserIdentity,
      own: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }),
    };
  };

  test("for a host: both certificates are marked, for its id alone, from the user's address, for a minute", async () => {
    const { name, ssh, tls } = await sign(alice);
    expect(name).toBe(web);
    const validBefore = new Date(t.now().getTime() + 60_000);
    const mfa = { device: "otp", kind: "ssh", name: web, until: expect.stringMatching(/^\d{4}-/) };
    expect(tls).toMatchObject({ name: "alice", roles: ["ssh"], sourceIp: "203.0.113.7", validBefore, mfa });
    expect(ssh).toMatchObject({ name: "alice", roles: ["ssh"], sourceIp: "203.0.113.7", validBefore, mfa });
    // A session may last as long as the login.
    expect(new Date(tls.mfa?.until ?? "").getTime()).toBeGreaterThan(validBefore.getTime() + 3_600_000);
    expect((await t.events("mfa_auth_challenge.validate")).at(-1)).toMatchObject({
      code: "T1016I",
      user: "alice",
      success: true,
      mfa_device: "otp",
      resource_kind: "ssh",
      resource_name: web,
      "addr.remote": "203.0.113.7",
    });
    expect((await t.events("cert.create")).at(-1)).toMatchObject({ user: "alice", expires: validBefore.toISOString() });
  });

  test("a host is known by its id, and by its name with the cluster's", async () => {
    expect((await sign(alice, { name: web })).name).toBe(web);
    expect((await sign(alice, { name: "WEB-1.test" })).name).toBe(web);
    expect((await sign(alice, { name: twins[1] ?? "" })).name).toBe(twins[1]);
  });

  test("of two hosts with one name, a certificate is for the one that the login leads to", async () => {
    const spec = { options: { require_session_mfa: true }, allow: { logins: ["backup"], node_labels: { env: "vault" } } };
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "vault" }, spec }) });
    const gil = await addUser(t, "gil", { roles: ["ssh", "vault"], logins: ["root"] });
    const both = { client: await loggedIn(t, gil), uri: gil.otpauthUri };
    const [first, second] = [await join("pair", "test"), await join("pair", "vault")];
    await expect(sign(both, { name: "pair" })).rejects.toMatchObject({ code: "conflict" });
    expect((await sign(both, { name: "pair", login: "root" })).name).toBe(first);
    expect((await sign(both, { name: "pair", login: "backup" })).name).toBe(second);
    await expect(sign(both, { name: "pair", login: "nobody" })).rejects.toMatchObject({ code: "not_found" });
    await expect(sign(both, { name: "pair", login: "no login\n" })).rejects.toMatchObject({ code: "invalid" });
  });

  test("a host without an agent sees the proxy's address, to which no certificate is bound", async () => {
    expect((await sign(alice, { name: "old-1" })).ssh).not.toHaveProperty("sourceIp");
  });

  test("for a database: one certificate, for it and the account alone, as long as the login, because a tunnel has many connections", async () => {
    const { ssh, tls } = await sign(alice, { kind: "db", name: "orders", account: "reader" });
    expect(ssh).toBeUndefined();
    expect(tls).toMatchObject({ route: { kind: "db", name: "orders", account: "reader" }, mfa: { kind: "db", name: "orders" } });
    expect(tls.validBefore.toISOString()).toBe(tls.mfa?.until);
  });

  test("for a session to join: a minute too", async () => {
    const sid = crypto.randomUUID();
    const { client } = await joinHost(t, "shared-1");
    const running = { sid, kind: "ssh", user: "owner", roles: ["other"], login: "root", server_id: "", server_name: "shared-1", participants: [] };
    const fresh = code(alice);
    const process = crypto.randomUUID();
    await client.reportSessions({ process, sessionsJson: [JSON.stringify({ ...running, started: t.now().toISOString(), process })] });
    const { ssh } = await sign(alice, { kind: "join", name: sid, code: fresh });
    expect(ssh).toMatchObject({ mfa: { kind: "join", name: sid }, validBefore: new Date(t.now().getTime() + 60_000) });
  });

  test("a code is good for one certificate, also of two requests at once, and not after a login with it", async () => {
    const one = code(alice);
    const both = await Promise.allSettled([sign(alice, { code: one }), sign(alice, { code: one })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(sign(alice, { code: one })).rejects.toMatchObject({ code: "unauthenticated" });
    const bob = await addUser(t, "bob", { roles: ["ssh"] });
    const used = codeAt(bob.otpauthUri, t.now());
    const keys = generateKeys();
    const login = await t.connect().login({ user: "bob", password: bob.password, code: used, ...publicKeys(keys) });
    const client = t.connect({ certificate: login.tlsCertificate, privateKey: keys.tlsPrivateKey });
    await expect(sign({ client, uri: bob.otpauthUri }, { code: used })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("somebody else's code confirms nothing", async () => {
    const carol = await person("carol");
    await expect(sign(alice, { code: code(carol) })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("five wrong codes lock the name for that address, for logins too, and each is recorded", async () => {
    const dave = await person("dave");
    for (const wrong of ["000000", "", "12345", "abcdef", "1234567"]) {
      await expect(sign(dave, { code: wrong })).rejects.toMatchObject({ code: "unauthenticated" });
    }
    await expect(sign(dave)).rejects.toMatchObject({ code: "limit" });
    const events = (await t.events("mfa_auth_challenge.validate")).filter(({ user }) => user === "dave");
    expect(events).toHaveLength(6);
    for (const event of events) expect(event).toMatchObject({ code: "T1016W", success: false, resource_name: web });
    expect(JSON.stringify(events)).not.toContain("123456");
    expect(await t.events("user.locked")).toContainEqual(expect.objectContaining({ user: "dave" }));
  });

  test("refusals before the code is looked at, and of a locked name, are summed up for each user; wrong codes are not", async () => {
    const [gail, hugh] = [await person("gail"), await person("hugh")];
    t.forward(60_000);
    for (let n = 0; n < 30; n += 1) await expect(sign(gail, { name: `nowhere-${n}`, code: "1" })).rejects.toMatchObject({ code: "not_found" });
    for (let n = 0; n < 5; n += 1) await expect(sign(hugh, { code: "000000" })).rejects.toMatchObject({ code: "unauthenticated" });
    for (let n = 0; n < 30; n += 1) await expect(sign(hugh, { code: "000000" })).rejects.toMatchObject({ code: "limit" });
    t.forward(60_000);
    await expect(sign(gail, { name: "nowhere", code: "1" })).rejects.toMatchObject({ code: "not_found" });
    const of = async (name: string) => (await t.events("mfa_auth_challenge.validate")).filter(({ user }) => user === name);
    const sum = (count: number) => ({ code: "T1016W", resource_name: "(several)", error: `${count} more refusals of this client within a minute` });
    const [gails, hughs] = [await of("gail"), await of("hugh")];
    expect(gails).toHaveLength(12);
    expect(gails.at(-2)).toMatchObject(sum(20));
    expect(hughs).toHaveLength(6);
    expect(hughs.at(-1)).toMatchObject(sum(30));
  });

  test("nothing that it cannot be for uses up a code", async () => {
    t.forward(60_000);
    const fresh = code(alice);
    for (const [kind, name, expected] of [
      ["ssh", "secret-1", "not_found"],
      ["ssh", "nowhere", "not_found"],
      ["ssh", "", "invalid"],
      ["ssh", "twin", "conflict"],
      ["join", "not-a-session", "invalid"],
      ["", "", "invalid"],
      ["resource", "user", "invalid"],
      ["cancel", "orders", "invalid"],
      ["db", "", "invalid"],
      ["db", "x".repeat(256), "invalid"],
    ] as const) {
      await expect(sign(alice, { kind, name, code: fresh }), `${kind} ${name}`).rejects.toMatchObject({ code: expected });
      const event = { code: "T1016W", user: "alice", success: false, resource_kind: kind, resource_name: name, error: expect.stringMatching(/./) };
      expect((await t.events("mfa_auth_challenge.validate")).at(-1), `${kind} ${name}`).toMatchObject({
        ...event,
        resource_name: name.slice(0, 256),
      });
    }
    await expect(sign(alice, { kind: "kube", name: "prod", account: "root", code: fresh })).rejects.toMatchObject({ code: "invalid" });
    await expect(sign(alice, { code: fresh })).resolves.toMatchObject({ name: web });
  });

  test("the mark cannot be had without a code, carried over to another certificate, or used to call anything", async () => {
    const { own } = await sign(alice, { kind: "db", name: "orders" });
    for (const client of [own, (await sign(alice)).own]) {
      await expect(sign(alice, { client, code: "000000" })).rejects.toMatchObject({ code: "denied" });
      const { tlsPublicKey } = publicKeys(generateKeys());
      await expect(client.signOwnUser({ routeKind: "db", routeName: "payroll", tlsPublicKey })).rejects.toMatchObject({ code: "denied" });
      await expect(client.listOffered({ kind: "db" })).rejects.toMatchObject({ code: "denied" });
    }
    const { tlsPublicKey } = publicKeys(generateKeys());
    const plain = await alice.client.signOwnUser({ routeKind: "db", routeName: "orders", tlsPublicKey });
    expect(fromX509Certificate(new X509Certificate(plain.tlsCertificate))).not.toHaveProperty("mfa");
  });

  test("a browser's session gives no such certificates", async () => {
    const proxy = (await joinHost(t, "p3", { role: "proxy" })).client;
    const fay = await addUser(t, "fay", { roles: ["ssh"] });
    const login = { user: "fay", password: fay.password, code: codeAt(fay.otpauthUri, t.now()), userAgent: "Browser/1" };
    const { session, secret } = await proxy.createBrowserSession(login, from(browserAddress));
    const inBrowser = by({ id: session?.id ?? "", secret });
    t.forward(60_000);
    const ask = { kind: "ssh", name: "web-1", code: codeAt(fay.otpauthUri, t.now()), ...publicKeys(generateKeys()) };
    await expect(proxy.signSession(ask, inBrowser)).rejects.toMatchObject({ code: "denied" });
    expect((await t.events("mfa_auth_challenge.validate")).at(-1)).toMatchObject({ success: false, user: "fay", resource_name: "web-1" });
  });

  test("not for hosts, for strangers, or for a user with a lock", async () => {
    const host = await joinHost(t, "p2", { role: "proxy" });
    await expect(sign(alice, { client: host.client })).rejects.toMatchObject({ code: "denied" });
    await expect(sign(alice, { client: t.connect() })).rejects.toMatchObject({ code: "unauthenticated" });
    const erin = await person("erin");
    await t.admin.putResource({
      json: JSON.stringify({ kind: "lock", version: "v2", metadata: { name: "l1" }, spec: { target: { user: "erin" } } }),
    });
    await expect(sign(erin)).rejects.toMatchObject({ code: "denied" });
  });
});
