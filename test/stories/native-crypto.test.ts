import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { ownTarget } from "../../scripts/build/build-target.ts";
import { compileAddon } from "../../scripts/build/compile-addon.ts";
import { run } from "../world/program.ts";

/**
 * Makes 200,000 ciphers and lets them go while a socket delivers data: its reads allocate outside of JavaScript, and the
 * collections that start there find no current environment. With the runtime's own object wrapper this aborts the process.
 */
const collect = `
const { AESGCMCipher } = require(process.argv[1]);
const net = require("node:net");
const [key, iv, chunk] = [Buffer.alloc(16, 1), Buffer.alloc(12, 2), Buffer.alloc(65536)];
const server = net.createServer((socket) => socket.on("data", () => {})).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  let round = 0;
  const next = () => {
    for (let n = 0; n < 50; n += 1) new AESGCMCipher("aes-128-gcm", key, iv);
    round += 1;
    if (round === 4000) process.exit(0);
    client.write(chunk, next);
  };
  next();
});`;

test("the native ciphers of ended connections are collected at any time without harm", async () => {
  const dir = await mkdtemp(join(tmpdir(), "platform-addon-"));
  try {
    const root = resolve(import.meta.dirname, "../..");
    const addon = await compileAddon(root, await ownTarget(root), join(dir, "sshcrypto.node"));
    const done = await run(process.execPath, ["--max-semi-space-size=1", "-e", collect, addon]);
    expect(done).toMatchObject({ status: 0, stderr: "" });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
