import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { RecordingFacts } from "../../../core/resources/recording.ts";
import { openRecordingStore, type RecordingStore } from "./recording-store.ts";

const factsOf = (at: number): RecordingFacts => ({
  sid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
  server_id: "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11",
  server_name: "web-1",
  user: at % 2 === 0 ? "ann" : "bob",
  login: "root",
  started: new Date(Date.UTC(2030, 0, 1, 0, at)).toISOString(),
});

const sidsOf = (store: RecordingStore, query: Partial<Parameters<RecordingStore["list"]>[0]>): string[] => {
  const sids: string[] = [];
  for (let cursor: string | undefined; cursor !== ""; ) {
    const page = store.list({ limit: 2, ...query, cursor });
    sids.push(...page.recordings.map(({ sid }) => sid));
    ({ cursor } = page);
  }
  return sids;
};

test("recordings of a user are found by an index, also in a database of an earlier version", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-recordings-"));
  const path = join(folder.path, "recordings.sqlite");
  const before = openRecordingStore(path);
  for (let at = 0; at < 9; at += 1) await before.keep(factsOf(at), { bytes: 1 });
  before.close();
  const earlier = new DatabaseSync(path);
  earlier.exec("DROP INDEX recordings_user");
  earlier.close();

  const store = openRecordingStore(path);
  const sids = (ats: readonly number[]): string[] => ats.map((at) => factsOf(at).sid);
  expect(sidsOf(store, { user: "ann" })).toEqual(sids([8, 6, 4, 2, 0]));
  expect(sidsOf(store, { user: "bob", from: new Date(Date.UTC(2030, 0, 1, 0, 3)) })).toEqual(sids([7, 5, 3]));
  expect(sidsOf(store, {})).toEqual(sids([8, 7, 6, 5, 4, 3, 2, 1, 0]));
  store.close();

  const database = new DatabaseSync(path);
  const sql = "SELECT facts FROM recordings WHERE user = ? AND (started, sid) < (?, ?) ORDER BY started DESC, sid DESC LIMIT ?";
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all("ann", "2031", "f", 2);
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SEARCH recordings USING INDEX recordings_user \(user=\? AND /)]);
  database.close();
});
