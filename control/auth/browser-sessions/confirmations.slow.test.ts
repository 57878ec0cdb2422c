import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by, from, type OpenedSession } from "../../../test/inside/auth-with-browser.ts";
import { addUser, joinFacts, joinHost } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

type Call = ReturnType<typeof by>;
interface Ssh {
  readonly host?: string;
  readonly login?: string;
  readonly files?: boolean;
  readonly confirmation?: string;
}

const elsewhere = "198.51.100.9:5000";
const allow = {
  logins: ["root"],
  node_labels: { env: "test" },
  kubernetes_labels: { env: "test" },
  kubernetes_groups: ["view"],
  app_labels: { env: "test" },
  join_sessions: [{ name: "any", roles: ["*"], kinds: ["ssh"], modes: ["observer", "peer"] }],
};

describe("what a page has confirmed by a one-time code", () => {
  let world: AuthWithBrowser;
  let session: OpenedSession;
  let [web, other, old] = ["", "", "old-1"];
  let sid = "";
  /** A running session counts for a minute. */
  let reportSession: () => Promise<void>;

  beforeAll(async () => {
    world = await authWithBrowser();
    const { t, proxy } = world;
    await putAccess(true);
    web = await join("web-1", "test");
    other = await join("web-2", "test");
    const openssh = { kind: "node", sub_kind: "openssh", version: "v2", metadata: { name: old, labels: { env: "test" } } };
    await t.admin.putResource({ json: JSON.stringify({ ...openssh, spec: { hostname: old, addr: "10.0.0.9:22" } }) });
    const offered = ["prod", "stage"].flatMap((name) => ["kube", "app"].map((kind) => ({ kind, name, labels: { env: "test" } })));
    await proxy.reportOffered({ hostId: web, offered });
    const secret = ["kube", "app"].map((kind) => ({ kind, name: "secret", labels: { env: "vault" } }));
    await proxy.reportOffered({ hostId: other, offered: secret });
    session = await world.open();
    sid = crypto.randomUUID();
    const { client } = await joinHost(t, "shared-1");
    const running = { sid, kind: "ssh", user: "owner", roles: ["other"], login: "root", server_id: "", server_name: "shared-1", participants: [] };
    const process = crypto.randomUUID();
    reportSession = async () => {
      const started = t.now().toISOString();
      await client.reportSessions({ process, sessionsJson: [JSON.stringify({ ...running, started, process })] });
    };
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  async function putAccess(demands: boolean): Promise<void> {
    const spec = { options: { require_session_mfa: demands }, allow };
    const role = { kind: "role", version: "v7", metadata: { name: "access" }, spec };
    await world.t.admin.putResource({ json: JSON.stringify(role), overwrite: true });
  }

  async function join(hostname: string, env: string): Promise<string> {
    const { t, proxy } = world;
    const services = ["ssh", "kube", "app"];
    const { secret } = await t.admin.createToken({ roles: ["node", "kube", "app"] });
    const { hostId } = await t.connect().join({ ...joinFacts("node", secret, { hostname, services }), ...publicKeys(generateKeys()) });
    await proxy.reportNode({ hostId, hostname, labels: { env }, services, version: "1.0.0", connected: true });
    return hostId;
  }

  const confirm = async (purpose: string, name: string, { call = by(session), code = world.code(), login = "" } = {}) =>
    (await world.proxy.createConfirmation({ purpose, name, login, code }, call)).confirmation;
  /** The report of the session counts for a minute, which a code may take. */
  const confirmJoin = async (): Promise<string> => {
    const code = world.code();
    await reportSession();
    return await confirm("join", sid, { code });
  };
  const ssh = async ({ host = web, login = "root", ...rest }: Ssh, call: Call = by(session)): Promise<UserIdentity> => {
    const { sshPublicKey } = generateKeys();
    const { sshCertificate } = await world.proxy.signBrowserSsh({ sshPublicKey, host, login, ...rest }, call);
    return fromSshCertificate(parseCertificateLine(sshCertificate)) as UserIdentity;
  };
  const kube = async (confirmation: string, { name = "prod", call = by(session) } = {}): Promise<UserIdentity> => {
    const ask = { kube: name, hostId: web, tlsPublicKey: generateKeys().tlsPublicKey, confirmation };
    return fromX509Certificate(new X509Certificate((await world.proxy.signBrowserKube(ask, call)).tlsCertificate)) as UserIdentity;
  };
  const app = async (confirmation: string, { name = "prod", call = by(session) } = {}) => {
    const { credential } = await world.proxy.createAppSession({ app: name, confirmation }, call);
    if (credential === undefined) throw new Error("no session");
    await world.proxy.beginAppSession({ credential, app: name });
    return credential;
  };
  const signApp = async (credential: Awaited<ReturnType<typeof app>>, clientAddress = browserAddress): Promise<UserIdentity> => {
    const ask = { credential, app: "prod", hostId: web, tlsPublicKey: generateKeys().tlsPublicKey, clientAddress };
    return fromX509Certificate(new X509Certificate((await world.proxy.signBrowserApp(ask)).tlsCertificate)) as UserIdentity;
  };
  const needsCode = { code: "mfa_required" };

  test("opens one terminal: its certificate is marked for that host's id, and bound to the browser's address; the next one needs another code", async () => {
    const confirmation = await confirm("terminal", "web-1", { login: "root" });
    const identity = await ssh({ confirmation });
    const mfa = { device: "otp", kind: "ssh", name: web, until: session.expires };
    expect(identity).toMatchObject({ name: "alice", sourceIp: "198.51.100.4", mfa, relayed: { until: session.expires } });
    expect(identity.principals).toEqual({ ssh: { login: ["root"] } });
    // As those of tsh: a minute to open a connection.
    expect(identity.validBefore.getTime() - world.t.now().getTime()).toBeLessThanOrEqual(60_000);
    await expect(ssh({ confirmation })).rejects.toMatchObject(needsCode);
    expect((await world.t.events("mfa_auth_challenge.validate")).at(-1)).toMatchObject({
      code: "T1016I",
      user: "alice",
      success: true,
      mfa_device: "otp",
      resource_kind: "ssh",
      resource_name: web,
      "addr.remote": "198.51.100.4:5000",
    });
  });

  test("opens one of two terminals that begin with it at once", async () => {
    const confirmation = await confirm("terminal", web);
    const both = await Promise.allSettled([ssh({ confirmation }), ssh({ confirmation })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: needsCode });
  });

  test("opens the files of a host again and again, and no terminal there; nor does one for a terminal open files", async () => {
    const files = await confirm("files", web);
    for (let request = 0; request < 3; request += 1) expect(await ssh({ confirmation: files, files: true })).toMatchObject({ mfa: { name: web } });
    await expect(ssh({ confirmation: files })).rejects.toMatchObject(needsCode);
    const terminal = await confirm("terminal", web);
    await expect(ssh({ confirmation: terminal, files: true })).rejects.toMatchObject(needsCode);
    // It was not used up by that.
    expect(await ssh({ confirmation: terminal })).toMatchObject({ mfa: { name: web } });
  });

  test("a host without an agent sees the proxy's address, to which nothing is bound", async () => {
    const confirmation = await confirm("terminal", old);
    expect(await ssh({ host: old, confirmation })).not.toHaveProperty("sourceIp");
  });

  test("opens one running session, in each mode and again after a lost connection, and no other one", async () => {
    const join = async (confirmation: string, sessionId = sid, mode = "observer"): Promise<UserIdentity> => {
      const { sshPublicKey } = generateKeys();
      const { sshCertificate } = await world.proxy.signBrowserSsh({ sshPublicKey, sessionId, mode, confirmation }, by(session));
      return fromSshCertificate(parseCertificateLine(sshCertificate)) as UserIdentity;
    };
    const own = await confirmJoin();
    const other = await confirm("files", web);
    await reportSession();
    await expect(join("")).rejects.toMatchObject(needsCode);
    await expect(join(other)).rejects.toMatchObject(needsCode);
    await expect(join(own, crypto.randomUUID())).rejects.toMatchObject({ code: "not_found" });
    for (const mode of ["observer", "peer", "peer"]) expect(await join(own, sid, mode)).toMatchObject({ mfa: { kind: "join", name: sid } });
  });

  test("opens a cluster again and again, for the proxy's decision too", async () => {
    const confirmation = await confirm("kube", "prod");
    for (let request = 0; request < 3; request += 1) {
      const identity = await kube(confirmation);
      expect(identity).toMatchObject({ sourceIp: "198.51.100.4", mfa: { device: "otp", kind: "kube", name: "prod", until: session.expires } });
    }
    const found = await world.proxy.getConfirmation({ confirmation }, by(session));
    expect(found).toMatchObject({ device: "otp", kind: "kube", name: "prod", sourceIp: "198.51.100.4" });
    expect(await world.proxy.getConfirmation({ confirmation }, by(session, elsewhere))).toMatchObject({ device: "" });
    expect(await world.proxy.getConfirmation({ confirmation: "x" }, by(session))).toMatchObject({ device: "" });
  });

  test("opens one session of an application, all of whose connections are marked, from the browser's address alone", async () => {
    const confirmation = await confirm("app", "prod");
    const credential = await app(confirmation);
    for (let connection = 0; connection < 2; connection += 1) {
      expect(await signApp(credential)).toMatchObject({ sourceIp: "198.51.100.4", mfa: { device: "otp", kind: "app", name: "prod" } });
    }
    expect(await world.proxy.getAppSession({ credential, app: "prod" })).toMatchObject({ mfaDevice: "otp", mfaSourceIp: "198.51.100.4" });
    await expect(signApp(credential, elsewhere)).rejects.toMatchObject(needsCode);
    await expect(app(confirmation)).rejects.toMatchObject(needsCode);
  });

  test("a role that gains the option while a session of an application is open ends it for want of a code; so it does files and clusters", async () => {
    await putAccess(false);
    const credential = await app("");
    await signApp(credential);
    await ssh({ files: true });
    await kube("");
    await putAccess(true);
    await expect(signApp(credential)).rejects.toMatchObject(needsCode);
    await expect(ssh({ files: true })).rejects.toMatchObject(needsCode);
    await expect(kube("")).rejects.toMatchObject(needsCode);
  });

  test("opens nothing else than what it was for", async () => {
    const made = {
      terminal: await confirm("terminal", web),
      files: await confirm("files", web),
      kube: await confirm("kube", "prod"),
      app: await confirm("app", "prod"),
      join: await confirmJoin(),
    };
    const refused = { code: expect.stringMatching(/^(?:mfa_required|denied)$/) };
    for (const [purpose, confirmation] of Object.entries(made)) {
      await expect(ssh({ host: other, confirmation }), purpose).rejects.toMatchObject(refused);
      await expect(ssh({ host: other, files: true, confirmation }), purpose).rejects.toMatchObject(refused);
      await expect(kube(confirmation, { name: "stage" }), purpose).rejects.toMatchObject(refused);
      await expect(app(confirmation, { name: "stage" }), purpose).rejects.toMatchObject(refused);
      if (purpose !== "terminal") await expect(ssh({ confirmation }), purpose).rejects.toMatchObject(refused);
      if (purpose !== "files") await expect(ssh({ confirmation, files: true }), purpose).rejects.toMatchObject(refused);
      if (purpose !== "kube") await expect(kube(confirmation), purpose).rejects.toMatchObject(refused);
      if (purpose !== "app") await expect(app(confirmation), purpose).rejects.toMatchObject(refused);
    }
    // None of that has used them up.
    await ssh({ confirmation: made.terminal });
    await app(made.app);
  });

  test("is worth nothing in another browser session, of the same user and of another, or from another address", async () => {
    const [second, bob] = [await world.open(), await world.open(await addUser(world.t, "bob", { roles: ["access"] }))];
    const [files, cluster] = [await confirm("files", web), await confirm("kube", "prod")];
    for (const call of [by(second), by(bob), by(session, elsewhere)]) {
      await expect(ssh({ files: true, confirmation: files }, call)).rejects.toMatchObject(needsCode);
      await expect(kube(cluster, { call })).rejects.toMatchObject(needsCode);
    }
    await ssh({ files: true, confirmation: files });
  });

  test("ends with its browser session, and with a lock as long as that lasts", async () => {
    const ending = await world.open();
    const call = by(ending);
    const confirmation = await confirm("files", web, { call });
    await ssh({ files: true, confirmation }, call);
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
    await world.t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(ssh({ files: true, confirmation }, call)).rejects.toMatchObject({ code: "denied" });
    await world.t.admin.deleteResource({ kind: "lock", name: "l" });
    await ssh({ files: true, confirmation }, call);
    await world.proxy.endBrowserSession({}, call);
    await expect(ssh({ files: true, confirmation }, call)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(ssh({ files: true, confirmation })).rejects.toMatchObject(needsCode);
  });

  test("ends with a password that the user changes, in another browser or in the same one", async () => {
    const { t, proxy } = world;
    const user = await addUser(t, "carol", { roles: ["access"] });
    const [here, there] = [await world.open(user), await world.open(user)];
    const confirmation = await confirm("files", web, { call: by(here), code: world.code(user) });
    await ssh({ files: true, confirmation }, by(here));
    const own = await confirm("files", web, { call: by(there), code: world.code(user) });
    await ssh({ files: true, confirmation: own }, by(there));
    await proxy.changePassword({ password: user.password, code: world.code(user), newPassword: "another long password" }, by(there));
    await expect(ssh({ files: true, confirmation }, by(here))).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(ssh({ files: true, confirmation: own }, by(there))).rejects.toMatchObject(needsCode);
  });

  test("a wrong code, a used one and somebody else's are denied, recorded, and do not end the browser session; five wrong ones lock the name", async () => {
    const dave = await addUser(world.t, "dave", { roles: ["access"] });
    const call = by(await world.open(dave));
    const used = world.code(dave);
    await confirm("files", web, { call, code: used });
    for (const code of [used, "000000", "", world.code(), "x".repeat(10_000)]) {
      await expect(confirm("files", web, { call, code }), code.slice(0, 9)).rejects.toMatchObject({ code: "denied" });
    }
    await expect(confirm("files", web, { call, code: world.code(dave) })).rejects.toMatchObject({ code: "limit" });
    expect(await world.proxy.getBrowserSession({}, call)).toMatchObject({ user: "dave" });
    const events = (await world.t.events("mfa_auth_challenge.validate")).filter(({ user }) => user === "dave");
    expect(events.map(({ success }) => success)).toEqual([true, false, false, false, false, false, false]);
  });

  test("what it cannot be for is refused and recorded, and does not use up the code", async () => {
    const code = world.code();
    for (const [purpose, name, expected] of [
      ["terminal", "nowhere", "not_found"],
      ["terminal", "", "invalid"],
      ["ssh", web, "invalid"],
      ["db", "orders", "invalid"],
      ["constructor", "prod", "invalid"],
      ["join", "not-a-session", "invalid"],
      ["kube", "", "invalid"],
      ["app", "x".repeat(300), "invalid"],
    ] as const) {
      await expect(confirm(purpose, name, { code }), `${purpose} ${name}`).rejects.toMatchObject({ code: expected });
      const event = { code: "T1016W", user: "alice", success: false, resource_name: name.slice(0, 256) };
      expect((await world.t.events("mfa_auth_challenge.validate")).at(-1), `${purpose} ${name}`).toMatchObject(event);
    }
    await expect(confirm("kube", "prod", { code })).resolves.toHaveLength(43);
  });

  test("a cluster, an application or a session that does not exist for the user is refused and recorded, and does not use up the code", async () => {
    const code = world.code();
    for (const [purpose, name] of [
      ["kube", "nowhere"],
      ["kube", "secret"],
      ["app", "nowhere"],
      ["app", "secret"],
      ["join", crypto.randomUUID()],
    ] as const) {
      await expect(confirm(purpose, name, { code }), `${purpose} ${name}`).rejects.toMatchObject({ code: "not_found" });
      const event = { code: "T1016W", user: "alice", success: false, resource_name: name };
      expect((await world.t.events("mfa_auth_challenge.validate")).at(-1), `${purpose} ${name}`).toMatchObject(event);
    }
    await expect(confirm("kube", "prod", { code })).resolves.toHaveLength(43);
  });

  test("of two hosts with one name, it is for the one that the login leads to", async () => {
    const spec = { options: { require_session_mfa: true }, allow: { logins: ["backup"], node_labels: { env: "vault" } } };
    const role = { kind: "role", version: "v7", metadata: { name: "vault" }, spec };
    await world.t.admin.putResource({ json: JSON.stringify(role), overwrite: true });
    const erin = await addUser(world.t, "erin", { roles: ["access", "vault"] });
    const twins = [await join("twin", "test"), await join("twin", "vault")];
    const call = by(await world.open(erin));
    await expect(confirm("terminal", "twin", { call, code: world.code(erin) })).rejects.toMatchObject({ code: "conflict" });
    const confirmation = await confirm("terminal", "twin", { call, login: "backup", code: world.code(erin) });
    expect(await ssh({ host: twins[1] ?? "", login: "backup", confirmation }, call)).toMatchObject({ mfa: { name: twins[1] } });
  });

  test("is for browsers: not without a session, for a user's certificate, or a host", async () => {
    const ask = { purpose: "kube", name: "prod", code: world.code() };
    await expect(world.proxy.createConfirmation(ask, from(browserAddress))).rejects.toMatchObject({ code: "denied" });
    await expect(world.t.connect().createConfirmation(ask)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(world.t.admin.createConfirmation(ask)).rejects.toMatchObject({ code: "denied" });
  });

  test("a browser session has a hundred at a time: the oldest counts no longer", async () => {
    const first = await confirm("kube", "prod");
    for (let more = 0; more < 99; more += 1) await confirm("app", "prod");
    await kube(first);
    await confirm("app", "prod");
    await expect(kube(first)).rejects.toMatchObject(needsCode);
  });
});
