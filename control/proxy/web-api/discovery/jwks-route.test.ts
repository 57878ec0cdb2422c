import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { until } from "../../../../test/world/until.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(async () => await cluster[Symbol.asyncDispose]());

async function published(method = "GET") {
  const { port } = cluster.proxy.addresses.web;
  const path = "/.well-known/jwks.json";
  const sent = request({ host: "127.0.0.1", port, path, method, ca: [...cluster.hostCaPem], servername: "localhost", agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  const keys = text === "" ? [] : (JSON.parse(text) as { keys: { kid: string }[] }).keys;
  return { status: response.statusCode, headers: response.headers, keys, text };
}

async function step(phase: string): Promise<void> {
  await cluster.admin.rotateAuthority({ authority: "jwt", phase, graceSeconds: 0, manual: true });
}

test("the keys of tokens are public, may be kept for a moment, and hold nothing private", async () => {
  const { status, headers, keys, text } = await published();
  expect(status).toBe(200);
  expect(headers).toMatchObject({ "content-type": "application/json; charset=utf-8", "cache-control": "public, max-age=300" });
  const member = expect.stringMatching(/^[\w-]{43}$/);
  expect(keys).toEqual([{ kty: "EC", crv: "P-256", x: member, y: member, use: "sig", alg: "ES256", kid: member }]);
  expect(text).not.toContain('"d"');
  expect((await published("HEAD")).status).toBe(200);
});

test("during a rotation both keys are there, from before the new one signs until the end", async () => {
  const kids = async (): Promise<readonly string[]> => (await published()).keys.map(({ kid }) => kid);
  const [old] = await kids();
  await step("init");
  await until("the proxy publishes both", async () => (await kids()).length === 2);
  const [first, next] = await kids();
  expect(first).toBe(old);
  await step("update_clients");
  await until("the new key signs", async () => (await kids())[0] === next);
  expect(await kids()).toEqual([next, old]);
  await step("update_servers");
  expect(await kids()).toEqual([next, old]);
  await step("standby");
  await until("the old key is gone", async () => (await kids()).length === 1);
  expect(await kids()).toEqual([next]);
});
