import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { expect, test } from "vitest";
import type { Access } from "../access/access-source.ts";
import { apiWorldOfFile, everything, kubeRole } from "./testing/api-world.ts";

const world = await apiWorldOfFile();

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("a watch whose right is taken away ends with an event that says why", async () => {
  let change: (access: Access) => void = () => {};
  world.onRequest = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.write('{"type":"BOOKMARK","object":{}}\n');
  };
  const { tls, deps } = await world.enter({ follow: (listener) => (change = listener) });
  const sent = request({ createConnection: () => tls, host: "kube.test", path: "/api/v1/namespaces/a/pods?watch=1" });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await once(response, "data");
  const rest = textOf(response);
  const before = await deps.access.at("1");
  change({ ...before, roles: [kubeRole("access", [{ kind: "secret", namespace: "*", name: "*", verbs: ["*"] }])] });
  const [event] = (await rest).trim().split("\n");
  expect(JSON.parse(event ?? "")).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 403 } });
});

test("a connection ends when the user's last right to the cluster is taken away", async () => {
  let change: (access: Access) => void = () => {};
  const { tls, deps, served } = await world.enter({ follow: (listener) => (change = listener) });
  change({ ...(await deps.access.at("1")), roles: [] });
  tls.resume();
  await Promise.all([served, once(tls, "close")]);
});

test("after the user's certificate has expired, a change of access ends only what it takes away, and new requests are refused", async () => {
  let change: (access: Access) => void = () => {};
  let time = new Date();
  const line = '{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a"}}}\n';
  const answers: { write(text: string): unknown }[] = [];
  world.onRequest = (_request, response) => {
    answers.push(response);
    response.setHeader("content-type", "application/json");
    response.write(line);
  };
  const { tls, deps, served } = await world.enter({ follow: (listener) => (change = listener), deps: { now: () => time } });
  const client = connectHttp2("https://kube.test", { createConnection: () => tls });
  const watch = client.request({ ":path": "/api/v1/namespaces/a/pods?watch=1" });
  expect(String((await once(watch, "data"))[0])).toBe(line);
  time = new Date(time.getTime() + 365 * 86_400_000);
  const before = await deps.access.at("1");
  change({ ...before, roles: [everything(), kubeRole("other", [])] });
  const next = once(watch, "data");
  answers[0]?.write(line);
  expect(String((await next)[0])).toBe(line);
  const refused = client.request({ ":path": "/api/v1/namespaces/a/pods" });
  const retired = once(client, "goaway");
  expect(JSON.parse(await textOf(refused))).toMatchObject({
    kind: "Status",
    code: 401,
    message: expect.stringMatching(/certificate of alice expired/),
  });
  await retired;
  expect(world.requests).toHaveLength(1);
  const ended = textOf(watch);
  change({ ...before, roles: [] });
  expect(await ended).toMatch(/"code":403/);
  await served;
});
