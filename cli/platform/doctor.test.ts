import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryIo } from "../memory-io.ts";
import { runProgram } from "../run-program.ts";
import { platformProgram } from "./platform.ts";
import type { Services } from "./services.ts";

const unused = async (): Promise<never> => {
  throw new Error("this examination starts nothing");
};
const services: Services = { control: unused, agent: unused, check: unused, checkDatabases: unused, sshCrypto: unused };

test.for([
  ["auth and proxy service", "auth_service:\n  enabled: yes\nproxy_service:\n  enabled: yes\n"],
  ["auth service alone", "auth_service:\n  enabled: yes\nproxy_service:\n  enabled: no\n"],
])("a host with the %s and no agent needs no identity of one", async ([, sections]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-doctor-"));
  const file = join(folder.path, "platform.yaml");
  await writeFile(file, `version: v3\nplatform:\n  data_dir: ${folder.path}\n${sections}ssh_service:\n  enabled: no\n`);
  const io = memoryIo({});
  const status = await runProgram(platformProgram(services), ["doctor", `--config=${file}`, "--environment-file=/nowhere"], io);
  expect([status, io.err()]).toEqual([0, ""]);
  expect(io.out()).toMatch(/^ok +configuration +\S+ is valid, and enables no service of an agent/);
  expect(io.out()).not.toMatch(/FAILED|identity/);
});
