import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { ClientChannel } from "ssh2";
import { expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { SshConnection } from "../../../core/ssh/ssh-client.ts";
import { deafen } from "../../../test/inside/deafen.ts";
import { runCommand } from "../../../test/inside/run-command.ts";
import { accessRole, openUserSession, ownLogin } from "../../../test/inside/ssh-session.ts";
import { freePorts } from "../../../test/world/free-port.ts";
import { until } from "../../../test/world/until.ts";

type Failure = Error & { reason?: number };

const everywhere = { "*": "*" };

async function listening(serve: (socket: Socket) => void, path?: string): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true }, serve);
  await once(path === undefined ? server.listen(0, "127.0.0.1") : server.listen(path), "listening");
  return { server, port: path === undefined ? (server.address() as AddressInfo).port : 0 };
}

function forwardOut(client: SshConnection, port: number, host = "127.0.0.1"): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.forwardOut("127.0.0.1", 1, host, port, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

function forwardUnix(client: SshConnection, path: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.openssh_forwardOutStreamLocal(path, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

function forwardIn(client: SshConnection, port: number, address = "localhost"): Promise<number> {
  return new Promise((resolve, reject) => {
    client.forwardIn(address, port, (error, bound) => (error === undefined ? resolve(bound) : reject(error)));
  });
}

/** Reads to the end and leaves the other direction open: an iterator would destroy the stream. */
function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    stream.on("data", (chunk: Buffer) => chunks.push(chunk)).once("error", reject);
    stream.once("end", () => resolve(Buffer.concat(chunks)));
  });
}

/** The far side's whole answer after it has read our end. */
async function exchange(stream: Duplex, bytes: Buffer): Promise<string> {
  stream.end(bytes);
  return hash(await readAll(stream));
}

function hash(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads to the end and only then echoes everything: works only with half-close. */
function echoAtEnd(socket: Socket): void {
  void readAll(socket).then((bytes) => socket.end(bytes));
}

test("a connection to a port carries every byte, and its ends one by one", async () => {
  await using session = await openUserSession();
  const { server, port } = await listening(echoAtEnd);
  const bytes = randomBytes(12 * 1024 * 1024);
  expect(await exchange(await forwardOut(session.client, port), bytes)).toBe(hash(bytes));
  server.close();
});

test("a server that sends everything first still receives from the client afterwards", async () => {
  await using session = await openUserSession();
  const heard = Promise.withResolvers<string>();
  const { server, port } = await listening((socket) => {
    socket.end("bye");
    void readAll(socket).then((bytes) => heard.resolve(bytes.toString()));
  });
  const channel = await forwardOut(session.client, port);
  expect((await readAll(channel)).toString()).toBe("bye");
  channel.end("and this");
  expect(await heard.promise).toBe("and this");
  server.close();
});

test("a target that vanishes with something under way ends its channel", async () => {
  await using session = await openUserSession();
  const arrived = Promise.withResolvers<Socket>();
  const { server, port } = await listening(arrived.resolve);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const channel = await forwardOut(session.client, port);
    const target = await arrived.promise;
    deafen(target);
    channel.write("x");
    let isClosed = false;
    channel.resume().once("close", () => {
      isClosed = true;
    });
    await until("the channel ends", () => {
      vi.advanceTimersByTime(15_000);
      return isClosed;
    });
    target.destroy();
  } finally {
    vi.useRealTimers();
    server.close();
  }
});

test.for([
  ["a closed port", (client: SshConnection) => forwardOut(client, 1), /Connection refused/],
  ["a name that does not exist", (client: SshConnection) => forwardOut(client, 80, "no-such-host.invalid"), /Name or service|name resolution/],
  ["a missing socket", (client: SshConnection) => forwardUnix(client, "/nonexistent/socket"), /No such file or directory/],
  ["a path that is too long", (client: SshConnection) => forwardUnix(client, `/${"x".repeat(200)}`), /File name too long/],
] as const)("%s is a failed connection with the system's message, and recorded", async ([, open, words]) => {
  await using session = await openUserSession();
  const failure = await open(session.client).catch((error: Failure) => error);
  expect(failure).toMatchObject({ reason: 2, message: expect.stringMatching(words) });
  expect(session.events).toMatchObject([{ event: "port", success: false, error: expect.stringMatching(words), direction: "local", user: "alice" }]);
});

test("a role without port_forwarding: neither out, nor in, nor by path", async () => {
  await using session = await openUserSession({ roles: [accessRole([ownLogin], everywhere, { port_forwarding: false })] });
  const { client } = session;
  const refused = { reason: 1, message: expect.stringContaining("a role forbids port forwarding") };
  expect(await forwardOut(client, 22).catch((error: Failure) => error)).toMatchObject(refused);
  expect(await forwardUnix(client, "/run/any").catch((error: Failure) => error)).toMatchObject(refused);
  await expect(forwardIn(client, 0)).rejects.toThrow("Unable to bind");
  expect(session.events.map((event) => "success" in event && event.success)).toEqual([false, false, false]);
  expect((await runCommand(client, "echo still here")).stdout.toString()).toBe("still here\n");
});

test("a connection that cannot be recorded is not made", async () => {
  const record = async () => Promise.reject(new PlatformError("limit", "no room for events"));
  await using session = await openUserSession({ record });
  const { server, port } = await listening(echoAtEnd);
  expect(await forwardOut(session.client, port).catch((error: Failure) => error)).toMatchObject({ reason: 2, message: /no room/ });
  server.close();
});

test("a listener on the host hands its connections to the client, until it is cancelled", async () => {
  await using session = await openUserSession();
  const { client } = session;
  client.on("tcp connection", (_info, accept) => {
    const channel = accept();
    void readAll(channel).then((bytes) => channel.end(bytes));
  });
  const port = await forwardIn(client, 0);
  const bytes = randomBytes(3_000_000);
  for (const host of ["127.0.0.1", "::1"]) {
    expect(await exchange(connect({ port, host, allowHalfOpen: true }), bytes)).toBe(hash(bytes));
  }
  await new Promise<void>((resolve, reject) => client.unforwardIn("localhost", port, (error) => (error === undefined ? resolve() : reject(error))));
  await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
});

test("a listener is on loopback whatever was asked for, refuses a taken port, and dies with the connection", async () => {
  const session = await openUserSession();
  const port = await forwardIn(session.client, 0, "0.0.0.0");
  const listeners = (await runCommand(session.client, "cat /proc/net/tcp")).stdout.toString();
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  expect(listeners).toContain(`0100007F:${hex} 00000000:0000 0A`);
  expect(listeners).not.toContain(`00000000:${hex} 00000000:0000 0A`);
  await expect(forwardIn(session.client, port)).rejects.toThrow("Unable to bind");
  await session[Symbol.asyncDispose]();
  await session.served;
  await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
});

test("a Unix socket is reached, and a listening one is removed afterwards", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-forward-"));
  const session = await openUserSession();
  const { client } = session;
  const { server } = await listening(echoAtEnd, join(folder, "there"));
  const bytes = randomBytes(1_000_000);
  expect(await exchange(await forwardUnix(client, join(folder, "there")), bytes)).toBe(hash(bytes));

  client.on("unix connection", (_info, accept) => {
    const channel = accept();
    void readAll(channel).then((all) => channel.end(all));
  });
  const path = join(folder, "here");
  await new Promise<void>((resolve, reject) => {
    client.openssh_forwardInStreamLocal(path, (error) => (error === undefined ? resolve() : reject(error)));
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await exchange(connect({ path, allowHalfOpen: true }), bytes)).toBe(hash(bytes));
  await session[Symbol.asyncDispose]();
  await session.served;
  await expect(stat(path)).rejects.toThrow("ENOENT");
  server.close();
  await rm(folder, { recursive: true });
});

test("a request that follows one for a listener finds it open, although the client did not wait for the answer", async () => {
  await using session = await openUserSession();
  const { client } = session;
  client.on("tcp connection", (_info, accept) => accept().end("from the client"));
  const [free = 0, ...ports] = await freePorts(10);
  const asked = ports.map((port) => Promise.all([forwardIn(client, port), forwardOut(client, port)]));
  for (const [port, channel] of await Promise.all(asked)) expect((await readAll(channel)).toString(), `${port}`).toBe("from the client");
  const folder = await mkdtemp(join(tmpdir(), "platform-forward-"));
  const path = join(folder, "here");
  client.on("unix connection", (_info, accept) => accept().end("by path"));
  client.openssh_forwardInStreamLocal(path, () => {});
  expect((await readAll(await forwardUnix(client, path))).toString()).toBe("by path");
  client.forwardIn("localhost", free, () => {});
  const ran = await runCommand(client, `bash -c "exec 3<>/dev/tcp/127.0.0.1/${free} && cat <&3"`);
  expect(ran.stdout.toString()).toBe("from the client");
  await rm(folder, { recursive: true });
});

test("a path that is in use does not become a listener", async () => {
  await using session = await openUserSession();
  const taken = new Promise((resolve) => session.client.openssh_forwardInStreamLocal("/etc/passwd", resolve));
  expect(await taken).toBeInstanceOf(Error);
});
