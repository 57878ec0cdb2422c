import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { toOpensshPrivate } from "../../../core/ssh/keys.ts";
import { enrolUser, type TestUser } from "../../../test/inside/enrol-user.ts";
import { joinFacts } from "../../../test/inside/open-auth.ts";
import { clusterName, startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import { memoryIo } from "../../memory-io.ts";
import type { Profile } from "../../profile/profile.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { confirmedSource, openWithCode } from "./confirmed-source.ts";

let cluster: TestCluster;
let alice: TestUser;
let aheadMs = 0;
const now = (): Date => new Date(Date.now() + aheadMs);

beforeAll(async () => {
  cluster = await startTestCluster({ now });
  await cluster.putRole("reader", { allow: { app_labels: { env: "test" } } });
  alice = await enrolUser({ admin: cluster.admin, client: cluster.admin }, { name: "alice", roles: ["access", "reader"], logins: ["root"] }, now());
  using anonymous = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem });
  const { secret } = await cluster.admin.createToken({ roles: ["node", "app"] });
  const { hostId } = await anonymous.client.join({
    ...joinFacts("node", secret, { hostname: "app-1", services: ["app"] }),
    ...publicKeys(generateKeys()),
  });
  const proxy = cluster.auth.localClient("proxy");
  await proxy.reportNode({ hostId, hostname: "app-1", services: ["app"], version: "1.0.0", connected: true });
  await proxy.reportOffered({ hostId, offered: [{ kind: "app", name: "wiki", labels: { env: "test" }, details: { uri: "http://127.0.0.1:1" } }] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A code that was not used yet. */
function freshCode(): string {
  aheadMs += 30_000;
  return codeAt(alice.otpauthUri, now());
}

async function logIn(): Promise<Profile> {
  using anonymous = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem });
  const keys = generateKeys();
  const ask = { user: alice.name, password: alice.password, code: freshCode(), ...publicKeys(keys) };
  const { sshCertificate, tlsCertificate } = await anonymous.client.login(ask);
  const secrets = { sshPrivateKey: toOpensshPrivate(keys.sshPrivateKey), sshCertificate, tlsPrivateKey: keys.tlsPrivateKey, tlsCertificate };
  const proxy = { host: "127.0.0.1", port: cluster.proxy.addresses.web.port };
  return { ...profileOf({ proxy, cluster: clusterName, hostCaSsh: cluster.hostCaSsh }), secrets, hostCaPem: cluster.hostCaPem };
}

function terminal() {
  const io = memoryIo();
  Object.assign(io.stdin, { isTTY: true });
  Object.assign(io.stderr, { isTTY: true });
  return io;
}

const prompts = (io: { err(): string }): number => io.err().split("Enter the code of your authenticator for wiki: ").length - 1;
const wiki = { kind: "app", name: "wiki" };
const refusal = new PlatformError("mfa_required", "a code is needed");

test("a confirmation that is refused, as from another address, is given up: the next connection asks once more", async () => {
  const login = await logIn();
  const io = terminal();
  const source = confirmedSource(io, { current: async () => login }, wiki);
  const needsCode = async (profile: Profile): Promise<Profile> => {
    if (profile.own === undefined) throw refusal;
    return profile;
  };
  const answer = (): void => void io.stdin.write(`${freshCode()}\n`);
  answer();
  const first = await openWithCode(source, await source.current(), needsCode);
  expect(await openWithCode(source, await source.current(), needsCode)).toEqual(first);
  const elsewhere = openWithCode(source, await source.current(), async () => {
    throw new PlatformError("denied", "bound to the address 10.0.0.1");
  });
  await expect(elsewhere).rejects.toMatchObject({ code: "denied" });
  answer();
  const second = await openWithCode(source, await source.current(), needsCode);
  expect(second.secrets.tlsCertificate).not.toBe(first.secrets.tlsCertificate);
  expect(prompts(io)).toBe(2);
});

test("connections that come together are confirmed by one prompt, and those after it need none, until a newer login takes its place", async () => {
  const login = await logIn();
  let current = login;
  const io = terminal();
  const source = confirmedSource(io, { current: async () => current }, wiki);
  const used: Profile[] = [];
  const connect = async (): Promise<void> =>
    await openWithCode(source, await source.current(), async (profile) => {
      if (profile.own === undefined) throw refusal;
      used.push(profile);
    });
  io.stdin.write(`${freshCode()}\r`);
  await Promise.all(Array.from({ length: 20 }, connect));
  await connect();
  expect(prompts(io)).toBe(1);
  expect(used).toHaveLength(21);
  const certificates = new Set(used.map(({ secrets }) => secrets.tlsCertificate));
  expect(certificates.size).toBe(1);
  const identity = fromX509Certificate(new X509Certificate([...certificates].join("")));
  expect(identity).toMatchObject({ name: "alice", route: { kind: "app", name: "wiki" }, mfa: { device: "otp", kind: "app", name: "wiki" } });
  // The auth service and the files know the login alone.
  expect(used[0]).toMatchObject({ own: { certificate: login.secrets.tlsCertificate }, certificates: [] });
  current = await logIn();
  expect(await source.current()).toBe(current);
  io.stdin.write(`${freshCode()}\r`);
  await connect();
  expect(prompts(io)).toBe(2);
});

test("a wrong code refuses the connections that wait for it, and the next one is asked again", async () => {
  const login = await logIn();
  const io = terminal();
  const source = confirmedSource(io, { current: async () => login }, wiki);
  const connect = async (): Promise<string> =>
    await openWithCode(source, await source.current(), async (profile) => {
      if (profile.own === undefined) throw refusal;
      return "in";
    });
  io.stdin.write("000000\r");
  const both = await Promise.allSettled([connect(), connect()]);
  for (const one of both) expect(one).toMatchObject({ status: "rejected", reason: { code: "unauthenticated" } });
  io.stdin.write(`${freshCode()}\r`);
  expect(await connect()).toBe("in");
});

test("any other refusal asks for nothing, and a confirmed login is not asked twice for one connection", async () => {
  const login = await logIn();
  const io = terminal();
  const source = confirmedSource(io, { current: async () => login }, wiki);
  const denied = new PlatformError("denied", "access denied");
  const refused = (error: PlatformError) => openWithCode(source, login, async () => await Promise.reject(error));
  await expect(refused(denied)).rejects.toBe(denied);
  expect(prompts(io)).toBe(0);
  io.stdin.write(`${freshCode()}\r`);
  await expect(refused(refusal)).rejects.toBe(refusal);
  expect(prompts(io)).toBe(1);
});
