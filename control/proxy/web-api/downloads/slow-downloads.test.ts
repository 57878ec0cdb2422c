import { once } from "node:events";
import { mkdtemp, readdir, readlink, rm, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../../../core/log/log.ts";
import type { DownloadPlacesOptions } from "../../packages/download-places.ts";
import { addErrors } from "../server/answer-errors.ts";
import { packageRoutes } from "./package-routes.ts";

let folder: string;
let app: FastifyInstance;
let lines: string[];
let sockets: Socket[];
beforeEach(async () => {
  [folder, app, lines, sockets] = [await mkdtemp(join(tmpdir(), "platform-slow-")), Fastify(), [], []];
  await writeFile(join(folder, "small.deb"), "0123456789");
  await writeFile(join(folder, "huge.deb"), "");
  await truncate(join(folder, "huge.deb"), 2 ** 30);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
  await rm(folder, { recursive: true });
});

async function serve(downloads: Partial<DownloadPlacesOptions>): Promise<void> {
  const log = createLog({ level: "info", format: "text", write: (line) => void lines.push(line) });
  addErrors(app, log);
  const usual = { places: 1, line: 1, waitMs: 60_000, lookMs: 60_000, leastBytes: 1_000_000 };
  packageRoutes(app, { packagesDir: folder, now: () => new Date(), log, downloads: { ...usual, ...downloads } });
  await app.listen({ host: "127.0.0.1", port: 0 });
}

/** Asks, and reads nothing. */
async function ask(path: string, method = "GET"): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  sockets.push(socket.on("error", () => {}).pause());
  await once(socket, "connect");
  socket.write(`${method} /packages/${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return socket;
}

/** A client that takes nothing has the only place, another waits for it. */
async function oneWaits(): Promise<{ stuck: Socket; waiting: Socket }> {
  const stuck = await ask("huge.deb");
  await once(stuck, "readable");
  const waiting = await ask("small.deb");
  await expect.poll(opened).toBe(2);
  return { stuck, waiting };
}

async function all(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Files of the folder that are open. */
async function opened(): Promise<number> {
  const links = await Promise.all((await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  return links.filter((link) => link.startsWith(folder)).length;
}

test("who takes nothing is ended as soon as another one waits, and that is logged", async () => {
  await serve({ lookMs: 100 });
  const stuck = await ask("huge.deb");
  await once(stuck, "readable");
  const other = await ask("small.deb");
  expect(await all(other)).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n0123456789$/s);
  await expect.poll(() => lines.join("")).toMatch(/download ended: its client was too slow while others waited.*huge\.deb/);
  await expect.poll(opened).toBe(0);
});

test("when too many wait the next one is refused; requests without a file do not wait", async () => {
  await serve({});
  const { stuck, waiting } = await oneWaits();
  const refused = await all(await ask("small.deb"));
  expect(refused).toMatch(/^HTTP\/1.1 503 /);
  expect(refused).toMatch(/\r\nretry-after: 60\r\n/i);
  expect(refused).toContain("too many simultaneous downloads");
  expect(refused).not.toMatch(/\r\netag: |immutable/i);
  expect(await all(await ask("small.deb", "HEAD"))).toMatch(/^HTTP\/1.1 200 /);
  stuck.destroy();
  expect(await all(waiting)).toContain("0123456789");
  await expect.poll(opened).toBe(0);
});

test("who hangs up while it waits leaves nothing behind", async () => {
  await serve({});
  const { stuck, waiting } = await oneWaits();
  waiting.destroy();
  await expect.poll(opened).toBe(1);
  const next = await ask("small.deb");
  await expect.poll(opened).toBe(2);
  stuck.destroy();
  expect(await all(next)).toContain("0123456789");
});

test("who hangs up before its file is found takes no place", async () => {
  await serve({ waitMs: 1000 });
  for (let count = 0; count < 10; count += 1) (await ask("small.deb")).end().resetAndDestroy();
  expect(await all(await ask("small.deb"))).toContain("0123456789");
});
