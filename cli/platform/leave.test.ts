import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loadCredentials, saveCredentials } from "../../core/api/credential-store.ts";
import { listenTcp, onRequest, type TestServer } from "../../core/transport/dial/testing/test-server.ts";
import { joinTestHost } from "../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../test/inside/open-cluster.ts";
import { memoryIo } from "../memory-io.ts";
import { runProgram } from "../run-program.ts";
import { platformProgram } from "./platform.ts";
import type { Services } from "./services.ts";

const unused = async (): Promise<never> => {
  throw new Error("leaving starts nothing");
};
const services: Services = { control: unused, agent: unused, check: unused, checkDatabases: unused, sshCrypto: unused };

/** An HTTP proxy is never at a loopback address. */
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

/** A company's HTTP proxy, the only way to the cluster, whose name means nothing here. */
let squid: TestServer;
let cluster: TestCluster;
let folder: string;
beforeAll(async () => {
  cluster = await startTestCluster();
  squid = await listenTcp((socket) => onRequest(socket, (header) => void answer(socket, header)), undefined, address);
});
afterAll(async () => {
  squid?.close();
  await cluster?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-leave-"));
  await writeFile(
    join(folder, "platform.yaml"),
    `version: v3\nplatform:\n  data_dir: ${folder}\n  proxy_server: cluster.test:443\nssh_service:\n  enabled: yes\n`,
  );
  await saveCredentials(credentials(), await joinTestHost(cluster, "web-1"));
  return () => rm(folder, { recursive: true });
});

async function answer(socket: Socket, header: string): Promise<void> {
  const sent = /^Proxy-Authorization: Basic (\S+)\r$/im.exec(header)?.[1] ?? "";
  if (Buffer.from(sent, "base64").toString() !== "agent:hunter2") return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  const stream = await cluster.open();
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  pipeline(socket, stream, socket, () => {});
}

const credentials = (): string => join(folder, "agent", "credentials.json");
const proxyUrl = (password: string): string => `http://agent:${password}@${squid.host}:${squid.port}`;

async function leave(defaults: string, shell: Record<string, string> = {}, ...more: readonly string[]) {
  const file = join(folder, "defaults");
  await writeFile(file, defaults, { mode: 0o600 });
  const io = memoryIo({ RUNTIME_DIRECTORY: folder, ...shell });
  const args = ["leave", `--config=${join(folder, "platform.yaml")}`, `--environment-file=${file}`, ...more];
  return { status: await runProgram(platformProgram(services), args, io), out: io.out(), err: io.err() };
}

test.skipIf(address === undefined)("a host behind an HTTP proxy leaves through the proxy of its service, whatever the shell has", async () => {
  const shell = { HTTPS_PROXY: "http://127.0.0.1:1", no_proxy: "cluster.test" };
  const left = await leave(`HTTPS_PROXY="${proxyUrl("hunter2")}"\n`, shell);
  expect(left).toMatchObject({ status: 0, out: expect.stringMatching(/^Removed host \S+ of cluster "main" from the cluster\./), err: "" });
  expect(await loadCredentials(credentials())).toBeUndefined();
});

test.skipIf(address === undefined)("an HTTP proxy that refuses the password is not the cluster's refusal: the identity stays", async () => {
  const left = await leave(`HTTPS_PROXY=${proxyUrl("old")}\n`);
  expect(left).toMatchObject({ status: 3, out: "" });
  expect(left.err).toMatch(/the user or the password in HTTPS_PROXY is wrong.*HTTPS_PROXY as \S+\/defaults sets them; run it again once/);
  expect(left.err).not.toContain("old@");
  expect(await loadCredentials(credentials())).toBeDefined();
});

test("without a proxy in the service's environment, the error names the file and the lines of it that systemd ignores", async () => {
  const left = await leave(`export HTTPS_PROXY=${proxyUrl("hunter2")}\n`, {}, "--proxy=127.0.0.1:1");
  expect(left).toMatchObject({ status: 9, out: "" });
  expect(left.err).toMatch(/no proxy is set in \S+\/defaults or in this shell; systemd ignores line 1 of \S+\/defaults \(export HTTPS_PROXY\)/);
  expect(await loadCredentials(credentials())).toBeDefined();
});
