import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import type { Presented } from "../../../test/inside/front-user.ts";
import { allBytes, nextBytes } from "../../../test/inside/stream-bytes.ts";
import { type KubeWorld, kubeHost, kubeWorld, proxyHost } from "./testing/kube-world.ts";

let world: KubeWorld;
beforeAll(async () => {
  world = await kubeWorld({ proxy: { kubeListen: { host: "127.0.0.1", port: 0 } } });
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => {
  world.serve = (client) => void client.pipe(client);
  world.refusal = () => undefined;
  world.reached.splice(0);
});

const next = async (stream: Duplex): Promise<string> => String(await nextBytes(stream));
const rest = async (stream: Duplex): Promise<string> => String(await allBytes(stream));

const get = "GET /api HTTP/1.1\r\nHost: x\r\n\r\n";
const [onlyHttp1, onlyHttp2] = [{ ALPNProtocols: ["http/1.1"] }, { ALPNProtocols: ["h2"] }];

test("a client with a certificate for the cluster reaches an agent: the user, by a key of the proxy, from the client's address", async () => {
  const tls = await world.connect(kubeHost, await world.certificate());
  expect([tls.authorized, tls.alpnProtocol]).toEqual([true, "h2"]);
  tls.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  expect(await next(tls)).toBe("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const [{ request, user } = expect.fail()] = world.reached;
  expect(request).toMatchObject({ kind: "kube", target: "prod", clientAddress: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
  expect(user).toMatchObject({ name: "ann", route: { kind: "kube", name: "prod" }, relayed: { by: expect.any(String) } });
  expect(user.validBefore.getTime()).toBeLessThan(Date.now() + 310_000);
  tls.destroy();
});

test.for(["kube-platform-proxy-alpn.platform.internal", "KUBE-platform-proxy-alpn.proxy.example.test"])(
  "%s is a name of the proxy's certificate too",
  async (name) => {
    const tls = await world.connect(name, await world.certificate(), onlyHttp1);
    expect(tls.authorized).toBe(true);
    tls.write(get);
    expect(await next(tls)).toBe(get);
    tls.destroy();
  },
);

test("the port for Kubernetes needs no name", async () => {
  const { kube: address = expect.fail() } = world.cluster.proxy.addresses;
  const open = async (): Promise<Duplex> => {
    const socket = connectTcp(address.port, address.host);
    await once(socket, "connect");
    return socket;
  };
  const tls = await world.connect("", await world.certificate(), { open, checkServerIdentity: () => undefined, ...onlyHttp1 });
  tls.write(get);
  expect(await next(tls)).toBe(get);
  tls.destroy();
});

test("8 MB pass both ways at once", async () => {
  const tls = await world.connect(kubeHost, await world.certificate());
  const chunk = Buffer.alloc(1_048_576, "x");
  let received = 0;
  tls.on("data", (bytes: Buffer) => {
    received += bytes.length;
  });
  for (let sent = 0; sent < 8; sent += 1) if (!tls.write(chunk)) await once(tls, "drain");
  await expect.poll(() => received).toBe(8 * chunk.length);
  tls.destroy();
});

test("what the agent still sends after the client has ended its half arrives whole", async () => {
  const tls = await world.connect(kubeHost, await world.certificate());
  const chunk = Buffer.alloc(1_048_576, "x");
  const answered = tls.toArray();
  for (let sent = 0; sent < 8; sent += 1) if (!tls.write(chunk)) await once(tls, "drain");
  tls.end();
  expect(Buffer.concat((await answered) as Buffer[])).toHaveLength(8 * chunk.length);
});

test.each([
  ["keeps its half open", (): void => {}],
  [
    "sends on without end",
    (tls: TLSSocket): void => {
      const block = Buffer.alloc(65_536);
      const more = (): void => {
        while (!tls.destroyed && tls.write(block));
      };
      tls.on("drain", more);
      more();
    },
  ],
])("an agent's last answer arrives, and its end is the client's, though the client %s", async (_, act) => {
  world.serve = (client) => void client.resume().once("data", () => client.end("refused", () => client.destroy()));
  const tls = await world.connect(kubeHost, await world.certificate());
  tls.allowHalfOpen = true;
  const ended = rest(tls);
  tls.write(get);
  act(tls);
  expect(await ended).toBe("refused");
  tls.destroy();
});

interface Refused {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/** The Status that a client with this certificate reads, by both protocols, which have to say the same. */
async function refusal(presented: Presented | undefined): Promise<Refused> {
  const plain = await world.connect(kubeHost, presented, onlyHttp1);
  plain.write(get);
  const answer = await rest(plain);
  const body = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) as Refused;
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${body.code} `));
  expect(answer).toMatch(/\r\ncontent-type: application\/json\r\n/i);
  expect(await refusalOfHttp2(await world.connect(kubeHost, presented, onlyHttp2))).toEqual([body.code, body]);
  return body;
}

async function refusalOfHttp2(tls: TLSSocket): Promise<readonly [number | undefined, unknown]> {
  const session = connectHttp2("https://x", { createConnection: () => tls });
  session.on("error", () => {});
  const stream = session.request({ ":path": "/apis", ":method": "POST" });
  stream.end("x".repeat(10_000));
  const [headers] = (await once(stream, "response")) as [{ readonly ":status"?: number }];
  const body = await rest(stream);
  if (!session.closed) await once(session, "close");
  return [headers[":status"], JSON.parse(body)];
}

describe("a client that is refused gets a Status, and the end of the connection", () => {
  test.for([
    ["no certificate", async (): Promise<Presented | undefined> => undefined, 401, "Unauthorized", /client certificate/],
    [
      "a certificate of another cluster",
      async () => {
        const other = await insideAuthorities("main");
        const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await other.user("ann", { route: { kind: "kube", name: "prod" } });
        return { certificate, privateKey };
      },
      401,
      "Unauthorized",
      /./,
    ],
    [
      "a certificate for an application",
      () => world.certificate({ routeKind: "app", routeName: "prod" }),
      403,
      "Forbidden",
      /not for one Kubernetes cluster/,
    ],
  ] as const)("%s", async ([, presented, code, reason, message]) => {
    expect(await refusal(await presented())).toMatchObject({
      code,
      reason,
      message: expect.stringMatching(message),
      status: "Failure",
      kind: "Status",
    });
    expect(world.reached).toEqual([]);
  });

  test("a cluster that is not there and one that the roles do not allow are distinguished only by the audit log", async () => {
    const missing = await refusal(await world.certificate({ routeName: "missing" }));
    const hidden = await refusal(await world.certificate({ routeName: "hidden" }));
    expect(missing).toMatchObject({ code: 503, reason: "ServiceUnavailable", message: expect.stringContaining("tsh kube ls") });
    expect({ ...hidden, message: hidden.message.replace("hidden", "missing") }).toEqual(missing);
    expect((await refusal(await world.certificate({}, "bob"))).code).toBe(503);
  });

  test("a locked user reads so", async () => {
    const presented = await world.certificate({}, "ann");
    const lock = { kind: "lock", version: "v2", metadata: { name: "l1" }, spec: { target: { user: "ann" }, message: "on leave" } };
    await world.cluster.admin.putResource({ json: JSON.stringify(lock) });
    try {
      await expect.poll(async () => await refusal(presented)).toMatchObject({ code: 403, message: expect.stringContaining("on leave") });
    } finally {
      await world.cluster.admin.deleteResource({ kind: "lock", name: "l1" });
      await expect.poll(async () => (await world.connect(kubeHost, presented)).authorized).toBe(true);
    }
  });

  test("the agent's refusal comes in its words, without another agent being asked", async () => {
    world.refusal = () => ({ ok: false, error: new PlatformError("denied", "access denied: your roles give no groups") });
    expect(await refusal(await world.certificate())).toMatchObject({ code: 403, message: "access denied: your roles give no groups" });
    expect(world.reached.map(({ request }) => request.parameters)).toEqual(world.reached.map(() => ({ host: "" })));
  });
});

test("an agent that does not reach its API server leaves the client to the other one; with neither it is 503", async () => {
  const away = { ok: false, error: new PlatformError("unavailable", "the API server does not answer") } as const;
  const presented = await world.certificate();
  world.refusal = (host) => (host === "kube-1" ? away : undefined);
  for (let times = 0; times < 6; times += 1) {
    const tls = await world.connect(kubeHost, presented, onlyHttp1);
    tls.write(get);
    expect(await next(tls)).toBe(get);
    tls.destroy();
  }
  world.refusal = () => away;
  world.reached.splice(0);
  expect(await refusal(presented)).toMatchObject({ code: 503, reason: "ServiceUnavailable", message: "the API server does not answer" });
  expect(new Set(world.reached.map(({ host }) => host))).toEqual(new Set(["kube-1", "kube-2"]));
});

test("the proxy's own site stays where it was, and says where Kubernetes is", async () => {
  const own = await world.connect(proxyHost, undefined, onlyHttp1);
  own.write("GET /webapi/find HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const { kube: address = expect.fail() } = world.cluster.proxy.addresses;
  const stated = { enabled: true, public_addr: `${proxyHost}:${address.port}`, listen_addr: `127.0.0.1:${address.port}` };
  expect(await rest(own)).toContain(`"kube":${JSON.stringify(stated)}`);
});
