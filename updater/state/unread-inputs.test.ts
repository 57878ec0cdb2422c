import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

test.runIf(process.getuid?.() === 0)("a dry run names what its user may not read, and changes nothing; root reads all", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-dry-"));
  const [settings, state, config] = [join(folder.path, "settings"), join(folder.path, "state"), join(folder.path, "platform.yaml")];
  await chmod(folder.path, 0o755);
  for (const one of [settings, state]) await mkdir(one);
  const skip = [{ version: "9.9.9", since: "2030-01-01T00:00:00.000Z", why: "it refused its configuration", config: { file: config, stamp: "0" } }];
  await writeFile(join(settings, "endpoint"), "127.0.0.1:1/v1/webapi/automaticupgrades/channel/default\n");
  await writeFile(join(state, "state"), JSON.stringify({ version: 1, skip }));
  const closed = [join(settings, "authorities"), join(state, "lock"), config, join(state, "stamp-key")];
  for (const path of closed) await writeFile(path, "x", { mode: 0o600 });

  const dryRun = async (user: string) => {
    const places = { settings, state, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } };
    const script = `
      const { runCommand } = await import(${JSON.stringify(new URL("../commands.ts", import.meta.url).href)});
      ${user}
      const { signal } = new AbortController();
      const [out, err] = [process.stdout, process.stderr].map((stream) => (line) => stream.write(line + "\\n"));
      process.exitCode = await runCommand(["dry-run"], ${JSON.stringify(places)}, { out, err, signal });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    expect(out).toMatch(/^reason=/m);
    return err;
  };
  expect(await dryRun("process.setgroups([]); process.setgid(65534); process.setuid(65534);")).toContain(
    `WARNING: a run may act differently, because this user may not read ${closed[0]} (a setting), ${closed[1]} (whether a run is in progress), ` +
      `${closed[2]} (whether the configuration that a version refused was changed), ${closed[3]} (whether the configuration that a version refused was changed): ` +
      "run it as root for a certain answer\n",
  );
  expect(await dryRun("")).not.toContain("may not read");
  expect((await readdir(state)).sort()).toEqual(["lock", "stamp-key", "state"]);
});
