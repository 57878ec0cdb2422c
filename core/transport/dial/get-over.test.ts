import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort } from "../host-port.ts";
import { unixGet } from "./get-over.ts";
import { httpsGet } from "./https-get.ts";
import { listenTcp } from "./testing/test-server.ts";

interface Seen {
  readonly requests: string[];
}

/** Answers every request with these bytes, or as the function does. */
type Answer = string | ((socket: Socket) => void);

interface How {
  /** Sends before the request arrived. */
  readonly isEarly?: boolean;
  readonly timeoutMs?: number;
}

async function get(answer: Answer, { isEarly = false, timeoutMs = 10_000 }: How = {}) {
  const seen: Seen = { requests: [] };
  using server = closing(
    await listenTcp((socket) => {
      const act = (): void => void (typeof answer === "string" ? socket.end(answer) : answer(socket));
      socket.on("error", () => {});
      if (isEarly) act();
      else {
        socket.once("data", (data: Buffer) => {
          seen.requests.push(data.toString());
          act();
        });
      }
    }),
  );
  const target = { host: server.host, port: server.port };
  try {
    return { ...(await httpsGet(target, "/x", { env: {}, plain: true, maxBytes: 2000, timeoutMs })), ...seen, target };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    return { code: thrown.code, message: thrown.message.replaceAll(formatHostPort(target), "server"), ...seen, target };
  }
}

function closing<T extends { close(): void }>(server: T): T & Disposable {
  return Object.assign(server, { [Symbol.dispose]: () => server.close() });
}

const ok = "HTTP/1.1 200 OK\r\n";

describe("over a connected socket", () => {
  test.for<readonly [name: string, answer: string, status: number, body: string]>([
    ["a length", `${ok}Content-Length: 2\r\n\r\nok`, 200, "ok"],
    ["a length, and bytes after it", `${ok}Content-Length: 2\r\n\r\nokmore`, 200, "ok"],
    ["chunks", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, 200, "ok"],
    ["the end of the connection", `${ok}\r\nok`, 200, "ok"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", 200, "ok"],
    ["no body", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    ["early hints before it", `HTTP/1.1 103 Early Hints\r\n\r\n${ok}Content-Length: 2\r\n\r\nok`, 200, "ok"],
    ["a redirect, which is not followed", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302, ""],
    ["compressed bytes, which are not decompressed", `${ok}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok`, 200, "ok"],
  ])("reads an answer with %s", async ([, answer, status, body]) => {
    const got = await get(answer);
    expect(got).toMatchObject({ status, body: Buffer.from(body) });
    expect(got.requests).toEqual([
      `GET /x HTTP/1.1\r\nhost: ${formatHostPort(got.target)}\r\nconnection: close\r\naccept: */*\r\nuser-agent: platform\r\n\r\n`,
    ]);
  });

  test.for<readonly [name: string, answer: Answer, reason: string]>([
    ["ends before it", (socket) => void socket.end(), "the connection was closed"],
    ["resets before it", (socket) => void socket.resetAndDestroy(), "the connection was reset"],
    ["ends within its length", `${ok}Content-Length: 10\r\n\r\nok`, "the connection was closed"],
    ["ends within its chunks", `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nok`, "the connection was closed"],
    ["speaks SSH", "SSH-2.0-x\r\n", "(Expected HTTP/, RTSP/ or ICE/)"],
    ["sends a wrong status", "HTTP/1.1 abc\r\n\r\n", "(Invalid status code)"],
    ["changes the protocol", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "the connection was closed"],
    ["sends long headers", `${ok}X: ${"a".repeat(20_000)}\r\n\r\n`, "its headers are too long"],
    ["announces two lengths", `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, "its length is not the one that it announces"],
    [
      "announces a length and chunks",
      `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "its length is not the one that it announces",
    ],
    ["ends lines without CR", `${ok.replace("\r", "")}Content-Length: 2\n\nok`, "(Missing expected CR after response line)"],
  ])("a server that %s is unavailable, and is asked once", async ([, answer, reason]) => {
    const got = await get(answer);
    expect(got).toMatchObject({ code: "unavailable", message: expect.stringContaining(`no answer from server to GET /x: `) });
    expect(got).toMatchObject({ message: expect.stringContaining(reason) });
    expect(got.requests).toHaveLength(1);
  });

  test.for<readonly [name: string, answer: Answer]>([
    ["ends", (socket) => void socket.end()],
    ["sends a banner", (socket) => void socket.write("SSH-2.0-x\r\n")],
  ])("a server that %s at once is unavailable", async ([, answer]) => {
    expect(await get(answer, { isEarly: true })).toMatchObject({ code: "unavailable" });
  });

  test.for<readonly [name: string, answer: Answer]>([
    ["is silent", () => {}],
    ["does not end its body", (socket) => void socket.write(`${ok}\r\nx`)],
    ["does not end its headers", (socket) => void socket.write(`${ok}a: b\r\n`)],
  ])("a server that %s runs into the time limit", async ([, answer]) => {
    expect(await get(answer, { timeoutMs: 400 })).toMatchObject({
      code: "timeout",
      message: "the answer of server to GET /x did not come within 0.4 s",
    });
  });

  test("a body that is too long is refused, announced or not", async () => {
    const long = "x".repeat(2001);
    for (const head of [`${ok}Content-Length: 2001\r\n\r\n`, `${ok}\r\n`]) {
      expect(await get(head + long)).toMatchObject({ code: "limit", message: "the answer of server to GET /x is longer than 2000 bytes" });
      expect(await get((head + long).replace("2001", "2000").slice(0, -1))).toMatchObject({ status: 200 });
    }
  });
});

describe("over a Unix socket", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "unix-get-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const limits = { timeoutMs: 10_000, maxBytes: 10 };

  async function serving(answer: (socket: Socket) => void): Promise<string> {
    const path = join(folder, "s.sock");
    const server = createServer((socket) => answer(socket.on("error", () => {})));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    server.unref();
    return path;
  }

  test("gives the answer", async () => {
    const path = await serving((socket) => socket.once("data", () => socket.end(`${ok}\r\nbody`)));
    expect(await unixGet(path, "/status", limits)).toMatchObject({ status: 200, body: Buffer.from("body") });
  });

  test("a missing socket, a long answer and silence are errors", async () => {
    await expect(unixGet(join(folder, "none"), "/", limits)).rejects.toMatchObject({ code: "ENOENT" });
    const long = await serving((socket) => socket.once("data", () => socket.end(`${ok}\r\n01234567890`)));
    await expect(unixGet(long, "/", limits)).rejects.toMatchObject({ code: "limit" });
    await rm(long);
    const silent = await serving(() => {});
    await expect(unixGet(silent, "/", { ...limits, timeoutMs: 300 })).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
