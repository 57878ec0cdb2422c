import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by, from, type OpenedSession } from "../../../test/inside/auth-with-browser.ts";
import { joinFacts } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

describe("a certificate of a proxy for a Kubernetes cluster, in the name of a browser's user", () => {
  let world: AuthWithBrowser;
  let session: OpenedSession;
  let hostId: string;

  beforeAll(async () => {
    world = await authWithBrowser();
    const { t, proxy } = world;
    const { secret } = await t.admin.createToken({ roles: ["node", "kube"] });
    const joined = await t
      .connect()
      .join({ ...joinFacts("node", secret, { hostname: "kube-1", services: ["kube"] }), ...publicKeys(generateKeys()) });
    hostId = joined.hostId;
    await proxy.reportNode({ hostId, hostname: "kube-1", services: ["kube"], version: "1.0.0", connected: true });
    const offered = [
      { kind: "kube", name: "prod", labels: { env: "test" } },
      { kind: "kube", name: "hidden", labels: { env: "secret" } },
    ];
    await proxy.reportOffered({ hostId, offered });
    const allow = { kubernetes_labels: { env: "test" }, kubernetes_groups: ["view"] };
    const dev = { kind: "role", version: "v7", metadata: { name: "access" }, spec: { allow } };
    await t.admin.putResource({ json: JSON.stringify(dev), overwrite: true });
    session = await world.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const asked = (change: { kube?: string; hostId?: string; tlsPublicKey?: string } = {}, call: ReturnType<typeof from> = by(session)) =>
    world.proxy.signBrowserKube({ kube: "prod", hostId, tlsPublicKey: generateKeys().tlsPublicKey, ...change }, call);

  test("is for that cluster alone, marked with the proxy, for minutes, and audited as the user's", async () => {
    const identity = fromX509Certificate(new X509Certificate((await asked()).tlsCertificate));
    expect(identity).toMatchObject({ kind: "user", name: "alice", route: { kind: "kube", name: "prod" }, relayed: { until: session.expires } });
    expect(identity.validBefore.getTime() - world.t.now().getTime()).toBeLessThanOrEqual(300_000);
    expect(await world.t.events("cert.create")).toContainEqual(
      expect.objectContaining({ user: "alice", name: "alice", "addr.remote": browserAddress }),
    );
  });

  test.for([
    ["a cluster that the roles do not allow", { kube: "hidden" }, "denied"],
    ["a cluster that the host does not offer", { kube: "other" }, "not_found"],
    ["a host that offers nothing", { hostId: "0198a2b0-0000-7000-8000-00000000000a" }, "unavailable"],
    ["a text in place of a key", { tlsPublicKey: "x" }, "invalid"],
  ] as const)("refused: %s", async ([, change, code]) => {
    await expect(asked(change)).rejects.toMatchObject({ code });
  });

  test("refused without a session, by another secret, to a locked user, and after the end of the session", async () => {
    await expect(asked({}, from(browserAddress))).rejects.toMatchObject({ code: "denied" });
    await expect(asked({}, by({ ...session, secret: "x".repeat(43) }))).rejects.toMatchObject({ code: "unauthenticated" });
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
    await world.t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(asked()).rejects.toMatchObject({ code: "denied" });
    await world.t.admin.deleteResource({ kind: "lock", name: "l" });
    await expect(asked()).resolves.toBeDefined();
    await world.proxy.endBrowserSession({}, by(session));
    await expect(asked()).rejects.toMatchObject({ code: "unauthenticated" });
  });
});
