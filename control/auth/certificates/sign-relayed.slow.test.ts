import { type KeyObject, randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { string, u8 } from "../../../core/bytes/fields.ts";
import { certificateSuffix } from "../../../core/ssh/algorithms.ts";
import { certificateLine, parseCertificateLine, type SshCertificate } from "../../../core/ssh/certificate.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";
import { signBlob } from "../../../core/ssh/signature.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { addUser, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

interface Person {
  readonly key: KeyObject;
  readonly certificate: SshCertificate;
}
interface Proof {
  readonly proof: Buffer;
  readonly signature: Buffer;
}

/** What an SSH client signs to log in (RFC 4252 section 7). */
function prove(
  { key, certificate }: Person,
  login: string,
  more: { signer?: KeyObject; method?: string; isSigned?: number; rest?: Buffer } = {},
): Proof {
  const { signer = key, method = "publickey", isSigned = 1, rest = Buffer.alloc(0) } = more;
  const type = `${certificate.keyType}${certificateSuffix}`;
  const asked = [u8(50), string(login), string("ssh-connection"), string(method), u8(isSigned), string(type), string(certificate.blob), rest];
  const proof = Buffer.concat([string(randomBytes(32)), ...asked]);
  return { proof, signature: signBlob(signer, proof) };
}

async function logIn(t: TestAuth, name: string): Promise<Person> {
  const user = await addUser(t, name, { roles: ["ssh"], logins: ["root"] });
  const key = generateSshKey();
  const keys = { ...publicKeys(generateKeys()), sshPublicKey: key.publicLine };
  const answer = await t.connect().login({ user: name, password: user.password, code: codeAt(user.otpauthUri, t.now()), ...keys });
  t.forward(60_000);
  return { key: key.privateKey, certificate: parseCertificateLine(answer.sshCertificate) };
}

async function world(t: TestAuth) {
  const role = (name: string, allow: object) => ({ kind: "role", version: "v7", metadata: { name }, spec: { allow } });
  await t.admin.putResource({ json: JSON.stringify(role("ssh", { logins: ["root"], node_labels: { env: "test" } })) });
  const join = async (hostname: string, env: string): Promise<string> => {
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, ...publicKeys(generateKeys()) });
    const report = { hostId, hostname, labels: { env }, services: ["ssh"], version: "1.0.0", connected: true };
    await t.auth.localClient("proxy").reportNode(report);
    return hostId;
  };
  return { host: await join("web-1", "test"), other: await join("db-1", "prod") };
}

describe("certificates for a proxy that records", () => {
  let t: TestAuth;
  let host: string;
  let other: string;
  let alice: Person;
  let bob: Person;
  beforeAll(async () => {
    t = await openTestAuth({ sessionRecording: "proxy" });
    ({ host, other } = await world(t));
    [alice, bob] = [await logIn(t, "alice"), await logIn(t, "bob")];
  });
  afterAll(() => t[Symbol.asyncDispose]());
  const own = generateSshKey().publicLine;
  const ask = ({ proof, signature }: Proof, more: { host?: string; clientAddress?: string } = {}) =>
    t.auth.localClient("proxy").signRelayedUser({ host, sshPublicKey: own, proof, signature, clientAddress: "203.0.113.7:4711", ...more });

  test("a user who has just proven it: the same certificate for the proxy's key and the one login; it is audited", async () => {
    const { sshCertificate } = await ask(prove(alice, "root"));
    const made = parseCertificateLine(sshCertificate);
    const { keyId, validBefore, extensions } = alice.certificate;
    expect(made).toMatchObject({ type: "user", keyId, validBefore, extensions, principals: ["root"] });
    expect(sshCertificate.split(" ")[0]).toContain("ssh-ed25519-cert");
    expect((await t.events("cert.create")).at(-1)).toMatchObject({ name: "alice", kind: "user" });
  });

  test("a host: its names and its id, for an hour", async () => {
    const { sshCertificate } = await t.auth.localClient("proxy").signRelayedHost({ host, sshPublicKey: own });
    const made = parseCertificateLine(sshCertificate);
    expect(made.type).toBe("host");
    expect(made.principals).toEqual(expect.arrayContaining([host, `${host}.test`, "web-1", "web-1.test"]));
    expect(made.validBefore.getTime()).toBeLessThanOrEqual(t.now().getTime() + 3_600_000);
    await expect(t.auth.localClient("proxy").signRelayedHost({ host: crypto.randomUUID(), sshPublicKey: own })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  const stranger = generateSshKey().privateKey;
  test.for<[string, () => Promise<unknown>, object]>([
    [
      "a signature of another key",
      () => ask(prove(alice, "root", { signer: stranger })),
      { code: "unauthenticated", message: "the user did not sign this login" },
    ],
    ["another user's signature", () => ask({ ...prove(alice, "root"), signature: prove(bob, "root").signature }), { code: "unauthenticated" }],
    ["a login that the certificate does not list", () => ask(prove(alice, "postgres")), { code: "unauthenticated" }],
    ["a host that no role allows", () => ask(prove(alice, "root"), { host: other }), { code: "denied" }],
    ["a host that is not there", () => ask(prove(alice, "root"), { host: crypto.randomUUID() }), { code: "not_found" }],
    ["a question whether a key would do", () => ask(prove(alice, "root", { isSigned: 0 })), { code: "invalid" }],
    ["another method", () => ask(prove(alice, "root", { method: "hostbased" })), { code: "invalid" }],
    ["bytes after the proof", () => ask(prove(alice, "root", { rest: Buffer.from([1]) })), { code: "invalid" }],
    ["no key line", () => t.auth.localClient("proxy").signRelayedUser({ host, sshPublicKey: "x", ...prove(alice, "root") }), { code: "invalid" }],
  ])("refused: %s", async ([, call, error]) => {
    await expect(call()).rejects.toMatchObject(error);
  });

  test("refused: a certificate of another authority", async () => {
    const key = generateSshKey();
    const { signCertificate } = await import("../../../core/ssh/certificate.ts");
    const { keyId, extensions, validBefore } = alice.certificate;
    const fields = { type: "user", keyId, principals: ["root"], extensions, validBefore } as const;
    const blob = signCertificate({ fields, key: key.privateKey, authority: generateSshKey().privateKey, validAfter: t.now() });
    const forged = { key: key.privateKey, certificate: parseCertificateLine(certificateLine(blob)) };
    await expect(ask(prove(forged, "root"))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("refused: whatever bytes stand for a proof, with an error that says so", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(400), async (bytes, cut) => {
        const { proof, signature } = prove(alice, "root");
        for (const hostile of [Buffer.from(bytes), proof.subarray(0, Math.min(cut, proof.length - 1))]) {
          const code = await ask({ proof: hostile, signature }).then(
            () => "let in",
            (error: { code: string }) => error.code,
          );
          expect(["invalid", "unauthenticated", "unsupported"]).toContain(code);
        }
      }),
      { numRuns: someRuns(40) },
    );
  });

  test("a user has a burst of them and then few; others are not concerned", async () => {
    await using own = await openTestAuth({ sessionRecording: "proxy", connectionsOfUser: { perSecond: 1, burst: 3 } });
    const facts = await world(own);
    const [busy, calm] = [await logIn(own, "alice"), await logIn(own, "bob")];
    const connect = async (person: Person) =>
      await own.auth.localClient("proxy").signRelayedUser({ host: facts.host, sshPublicKey: generateSshKey().publicLine, ...prove(person, "root") });
    for (let count = 0; count < 3; count += 1) await connect(busy);
    await expect(connect(busy)).rejects.toMatchObject({ code: "limit", hint: "try again in a few seconds" });
    await expect(connect(calm)).resolves.toBeDefined();
    own.forward(1_000);
    await expect(connect(busy)).resolves.toBeDefined();
  });

  test("refused: who is locked out, who was removed, whose certificate has expired", async () => {
    await using own = await openTestAuth({ sessionRecording: "proxy" });
    const facts = await world(own);
    const [removed, expired] = [await logIn(own, "bob"), await logIn(own, "alice")];
    const signed = ({ proof, signature }: Proof) =>
      own.auth.localClient("proxy").signRelayedUser({ host: facts.host, sshPublicKey: generateSshKey().publicLine, proof, signature });
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "bob" } } };
    await own.admin.putResource({ json: JSON.stringify(lock) });
    await expect(signed(prove(removed, "root"))).rejects.toMatchObject({ code: "denied" });
    await own.admin.deleteResource({ kind: "lock", name: "l" });
    await expect(signed(prove(removed, "root"))).resolves.toBeDefined();
    await own.admin.deleteResource({ kind: "user", name: "bob" });
    await expect(signed(prove(removed, "root"))).rejects.toMatchObject({ code: "unauthenticated", message: "user bob was removed" });
    own.forward(13 * 3_600_000);
    await expect(signed(prove(expired, "root"))).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

test("where proxies do not record, they get no such certificates", async () => {
  await using t = await openTestAuth();
  const { host } = await world(t);
  const alice = await logIn(t, "alice");
  const proxy = t.auth.localClient("proxy");
  const own = generateSshKey().publicLine;
  const refusal = { code: "denied", message: expect.stringContaining("session_recording: node") };
  await expect(proxy.signRelayedUser({ host, sshPublicKey: own, ...prove(alice, "root") })).rejects.toMatchObject(refusal);
  await expect(proxy.signRelayedHost({ host, sshPublicKey: own })).rejects.toMatchObject(refusal);
});
