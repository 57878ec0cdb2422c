import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replacedWarning } from "./installed-version.ts";

test("an executable that was replaced is asked for its version, and named when it is another", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-installed-"));
  const program = async (name: string, says: string): Promise<string> => {
    await writeFile(join(folder, name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
    return join(folder, name);
  };
  try {
    const running = await program("running", "exit 1");
    const warning = async (onDisk: string) => await replacedWarning("1.0.0", { running, onDisk });
    expect(await warning(running)).toBeUndefined();
    expect(await warning(await program("next", '[ "$1" = version ] && echo platform 1.0.1'))).toBe(
      "1.0.1 is installed here, and 1.0.0 runs: systemctl reload platform",
    );
    expect(await warning(await program("same", "echo platform 1.0.0"))).toBeUndefined();
    expect(await warning(await program("broken", "exit 1"))).toBeUndefined();
    expect(await warning(join(folder, "nothing"))).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
