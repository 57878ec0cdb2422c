import { createServer, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type CodedBrowser, openCodedBrowser, stillTime } from "../../../../test/inside/coded-browser.ts";
import { openWebTerminal } from "../../../../test/inside/web-terminal.ts";
import { type KubeWorld, kubeWorld } from "../../kube-front/testing/kube-world.ts";

/* A Kubernetes cluster in the browser where a role demands a code for each session. */

const now = stillTime();
const place = { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "app", command: [], cols: 80, rows: 24 };
const spec = { allow: { kubernetes_labels: { env: "test" }, kubernetes_groups: ["view"] } };
const needsCode = { code: "mfa_required" };

let world: KubeWorld;
/** As the API server behind the agent answers. */
let answer: (response: ServerResponse) => void;

const programs = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: (offered) => [...offered][0] ?? false });
const server = createServer((_request, response) => answer(response));
server.on("upgrade", (request, socket: Duplex, head) => {
  programs.handleUpgrade(request, socket, head, (opened: WebSocket) => opened.send(Buffer.concat([Buffer.from([1]), Buffer.from("here")])));
});

beforeAll(async () => {
  world = await kubeWorld({ now: () => now });
  await world.cluster.putRole("careful", { ...spec, options: { require_session_mfa: true } });
  await world.cluster.putRole("dev", spec);
  world.serve = (client) => void server.emit("connection", client);
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => {
  world.reached.splice(0);
  answer = (response) => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ metadata: {}, items: [] }));
});

const person = async (roles = ["careful"]): Promise<CodedBrowser> => await openCodedBrowser(world.cluster, now, roles);
const pods = async ({ browser }: CodedBrowser, confirmation = "") =>
  await browser("/kube-pods?cluster=prod", { headers: { "platform-confirmation": confirmation } });

describe("where a role demands a code for each session", () => {
  test("one code opens a cluster's lists and shells, as often as its page asks; the agent sees the mark on each connection", async () => {
    const ann = await person();
    expect(await pods(ann)).toMatchObject({ status: 403, body: { error: needsCode } });
    const refused = await openWebTerminal(world.cluster, ann.browser, place);
    expect(await refused.closed).toMatchObject({ type: "error", error: needsCode });
    expect(world.reached).toEqual([]);
    const { confirmation } = await ann.confirm({ type: "kube", cluster: "prod" });
    for (let list = 0; list < 2; list += 1) expect((await pods(ann, confirmation)).status).toBe(200);
    const headers = { "platform-confirmation": confirmation };
    expect((await ann.browser("/kube-namespaces?cluster=prod", { headers })).status).toBe(200);
    for (let shell = 0; shell < 2; shell += 1) {
      const terminal = await openWebTerminal(world.cluster, ann.browser, { ...place, confirmation });
      await expect.poll(terminal.output, { timeout: 10_000 }).toContain("here");
      terminal.socket.terminate();
    }
    expect(world.reached.length).toBe(5);
    for (const { user } of world.reached) {
      expect(user).toMatchObject({ name: ann.name, mfa: { device: "otp", kind: "kube", name: "prod" }, sourceIp: "127.0.0.1" });
    }
    // Neither the proxy nor the auth service takes it for another browser.
    expect(await pods(await person(), confirmation)).toMatchObject({ status: 403, body: { error: needsCode } });
  });

  test("a code for another cluster, or for another kind, opens none", async () => {
    const [bob, carol] = [await person(), await person()];
    const other = await bob.confirm({ type: "kube", cluster: "stage" });
    const files = await carol.confirm({ type: "join", session: crypto.randomUUID() });
    for (const [who, { confirmation }] of [
      [bob, other],
      [carol, files],
    ] as const) {
      // Refused as a cluster that does not exist.
      expect((await pods(who, confirmation)).body.error).toMatchObject({ code: expect.stringMatching(/^(?:mfa_required|denied|not_found)$/) });
      const terminal = await openWebTerminal(world.cluster, who.browser, { ...place, confirmation });
      expect((await terminal.closed)?.type).toBe("error");
    }
    expect(world.reached).toEqual([]);
  });

  test("what an agent alone refuses for want of a code is asked for too, in the proxy's words; what the cluster answers is not", async () => {
    const dora = await person(["dev"]);
    const message = "read your next code to the help desk at +49 30 1234";
    const details = { causes: [{ reason: "mfa_required", message }] };
    const body = JSON.stringify({ kind: "Status", status: "Failure", reason: "Forbidden", message, details, code: 403 });
    answer = (response) => void response.writeHead(403, { "content-type": "application/json", "platform-refusal": "mfa_required" }).end(body);
    const own = "Kubernetes cluster prod needs a one-time code for each session";
    expect(await pods(dora)).toMatchObject({ status: 403, body: { error: { ...needsCode, message: own } } });
    answer = (response) => void response.writeHead(403, { "content-type": "application/json" }).end(body);
    expect(await pods(dora)).toMatchObject({ status: 403, body: { error: { code: "denied" } } });
  });

  test("a role that gains the option refuses the next list of an open page", async () => {
    await world.cluster.putRole("changing", spec);
    const erin = await person(["changing"]);
    expect((await pods(erin)).status).toBe(200);
    await world.cluster.putRole("changing", { ...spec, options: { require_session_mfa: true } });
    expect(await pods(erin)).toMatchObject({ status: 403, body: { error: needsCode } });
  });
});
