import { expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ApiRequest } from "../../../core/kubernetes/kubernetes-api.ts";
import { kubernetesSigner, podClaims } from "../../../test/inside/kubernetes-signer.ts";
import { joinFacts, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";

const signer = kubernetesSigner();
const cluster = "test";

const tokenDocument = (kubernetes: object, more: object = {}) => ({
  kind: "token",
  version: "v2",
  metadata: { name: "kube-agents" },
  spec: { roles: ["app"], join_method: "kubernetes", kubernetes, ...more },
});
const allow = [{ service_account: "access:agent" }];
const byKeys = { type: "static_jwks", allow, static_jwks: { jwks: signer.jwks } };

const put = (t: TestAuth, document: object, overwrite = false) => t.admin.putResource({ json: JSON.stringify(document), overwrite });
const join = (t: TestAuth, idToken: string, token = "kube-agents") =>
  t.connect().join({ token, idToken, role: "node", hostname: "agent-0", version: "", services: ["app"], ...publicKeys(generateKeys()) });
const valid = (t: TestAuth, more: object = {}) => signer.token({ ...podClaims(t.now(), cluster), ...more });

test("a pod joins with its service account, by the keys of its cluster", async () => {
  await using t = await openTestAuth();
  await put(t, tokenDocument(byKeys));
  const { hostId } = await join(t, valid(t));
  expect(await t.events("instance.join")).toMatchObject([{ success: true, server_id: hostId, token: "kube-agents" }]);
  const checked = await t.connect().checkJoin({ token: "kube-agents", idToken: valid(t), role: "node", hostname: "agent-1", services: ["app"] });
  expect(checked.expires).toBe("");
});

test("others are refused, and audited", async () => {
  await using t = await openTestAuth();
  await put(t, tokenDocument(byKeys));
  const other = { namespace: "access", pod: { name: "x" }, serviceaccount: { name: "default" } };
  const account = valid(t, { sub: "system:serviceaccount:access:default", "kubernetes.io": other });
  await expect(join(t, account)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("access:default") });
  await expect(join(t, kubernetesSigner().token(podClaims(t.now(), cluster)))).rejects.toMatchObject({ code: "denied" });
  await expect(join(t, valid(t, { aud: ["elsewhere"] }))).rejects.toMatchObject({ code: "denied" });
  // Its name alone is not a secret.
  await expect(join(t, "")).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("unknown join token") });
  await expect(join(t, valid(t), "another")).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("unknown join token") });
  t.forward(20 * 60_000);
  await expect(join(t, signer.token(podClaims(new Date(t.now().getTime() - 1_200_000), cluster)))).rejects.toMatchObject({ code: "denied" });
  const events = await t.events("instance.join");
  expect(events).toHaveLength(6);
  for (const event of events) {
    expect(event).toMatchObject({ success: false });
    expect(JSON.stringify(event)).not.toContain("eyJ");
  }
  expect(t.logLines.join("")).not.toContain("eyJ");
});

test("a token with a secret is not joined by its name", async () => {
  await using t = await openTestAuth();
  const { secret, token } = await t.admin.createToken({ roles: ["app"] });
  const name = token?.name ?? "";
  await expect(join(t, valid(t), name)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("unknown join token") });
  await expect(join(t, valid(t), secret)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("unknown join token") });
  const stored = JSON.parse((await t.admin.getResource({ kind: "token", name })).json) as { spec: object };
  const changed = { ...stored, spec: { ...stored.spec, join_method: "kubernetes", kubernetes: byKeys } };
  await expect(put(t, changed, true)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("cannot be changed") });
});

test("uses, expiry and removal hold as for other tokens", async () => {
  await using t = await openTestAuth();
  await put(t, tokenDocument(byKeys, { uses_left: 1 }));
  await join(t, valid(t));
  await expect(join(t, valid(t))).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("used up") });
  await put(t, tokenDocument(byKeys), true);
  await join(t, valid(t));
  await t.admin.deleteResource({ kind: "token", name: "kube-agents" });
  await expect(join(t, valid(t))).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("unknown join token") });
  await put(t, { ...tokenDocument(byKeys), metadata: { name: "kube-agents", expires: new Date(t.now().getTime() + 60_000).toISOString() } });
  t.forward(61_000);
  await expect(join(t, valid(t))).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("expired") });
});

test.for<readonly [string, object]>([
  ["no rules", { join_method: "kubernetes", kubernetes: undefined }],
  ["rules for another method", { join_method: "token" }],
  ["nobody allowed", { kubernetes: { ...byKeys, allow: [] } }],
  ["an account without a namespace", { kubernetes: { ...byKeys, allow: [{ service_account: "agent" }] } }],
  ["everybody allowed", { kubernetes: { ...byKeys, allow: [{ service_account: "*:*" }] } }],
  ["keys that are none", { kubernetes: { ...byKeys, static_jwks: { jwks: "{}" } } }],
  ["keys missing", { kubernetes: { type: "static_jwks", allow } }],
  ["keys that nobody asks", { kubernetes: { ...byKeys, type: "in_cluster" } }],
])("a document with %s is refused", async ([, more]) => {
  await using t = await openTestAuth();
  await expect(put(t, tokenDocument(byKeys, more))).rejects.toMatchObject({ code: "invalid" });
});

/** The API server's answers to TokenReview, and what it was asked. */
function apiServer(answer: (request: ApiRequest) => { status: number; body: unknown }) {
  const asked: ApiRequest[] = [];
  const request = async (one: ApiRequest) => {
    asked.push(one);
    const { status, body } = answer(one);
    return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) };
  };
  const stream = async () => Promise.reject(new Error("no streams"));
  return { asked, open: async () => ({ request, stream, [Symbol.asyncDispose]: async () => {} }) };
}

const reviewed = (status: object) => ({ status: 201, body: { kind: "TokenReview", status } });
const good = {
  authenticated: true,
  audiences: [cluster],
  user: { username: "system:serviceaccount:access:agent", extra: { "authentication.kubernetes.io/pod-name": ["agent-0"] } },
};

test("in a cluster, its API server decides", async () => {
  const api = apiServer(() => reviewed(good));
  await using t = await openTestAuth({ kubernetes: api.open });
  await put(t, tokenDocument({ allow }));
  const idToken = valid(t);
  await join(t, idToken);
  expect(api.asked).toMatchObject([
    { path: "/apis/authentication.k8s.io/v1/tokenreviews", body: { spec: { token: idToken, audiences: [cluster] } } },
  ]);
  await expect(join(t, valid(t, { aud: ["elsewhere"] }))).rejects.toMatchObject({ code: "denied" });
  await expect(join(t, "garbage")).rejects.toMatchObject({ code: "denied" });
  // Strangers do not make it work.
  expect(api.asked).toHaveLength(1);
});

test.for<readonly [string, { status: number; body: unknown }, string]>([
  ["does not know the token", reviewed({ authenticated: false, error: "expired" }), "denied"],
  ["says nothing", { status: 201, body: {} }, "denied"],
  ["says that it is another account's", reviewed({ ...good, user: { ...good.user, username: "system:serviceaccount:access:other" } }), "denied"],
  ["says that it is for itself", reviewed({ ...good, audiences: ["https://kubernetes.default.svc"] }), "denied"],
  ["knows audiences not at all", reviewed({ ...good, audiences: undefined }), "denied"],
  ["knows no pod", reviewed({ ...good, user: { username: good.user.username } }), "denied"],
  ["knows another pod", reviewed({ ...good, user: { ...good.user, extra: { "authentication.kubernetes.io/pod-name": ["agent-9"] } } }), "denied"],
  ["does not let us ask", { status: 403, body: { message: "tokenreviews is forbidden" } }, "unavailable"],
  ["is away", { status: 503, body: {} }, "unavailable"],
])("an API server that %s lets nobody join", async ([, answer, code]) => {
  await using t = await openTestAuth({ kubernetes: apiServer(() => answer).open });
  await put(t, tokenDocument({ allow }));
  await expect(join(t, valid(t))).rejects.toMatchObject({ code });
});

test("one network that fills the queue of reviews takes no other network's turn", async () => {
  const flood = Promise.withResolvers<void>();
  const api = apiServer(() => reviewed(good));
  const open = async () => {
    await flood.promise;
    return await api.open();
  };
  await using t = await openTestAuth({ kubernetes: open });
  await put(t, tokenDocument({ allow }));
  let refused = 0;
  const clients = Array.from({ length: 5 }, () => t.connect());
  const ask = () => ({ ...joinFacts("node", "kube-agents", { idToken: valid(t), services: ["app"] }), ...publicKeys(keys) });
  const keys = generateKeys();
  const joins = Array.from({ length: 230 }, async (_, index) => {
    await clients[index % clients.length]?.join(ask()).catch(({ code }: PlatformError) => {
      expect(code).toBe("limit");
      refused += 1;
    });
  });
  // Four are reviewed, and 200 wait.
  await until("the queue is full", () => refused === 26);
  const elsewhere = t.connect(undefined, "198.51.100.7").join(ask());
  await Promise.race([elsewhere, until("it has a place", () => refused === 27)]);
  flood.resolve();
  expect(await elsewhere).toMatchObject({ hostId: expect.any(String) });
  await Promise.all(joins);
});

test("outside of a cluster there is no API server to ask", async () => {
  await using t = await openTestAuth();
  await put(t, tokenDocument({ allow }));
  await expect(join(t, valid(t))).rejects.toMatchObject({ code: "denied", hint: expect.stringContaining("static_jwks") });
});
