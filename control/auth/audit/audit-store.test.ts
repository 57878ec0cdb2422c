import { mkdtempDisposable, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { createAuditLog } from "./audit-log.ts";
import { openAuditStore } from "./audit-store.ts";

test("a commit of many events writes a few pages, however many events there are", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-audit-"));
  const path = join(folder.path, "audit.sqlite");
  const store = openAuditStore(path);
  let time = Date.parse("2026-01-02T03:04:05.678Z");
  const now = (): Date => {
    time += 1;
    return new Date(time);
  };
  const log = createAuditLog(store, { clusterName: "test", now, log: silentLog });
  const record = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => log.record({ event: "user.delete", user: "root", name: "ann" })));
  };
  await record(10_000);
  const reader = new DatabaseSync(path);
  reader.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  reader.close();
  await record(200);
  const pages = (await stat(`${path}-wal`)).size / 4096;
  // Some 12 of the events, 4 of each index, and those above them.
  expect(pages).toBeLessThan(40);
  store.close();
});
