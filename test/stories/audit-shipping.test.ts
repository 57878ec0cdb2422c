import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAuditStore } from "../../control/auth/audit/audit-store.ts";
import { makeAuditEvent } from "../../core/audit/audit-event.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { output } from "../world/program.ts";
import { until } from "../world/until.ts";

async function configure(cluster: Cluster, storage: string): Promise<void> {
  const config = join(cluster.dir, "control.yaml");
  await writeFile(config, (await readFile(config, "utf8")).replace("platform:\n", `platform:\n  storage:\n${storage}`));
}

const uids = (text: string): string[] => [...text.matchAll(/"uid":"([0-9a-f-]{36})"/g)].map(([, uid = ""]) => uid);

test("events reach a file at least once, whole and in order, however often control is killed in between", { timeout: 240_000 }, async () => {
  await using cluster = await startCluster();
  const path = join(cluster.dir, "log", "audit.jsonl");
  await cluster.control.stop();
  const store = openAuditStore(join(cluster.dir, "control", "auth", "audit.sqlite"));
  for (let n = 0; n < 100; n += 1) {
    const origin = { clusterName: "test.cluster", now: new Date() };
    store.append(
      Array.from({ length: 200 }, () => makeAuditEvent({ event: "user.delete", user: "root", name: "x" }, { ...origin, uid: randomUUID() })),
    );
  }
  store.close();
  await configure(cluster, `    audit_events_uri: [ "file://${path}" ]\n    audit_file_size: 1MiB\n    audit_files: 100\n`);
  const shipped = (): string => {
    const older = Array.from({ length: 100 }, (_, n) => `${path}.${100 - n}`).filter((name) => existsSync(name));
    return [...older, path].map((name) => (existsSync(name) ? readFileSync(name, "utf8") : "")).join("");
  };
  const start = cluster.restart;
  for (let round = 0; round < 3; round += 1) {
    const before = uids(shipped()).length;
    const starting = start();
    await until("some are shipped", () => uids(shipped()).length > before);
    await cluster.control.kill();
    await starting.catch(() => {});
  }
  await start();
  const all = uids(await cluster.admin("audit", "ls", "--format=json", "--limit=100000"));
  expect(all.length).toBeGreaterThanOrEqual(20_000);
  await until("all are shipped", () => new Set(uids(shipped())).size >= all.length, 60_000);
  const lines = shipped().trimEnd().split("\n");
  expect(lines.every((line) => typeof JSON.parse(line) === "object")).toBe(true);
  const first = [...new Set(uids(shipped()))];
  expect(first.slice(0, all.length)).toEqual(all);
  // What comes twice is at most what each kill interrupted.
  expect(lines.length - first.length).toBeLessThanOrEqual(3 * 500);
  expect((await stat(path)).mode & 0o137).toBe(0);
});

test.runIf(userInfo().uid === 0)("a full disk is in tctl status and blocks nobody; pending events follow", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster();
  const folder = join(cluster.dir, "small");
  await mkdir(folder);
  await output("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
  try {
    await writeFile(join(folder, "filler"), Buffer.alloc(64 * 1024));
    await configure(cluster, `    audit_events_uri: "file://${folder}/audit.jsonl"\n`);
    await cluster.restart();
    await cluster.token();
    await until("it is reported", async () => /not reached file:.*ENOSPC/.test(await cluster.admin("status")));
    expect(cluster.control.printed()).toMatch(/could not ship audit events/);
    await rm(join(folder, "filler"));
    await until("it goes on", async () => !/not reached/.test(await cluster.admin("status")));
    const all = uids(await cluster.admin("audit", "ls", "--format=json"));
    await until("all are there", async () => uids(await readFile(join(folder, "audit.jsonl"), "utf8")).length >= all.length);
    expect(new Set(uids(await readFile(join(folder, "audit.jsonl"), "utf8")))).toEqual(new Set(all));
  } finally {
    await output("umount", ["-l", folder]);
  }
});
