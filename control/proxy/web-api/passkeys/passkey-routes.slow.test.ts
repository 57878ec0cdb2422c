import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assertionOptionsSchema, creationOptionsSchema } from "../../../../core/api/web/passkeys.ts";
import { enrolUser, type TestUser } from "../../../../test/inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { type SignedAssertion, type SoftwareAuthenticator, softwareAuthenticator } from "../../../../test/inside/software-authenticator.ts";
import { callWeb, type WebAnswer, type WebCall } from "../../../../test/inside/web-browser.ts";
import { codeAt } from "../../../../test/world/one-time-code.ts";

const host = "localhost";
let cluster: TestCluster;
let address: string;
let origin: string;
let alice: TestUser;
/** Time of the next code: each is good once, and that of the next half minute already. */
let codeTime: number;

beforeAll(async () => {
  codeTime = Date.now();
  cluster = await startTestCluster({ proxy: { publicAddr: { host, port: 0 } } });
  address = `${host}:${cluster.proxy.addresses.web.port}`;
  origin = `https://${address}`;
  const enrolled = { admin: cluster.admin, client: cluster.admin };
  alice = await enrolUser(enrolled, { name: "alice", roles: ["access"], logins: ["root"] }, new Date(codeTime - 30_000));
});
afterAll(() => cluster[Symbol.asyncDispose]());

const call = (path: string, sent: WebCall = {}) => callWeb(cluster, `/webapi/v1${path}`, { ...sent, headers: { host: address, ...sent.headers } });
const post = (path: string, body: unknown, headers: Record<string, string> = {}) => call(path, { method: "POST", body, headers });
const json = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
const cookieOf = ({ headers }: WebAnswer): string => (headers["set-cookie"] ?? []).map((one) => one.split(";")[0]).join("; ");

function nextCode(): string {
  const code = codeAt(alice.otpauthUri, new Date(codeTime));
  codeTime += 30_000;
  return code;
}

/** `toJSON()` of what a browser gets. */
const assertionJson = ({ credentialId, clientData, authenticatorData, signature, userHandle }: SignedAssertion) => ({
  id: json(credentialId),
  rawId: json(credentialId),
  type: "public-key",
  clientExtensionResults: {},
  response: {
    clientDataJSON: json(clientData),
    authenticatorData: json(authenticatorData),
    signature: json(signature),
    userHandle: json(userHandle),
  },
});

async function logIn(authenticator: SoftwareAuthenticator, from: string = origin): Promise<WebAnswer> {
  const started = await post("/passkey-logins", {});
  const { challenge, rpId } = assertionOptionsSchema.parse(started.body);
  const passkey = assertionJson(authenticator.assert({ challenge, origin: from, rpId }));
  return await post("/sessions", { passkey }, { cookie: cookieOf(started) });
}

describe("passkeys in the API", () => {
  const authenticator = softwareAuthenticator();
  let session: Record<string, string>;
  let id: string;

  test("one is added for password and code, and logs in", async () => {
    const first = await post("/sessions", { user: "alice", password: alice.password, code: nextCode() });
    session = { cookie: cookieOf(first), authorization: `Bearer ${String(first.body.token)}` };
    const started = await post("/passkeys/challenge", { name: "phone", password: alice.password, code: nextCode() }, session);
    const options = creationOptionsSchema.parse(started.body);
    expect(options).toMatchObject({
      rp: { id: host, name: "main" },
      user: { name: "alice" },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
    });
    expect(Buffer.from(options.user.id, "base64url").toString("latin1")).not.toContain("alice");
    const { challenge, rp, user } = options;
    const made = authenticator.make({ challenge, origin, rpId: rp.id, userHandle: Buffer.from(user.id, "base64url") });
    const response = { clientDataJSON: json(made.clientData), attestationObject: json(made.attestationObject), transports: made.transports };
    const added = await post("/passkeys", { name: "phone", user_handle: user.id, passkey: { response } }, session);
    expect([added.status, added.body]).toEqual([204, {}]);
    const { passkeys } = (await call("/passkeys", { headers: session })).body as { passkeys: { id: string }[] };
    expect(passkeys).toMatchObject([{ name: "phone", host }]);
    id = passkeys[0]?.id ?? "";
    const logged = await logIn(authenticator);
    expect([logged.status, logged.body]).toMatchObject([200, { user: "alice" }]);
    session = { cookie: cookieOf(logged), authorization: `Bearer ${String(logged.body.token)}` };
  });

  test("the challenge of a login is bound to its browser by a cookie of this site alone", async () => {
    const started = await post("/passkey-logins", {});
    expect(started.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-platform_passkey=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=300$/),
    ]);
    expect(started.body).toMatchObject({ rpId: host, userVerification: "required", allowCredentials: [] });
    const { challenge, rpId } = assertionOptionsSchema.parse(started.body);
    const body = { passkey: assertionJson(authenticator.assert({ challenge, origin, rpId })) };
    const other = cookieOf(await post("/passkey-logins", {}));
    for (const headers of [{}, { cookie: other }, { cookie: "__Host-platform_passkey=x" }])
      expect((await post("/sessions", body, headers)).status).toBe(403);
    expect((await post("/sessions", body, { cookie: cookieOf(started) })).status).toBe(200);
    expect((await post("/sessions", body, { cookie: cookieOf(started) })).status).toBe(403);
    // Two tabs have one browser.
    const again = await post("/passkey-logins", {}, { cookie: cookieOf(started) });
    expect(cookieOf(again)).toBe(cookieOf(started));
  });

  test.for(["https://wiki.localhost", "https://evil.test", "https://localhost"])("an assertion that a page of %s got is refused", async (page) => {
    expect((await logIn(authenticator, page)).status).toBe(401);
  });

  test("at another address than the proxy's own there are none: what the request states is compared, and not used", async () => {
    for (const stated of [
      "evil.test",
      `evil.test:${cluster.proxy.addresses.web.port}`,
      `127.0.0.1:${cluster.proxy.addresses.web.port}`,
      "localhost",
    ]) {
      const answer = await post("/passkey-logins", {}, { host: stated });
      expect([answer.status, answer.body]).toMatchObject([501, { error: { code: "unsupported", message: expect.stringContaining(address) } }]);
    }
  });

  test("a page of another site begins no login, and its forms are not JSON", async () => {
    const foreign = { origin: "https://wiki.localhost", "sec-fetch-site": "same-site" };
    expect((await post("/passkey-logins", {}, foreign)).status).toBe(403);
    expect((await call("/passkey-logins", { method: "POST", headers: { "content-type": "text/plain" } })).status).toBe(400);
  });

  test.for([
    ["too long", { clientDataJSON: "A".repeat(6000) }],
    ["not base64url", { signature: "a+b/" }],
    ["empty", { authenticatorData: "" }],
    ["missing", { signature: undefined }],
  ] as const)("an answer with a part that is %s is refused before it is looked at", async ([, changed]) => {
    const started = await post("/passkey-logins", {});
    const { challenge, rpId } = assertionOptionsSchema.parse(started.body);
    const passkey = assertionJson(authenticator.assert({ challenge, origin, rpId }));
    const sent = { passkey: { ...passkey, response: { ...passkey.response, ...changed } } };
    expect((await post("/sessions", sent, { cookie: cookieOf(started) })).status).toBe(400);
  });

  test("one is removed by itself, and logs in no more", async () => {
    const asked = await post(`/passkeys/${id}/challenge`, {}, session);
    const { challenge, rpId, allowCredentials } = assertionOptionsSchema.parse(asked.body);
    expect(allowCredentials.map((one) => one.id)).toEqual([json(authenticator.credentialId)]);
    const passkey = assertionJson(authenticator.assert({ challenge, origin, rpId }));
    const removed = await post(`/passkeys/${id}/removal`, { passkey }, session);
    // The session of the password, and those that the passkey has opened.
    expect([removed.status, removed.body]).toEqual([200, { ended: 2 }]);
    expect((await post(`/passkeys/${id}/removal`, { passkey }, session)).status).toBe(404);
    expect((await logIn(authenticator)).status).toBe(401);
    // A list that names nothing of the user whom it might be.
    expect((await post("/passkey-logins", {})).body).toMatchObject({ allowCredentials: [] });
  });
});
