import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { ApiRequest } from "../../core/kubernetes/kubernetes-api.ts";
import { silentLog } from "../../core/log/log.ts";
import { type IdentityStore, secretStore } from "./identity-store.ts";

const credentials = {
  hostId: "host-1",
  tlsPrivateKey: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
} as HostCredentials;

/** A Secret behind the API server's answers, and a file. */
function places({ status = 200, data = {} as Record<string, string>, local = undefined as HostCredentials | undefined } = {}) {
  const asked: ApiRequest[] = [];
  const request = async (one: ApiRequest) => {
    asked.push(one);
    if (status === 0) throw new PlatformError("timeout", "no answer");
    const patch = one.body as { data: Record<string, string> } | undefined;
    if (status === 200 && one.method === "PATCH" && !one.path.includes("dryRun")) Object.assign(data, patch?.data);
    return { status, headers: {}, body: Buffer.from(JSON.stringify(status === 200 ? { data } : { message: "secrets is forbidden" })) };
  };
  const saved: HostCredentials[] = [];
  const disk: IdentityStore = { load: async () => local, peek: async () => local, save: async (one) => void saved.push(one) };
  const api = { request, stream: async () => Promise.reject(new Error("no streams")) };
  return { asked, saved, data, store: secretStore({ disk, api, path: "/api/v1/namespaces/a/secrets/agent-0-state", log: silentLog }) };
}

test("without an identity, the permission to keep one is tried before a join uses up its token", async () => {
  const { store, asked } = places();
  expect(await store.load()).toBeUndefined();
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /api/v1/namespaces/a/secrets/agent-0-state",
    "PATCH /api/v1/namespaces/a/secrets/agent-0-state?dryRun=All",
  ]);
});

test("an identity is written to the file and to its key of the Secret", async () => {
  const { store, saved, data } = places({ data: { other: "kept" } });
  await store.save(credentials);
  expect(saved).toEqual([credentials]);
  expect(JSON.parse(Buffer.from(data["credentials.json"] ?? "", "base64").toString())).toMatchObject({ version: 1, hostId: "host-1" });
  expect(data.other).toBe("kept");
});

test.for([
  [404, "not_found"],
  [403, "denied"],
  [503, "unavailable"],
  [0, "timeout"],
] as const)("answer %i fails the start with %s, and the file is not used in its place", async ([status, code]) => {
  await expect(places({ status }).store.load()).rejects.toMatchObject({ code });
  await expect(places({ status }).store.save(credentials)).rejects.toMatchObject({ code });
});

test("while the API server is away, a container that starts again goes on with its file; a refusal is not passed over", async () => {
  for (const status of [503, 0]) expect(await places({ status, local: credentials }).store.load()).toBe(credentials);
  await expect(places({ status: 403, local: credentials }).store.load()).rejects.toMatchObject({
    code: "denied",
    hint: expect.stringContaining("replicaCount"),
  });
});

test("a damaged Secret is refused rather than joined over, without its content", async () => {
  for (const text of ["{", JSON.stringify({ version: 1, hostId: "x", tlsPrivateKey: "SECRET" })]) {
    const { store } = places({ data: { "credentials.json": Buffer.from(text).toString("base64") } });
    const refused = await store.load().catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: "invalid", message: expect.stringContaining("damaged") });
    expect(String(refused)).not.toContain("SECRET");
  }
});

test("another process of the pod peeks at the file, asks for nothing and writes nothing", async () => {
  const { store, asked, saved } = places({ local: credentials });
  expect(await store.peek()).toBe(credentials);
  expect([asked, saved]).toEqual([[], []]);
});
