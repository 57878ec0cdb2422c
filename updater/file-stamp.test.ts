import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileStamp } from "./file-stamp.ts";

test("a stamp stays as long as the file does, and is another one after each change", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-stamp-"));
  const file = join(folder, "platform.yaml");
  try {
    expect(await fileStamp(file)).toBeUndefined();
    const seen: (string | undefined)[] = [];
    const changes = [
      () => writeFile(file, "a: 1\n"),
      () => writeFile(file, "a: 22\n"),
      async () => {
        await writeFile(`${file}.new`, "b: 22\n");
        await rename(`${file}.new`, file);
      },
    ];
    for (const change of changes) {
      await change();
      const stamp = await fileStamp(file);
      expect(stamp).toMatch(/^[0-9a-f]{32}$/);
      expect(await fileStamp(file)).toBe(stamp);
      seen.push(stamp);
    }
    expect(new Set(seen).size).toBe(changes.length);
    expect(await fileStamp(join(file, "below"))).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
