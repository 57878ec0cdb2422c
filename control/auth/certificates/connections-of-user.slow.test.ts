import { expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by } from "../../../test/inside/auth-with-browser.ts";
import { addUser, joinFacts, type TestAuthOptions } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

interface World extends AuthWithBrowser {
  readonly hostId: string;
}

/** A host with `prod`, a Kubernetes cluster and an application; all users may use all of it. */
async function openWorld(options: TestAuthOptions = {}): Promise<World> {
  const world = await authWithBrowser(options);
  const { t, proxy } = world;
  const services = ["ssh", "kube", "app"];
  const { secret } = await t.admin.createToken({ roles: ["node", "kube", "app"] });
  const facts = joinFacts("node", secret, { hostname: "web-1", services });
  const { hostId } = await t.connect().join({ ...facts, ...publicKeys(generateKeys()) });
  const labels = { env: "test" };
  await proxy.reportNode({ hostId, hostname: "web-1", services, version: "1.0.0", connected: true, labels });
  await proxy.reportOffered({ hostId, offered: ["kube", "app"].map((kind) => ({ kind, name: "prod", labels })) });
  const ofKube = { kubernetes_labels: labels, kubernetes_groups: ["view"] };
  const role = { kind: "role", version: "v7", metadata: { name: "access" } };
  const spec = { allow: { ...ofKube, app_labels: labels, node_labels: labels, logins: ["root"] } };
  await t.admin.putResource({ json: JSON.stringify({ ...role, spec }), overwrite: true });
  return { ...world, hostId };
}

/** A user's browser, which connects to a resource of the wanted kind. */
async function browserOf({ proxy, hostId, ...world }: World, user = world.alice) {
  const session = await world.open(user);
  const { credential } = await proxy.createAppSession({ app: "prod" }, by(session));
  await proxy.beginAppSession({ credential: credential ?? expect.fail("no session"), app: "prod" });
  const { tlsPublicKey } = publicKeys(generateKeys());
  const sshPublicKey = generateSshKey().publicLine;
  const byKind = {
    host: async () => await proxy.signBrowserSsh({ host: hostId, login: "root", sshPublicKey }, by(session)),
    kube: async () => await proxy.signBrowserKube({ kube: "prod", hostId, tlsPublicKey }, by(session)),
    app: async () => await proxy.signBrowserApp({ credential, app: "prod", hostId, tlsPublicKey, clientAddress: browserAddress }),
  };
  const connect = async (kind: keyof typeof byKind): Promise<PlatformError | undefined> =>
    await byKind[kind]().then(
      () => undefined,
      (error: PlatformError) => error,
    );
  return { connect };
}

const kinds = ["host", "kube", "app"] as const;

test("a user has a quota each for hosts, clusters and applications, in all browsers together; others are not concerned", async () => {
  await using world = await openWorld({ connectionsOfUser: { perSecond: 1, burst: 2 } });
  const bob = await browserOf(world, await addUser(world.t, "bob", { roles: ["access"] }));
  const browsers = [await browserOf(world), await browserOf(world)] as const;
  for (const kind of kinds) for (const { connect } of browsers) expect(await connect(kind)).toBeUndefined();
  for (const kind of kinds)
    expect(await browsers[0].connect(kind)).toMatchObject({
      code: "limit",
      message: "too many new connections of alice: one user may open 2 at once, and then 1 a second",
      hint: "try again in a few seconds",
    });
  for (const kind of kinds) expect(await bob.connect(kind)).toBeUndefined();
  world.t.forward(2_000);
  expect([await browsers[0].connect("kube"), await browsers[1].connect("kube")]).toEqual([undefined, undefined]);
  expect(await browsers[1].connect("kube")).toMatchObject({ code: "limit" });
  expect(await browsers[1].connect("host")).toBeUndefined();
});

test("people do not reach it: 30 terminals, and a page of an application with 200 WebSockets and as many requests at once as have connections", async () => {
  await using usual = await openWorld();
  const { connect } = await browserOf(usual);
  // One after the other, so that no call is late on a busy machine: for the quota they are all at once, as its clock stands still.
  for (let terminal = 0; terminal < 30; terminal += 1) expect(await connect("host")).toBeUndefined();
  for (let connection = 0; connection < 232; connection += 1) expect(await connect("app")).toBeUndefined();
});
