import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfigFile } from "./read-config-file.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-config-"));
});
afterAll(async () => {
  await rm(dir, { recursive: true });
});

const pin = `sha256:${"a".repeat(64)}`;

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

test("a token and a pin may be in files of their own", async () => {
  const token = await file("token", "secret\n");
  const pins = await file("pin", `${pin.toUpperCase()}\n`);
  const config = await file("a.yaml", `version: v3\nplatform:\n  proxy_server: p.test\n  auth_token: ${token}\n  ca_pin: ${pins}\nssh_service: {}\n`);
  const read = await readConfigFile(config, "host-1");
  expect(read.config.platform).toMatchObject({ nodename: "host-1", token: "secret", caPins: [pin] });
  expect(read.warnings).toEqual([]);
  await chmod(token, 0o644);
  expect((await readConfigFile(config, "host-1")).warnings).toEqual([expect.stringContaining("everyone may read it")]);
});

describe("refused is", () => {
  const cases: [what: string, content: string | Buffer, code: string, said: RegExp][] = [
    ["a file that is not text", Buffer.from([0xff, 0xfe, 0x00]), "invalid", /not UTF-8/],
    ["a file that is too long", Buffer.alloc(1024 * 1024 + 1, "#"), "invalid", /longer than/],
    [
      "a missing token file",
      "version: v3\nplatform:\n  auth_token: /nonexistent/token\nauth_service: {}\n",
      "invalid",
      /:3: platform\.auth_token: \/nonexistent\/token does not exist/,
    ],
    [
      "a value that is not a pin",
      "version: v3\nplatform:\n  ca_pin: sha256:short\nauth_service: {}\n",
      "invalid",
      /:3: platform\.ca_pin must be sha256/,
    ],
  ];
  test.for(cases)("%s", async ([, content, code, said]) => {
    const path = await file("bad.yaml", content);
    await expect(readConfigFile(path, "host-1")).rejects.toMatchObject({ code, message: expect.stringMatching(said) });
  });

  test("a missing file, and a folder", async () => {
    await expect(readConfigFile(join(dir, "none"), "host-1")).rejects.toMatchObject({ code: "not_found" });
    await expect(readConfigFile(dir, "host-1")).rejects.toMatchObject({ code: "invalid" });
  });

  test("a host whose name cannot be a nodename, unless the file names it", async () => {
    const path = await file("name.yaml", "version: v3\nauth_service: {}\n");
    await expect(readConfigFile(path, "bad_name!")).rejects.toMatchObject({ message: expect.stringContaining("set platform.nodename") });
  });
});
