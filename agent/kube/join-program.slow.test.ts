import { randomUUID } from "node:crypto";
import type { ClientChannel } from "ssh2";
import { expect, test } from "vitest";
import { encodeSpdyData } from "../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../core/kubernetes/spdy/spdy-writer.ts";
import { roleSchema } from "../../core/resources/role.ts";
import { joinLogin } from "../../core/resources/session.ts";
import { openUserSession, ownLogin, type SessionOptions, type UserSession } from "../../test/inside/ssh-session.ts";
import { until } from "../../test/world/until.ts";
import type { Access } from "../access/access-source.ts";
import { type ApiWorld, apiWorldOfFile, everything, kubeRole, sid } from "./testing/api-world.ts";
import { enterSeen, nextUpgrade, podPath, spdyHead, spdyRequest } from "./testing/upgrade-client.ts";

const world = await apiWorldOfFile();

function reading(stream: NodeJS.ReadableStream): () => string {
  const pieces: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => pieces.push(chunk)).on("error", () => {});
  return () => Buffer.concat(pieces).toString("latin1");
}

type Service = Awaited<ReturnType<ApiWorld["service"]>>;

/** A shell in a pod, of alice, which has shown `prompt$ `. */
async function openShell(service: Service, query = "stdin=true&stdout=true&tty=true&container=main") {
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen } = await enterSeen(world, {}, service);
  tls.write(spdyRequest(`${podPath}/exec?command=sh&${query}`));
  const { socket: server, seen: typed } = await upgraded;
  await seen.until("101 Switching");
  const writer = new SpdyWriter();
  for (const [at, streamtype] of ["error", "stdin", "stdout", "resize"].entries()) tls.write(await writer.open(at * 2 + 1, { streamtype }));
  tls.write(encodeSpdyData(7, Buffer.from('{"Width":100,"Height":30}'), false));
  await typed.until('"Height":30');
  server.write(encodeSpdyData(5, Buffer.from("prompt$ "), false));
  await seen.until("prompt$ ");
  return { tls, server, shown: () => seen.bytes.toString("latin1"), typed: () => typed.bytes.toString("latin1") };
}

const joiner = (kinds: readonly string[]) =>
  roleSchema.parse({
    kind: "role",
    version: "v7",
    metadata: { name: "access" },
    spec: { allow: { join_sessions: [{ name: "j", kinds, roles: ["*"], modes: ["*"] }] } },
  });

async function joined(service: Service, mode: string, more: Partial<SessionOptions> = {}): Promise<UserSession> {
  const join = { target: sid, parameters: { mode }, sessionId: randomUUID() };
  return await openUserSession({
    live: service.deps.live,
    user: "bob",
    login: joinLogin,
    logins: [ownLogin],
    roles: [joiner(["k8s"])],
    join,
    ...more,
  });
}

function takeSeat({ client }: UserSession) {
  return new Promise<{ channel: ClientChannel; out: () => string; notices: () => string; exit: () => number | null | undefined }>(
    (resolve, reject) => {
      client.shell({}, (error, channel) => {
        if (error !== undefined) return reject(error);
        let code: number | null | undefined;
        channel.on("exit", (status: number | null) => {
          code = status;
        });
        const [out, notices] = [reading(channel), reading(channel.stderr)];
        resolve({ channel, out, notices, exit: () => code });
      });
    },
  );
}

test("a terminal in a pod is listed, seen and typed into by others, until it ends", async () => {
  const service = await world.service({ access: { sessionRecording: "off" } });
  const { tls, server, shown, typed } = await openShell(service);
  const pod = { cluster: "prod", namespace: "a", name: "web-1", container: "main" };
  expect(service.deps.live.list()).toMatchObject([{ sid, kind: "kube", user: "alice", roles: ["access"], login: "", server_name: "kube-1", pod }]);
  await using watching = await joined(service, "observer");
  const observer = await takeSeat(watching);
  await until("the observer sees what was shown before", () => observer.out().includes("prompt$ "));
  expect(observer.notices()).toContain("you joined the session of alice, prod/a/web-1, as observer; its terminal has 100x30 characters");
  await using helping = await joined(service, "peer");
  const peer = await takeSeat(helping);
  await until("the owner is notified", () => shown().includes("platform: user bob joined as peer"));
  expect(service.deps.live.list()[0]?.participants).toEqual([
    { user: "bob", mode: "observer" },
    { user: "bob", mode: "peer" },
  ]);
  observer.channel.write("never\n");
  peer.channel.write("ls\n");
  await until("the peer's input has come", () => typed().includes(encodeSpdyData(3, Buffer.from("ls\n"), false).toString("latin1")));
  server.write(encodeSpdyData(5, Buffer.from("files\r\n"), false));
  await until("all see the output", () => observer.out().includes("files") && peer.out().includes("files") && shown().includes("files"));
  expect(typed()).not.toContain("never");
  server.write(encodeSpdyData(1, Buffer.from('{"status":"Success"}'), true));
  tls.end();
  await until("both have ended", () => observer.exit() === 0 && peer.exit() === 0);
  expect(observer.notices()).toContain("the session of alice has ended");
  await until("the end is recorded", () => service.events.some(({ event }) => event === "session.end"));
  expect(service.events).toContainEqual(expect.objectContaining({ event: "session.end", participants: ["alice", "bob"], exit_code: 0 }));
  expect(service.deps.live.list()).toEqual([]);
  const fields = {
    sid,
    owner: "alice",
    user: "bob",
    login: "",
    kubernetes_cluster: "prod",
    kubernetes_pod_name: "web-1",
    kubernetes_container_name: "main",
  };
  expect(watching.events).toContainEqual(expect.objectContaining({ event: "session.join", mode: "observer", ...fields }));
  await until("its leave is recorded", () => helping.events.some(({ event }) => event === "session.leave"));
  expect(helping.events).toContainEqual(expect.objectContaining({ event: "session.leave", mode: "peer", ...fields }));
});

test.for([
  ["a program without a terminal", "stdin=true&stdout=true", ["*"]],
  ["a terminal in a pod with a role for hosts", "stdin=true&stdout=true&tty=true", ["ssh"]],
] as const)("%s cannot be joined", async ([, query, kinds]) => {
  const service = await world.service();
  const { tls } = await openShell(service, query);
  await expect(joined(service, "observer", { roles: [joiner(kinds)] })).rejects.toThrow(/no running session/);
  tls.destroy();
});

test("a participant goes when the role that let it join is taken away; the session goes on", async () => {
  const service = await world.service();
  const { tls, server, shown } = await openShell(service);
  let change: (access: Access) => void = () => {};
  await using watching = await joined(service, "observer", { follow: (listener) => (change = listener) });
  const observer = await takeSeat(watching);
  await until("it sees the terminal", () => observer.out().includes("prompt$ "));
  change({ ...(await service.deps.access.at("1")), roles: [everything()] });
  await watching.served;
  expect(watching.events).toContainEqual(
    expect.objectContaining({ event: "session.leave", reason: expect.stringContaining("your roles do not let you take part as observer any more") }),
  );
  await until("the owner is notified", () => shown().includes("user bob left"));
  server.write(encodeSpdyData(5, Buffer.from("goes on"), false));
  await until("it goes on", () => shown().includes("goes on"));
  tls.destroy();
});

test("all participants go with the right of the owner", async () => {
  let change: (access: Access) => void = () => {};
  const service = await world.service({ follow: (listener) => (change = listener) });
  await openShell(service);
  await using watching = await joined(service, "peer");
  const peer = await takeSeat(watching);
  await until("it sees the terminal", () => peer.out().includes("prompt$ "));
  change({ ...(await service.deps.access.at("1")), roles: [kubeRole("access", [{ kind: "pod", namespace: "*", name: "*", verbs: ["get"] }])] });
  await until("it has ended", () => peer.exit() === 0);
  expect(peer.notices()).toContain("the session of alice has ended");
  await expect(joined(service, "observer")).rejects.toThrow(/no running session/);
});
