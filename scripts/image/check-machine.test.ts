import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkMachine } from "./check-machine.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-check-machine-"));
  await mkdir(join(dir, "usr/lib"), { recursive: true });
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

function elf(machine: number): Buffer {
  const head = Buffer.alloc(64);
  head.write("\x7fELF", "latin1");
  head.writeUInt16LE(machine, 18);
  return head;
}

test("counts programs and libraries of the architecture, and passes everything else", async () => {
  await writeFile(join(dir, "platform"), elf(183));
  await writeFile(join(dir, "usr/lib/libc.so.6"), elf(183));
  await symlink("libc.so.6", join(dir, "usr/lib/libc.so"));
  await symlink("/nowhere", join(dir, "usr/lib/broken"));
  for (const [name, content] of Object.entries({ empty: "", text: "hello", script: "#!/bin/sh\nexit\n", short: "\x7fELF" }))
    await writeFile(join(dir, name), content);
  expect(await checkMachine(dir, "arm64")).toBe(2);
});

test.for([
  ["arm64", 62],
  ["x64", 183],
  ["x64", 3],
] as const)("an image for %s has no file of ELF machine %i", async ([arch, machine]) => {
  await writeFile(join(dir, "usr/lib/libm.so.6"), elf(machine));
  await expect(checkMachine(dir, arch)).rejects.toThrow(`usr/lib/libm.so.6 is for another machine than ${arch}`);
});
