import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeAuthorities } from "./schedule-file.ts";

test("changed keys are written, with a header that names the file's owner", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-authorities-"));
  try {
    const file = join(folder, "authorities");
    expect(await writeAuthorities(file, ["ssh-ed25519 AAAA", "ssh-ed25519 BBBB"])).toBe(true);
    expect(await writeAuthorities(file, ["ssh-ed25519 AAAA", "ssh-ed25519 BBBB"])).toBe(false);
    expect(await readFile(file, "utf8")).toMatch(/^# Written by the platform agent: .*\nssh-ed25519 AAAA\nssh-ed25519 BBBB\n$/);
    expect(await writeAuthorities(file, ["ssh-ed25519 BBBB"])).toBe(true);
    expect(await readFile(file, "utf8")).not.toContain("AAAA");
  } finally {
    await rm(folder, { recursive: true });
  }
});
