import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { askPam } from "./open-pam.ts";

/** Programs that answer as session-start does; the real one is in test/stories/pam.test.ts. */
const dir = mkdtempSync(join(tmpdir(), "ask-pam-"));
afterAll(() => rmSync(dir, { recursive: true }));

async function asked(script: string, limitMs?: number): Promise<string> {
  const file = join(dir, "program");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o700);
  try {
    await askPam({ ask: "account", starter: file, variables: {}, ...(limitMs !== undefined && { limitMs }) });
    return "yes";
  } catch (thrown) {
    const { code, message } = thrown as { code?: string; message: string };
    return `${code}: ${message}`;
  }
}

test.for([
  ["exit 0", "yes"],
  ["echo 'Closed on Sundays.' >&3; exit 255", "denied: Closed on Sundays.\n"],
  ["exit 255", "unavailable: could not ask PAM on this host: ended by exit status 255"],
  ["kill -SEGV $$", "unavailable: could not ask PAM on this host: ended by SIGSEGV"],
  ["head -c 100000 /dev/zero | tr '\\0' x >&3; exit 255", `denied: ${"x".repeat(2000)}`],
])("%s: %s", async ([script, outcome]) => {
  expect(await asked(script as string)).toBe(outcome);
});

test("a timeout does not admit the user", async () => {
  expect(await asked("exec sleep 30", 200)).toBe("unavailable: could not ask PAM on this host: no answer within 0.2 s");
});

test("a missing program does not admit the user", async () => {
  await expect(askPam({ ask: "account", starter: join(dir, "none"), variables: {} })).rejects.toThrow(
    "could not ask PAM on this host: could not start its process",
  );
});
