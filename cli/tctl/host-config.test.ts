import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryIo } from "../memory-io.ts";
import { hostConfig } from "./host-config.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "host-config-"));
});
afterAll(async () => await rm(dir, { recursive: true, force: true }));

test.for([
  ["public_addr: a.test:7", "a.test:7"],
  ["public_addr: a.test\n  web_listen_addr: 127.0.0.1:18443", "a.test:18443"],
  ["public_addr: [a.test]", "a.test:3080"],
  ['public_addr: "2001:db8::7"\n  web_listen_addr: "[::]:443"', "[2001:db8::7]:443"],
  ["public_addr: http://a.test", undefined],
  ["enabled: yes", undefined],
])("the proxy of this host, with %j, is at %s", async ([keys, address]) => {
  const file = join(dir, "platform.yaml");
  await writeFile(file, `version: v3\nproxy_service:\n  ${keys}\n`);
  const options = {
    text: (name: string) => (name === "config" ? file : undefined),
    list: () => [],
    values: () => [],
    flag: () => false,
    count: () => 0,
  };
  expect(await hostConfig({ io: memoryIo(), args: [], options })).toMatchObject({ proxyAddress: address });
});
