import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import type { StorageConfig } from "../../../core/config/audit-destination.ts";
import { createLog } from "../../../core/log/log.ts";
import { until } from "../../../test/world/until.ts";
import { appendToFile } from "./append-to-file.ts";
import { AuditShipping, sendToJournal } from "./audit-shipping.ts";
import { openAuditStore } from "./audit-store.ts";
import { forgetOld } from "./keep-audit.ts";

const folder = () => mkdtempDisposable(join(tmpdir(), "platform-shipping-"));
const quiet = createLog({ level: "error", format: "json", write: () => {} });

function event(name: string, now = new Date()) {
  return makeAuditEvent({ event: "user.delete", user: "root", name }, { clusterName: "test", now, uid: randomUUID() });
}

const nameOf = (line: string): string => (JSON.parse(line) as { name: string }).name;
const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

test("a file is appended to, is readable by its owner only, and is renamed before it is too large", async () => {
  await using temporary = await folder();
  const path = join(temporary.path, "logs", "audit.jsonl");
  const file = { path, maxBytes: 25, keep: 2 };
  for (const line of ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd", "eeeeeeeeee", "ffffffffff", "gggggggggg"])
    await appendToFile(file, [line]);
  expect(linesOf(path)).toEqual(["gggggggggg"]);
  expect(linesOf(`${path}.1`)).toEqual(["eeeeeeeeee", "ffffffffff"]);
  expect(linesOf(`${path}.2`)).toEqual(["cccccccccc", "dddddddddd"]);
  expect(() => statSync(`${path}.3`)).toThrow(/ENOENT/);
  expect(statSync(path).mode & 0o137).toBe(0);
});

test("a torn last line is cut off, and a file that others could read is closed to them", async () => {
  await using temporary = await folder();
  const path = join(temporary.path, "audit.jsonl");
  writeFileSync(path, 'one\n{"torn', { mode: 0o666 });
  chmodSync(path, 0o666);
  await appendToFile({ path, maxBytes: 1000, keep: 1 }, ["two"]);
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
  expect(statSync(path).mode & 0o777).toBe(0o640);
});

test("a device, a folder or a pipe is not written to", async () => {
  await using temporary = await folder();
  mkdirSync(join(temporary.path, "folder"));
  await expect(appendToFile({ path: "/dev/null", maxBytes: 9, keep: 1 }, ["x"])).rejects.toThrow(/not a regular file/);
  await expect(appendToFile({ path: join(temporary.path, "folder"), maxBytes: 9, keep: 1 }, ["x"])).rejects.toThrow(/EISDIR/);
});

test("journald gets one line for each event behind the seven lines of its header, and must close before they count", async () => {
  await using temporary = await folder();
  const path = join(temporary.path, "stdout");
  let got = "";
  const journal = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("data", (chunk) => {
      got += chunk.toString();
    });
    socket.on("end", () => socket.end());
  });
  await new Promise<void>((resolve) => journal.listen(path, resolve));
  await sendToJournal(path, ['{"a":1}', '{"b":2}']);
  journal.close();
  expect(got).toBe('platform-audit\n\n6\n0\n0\n0\n0\n{"a":1}\n{"b":2}\n');
  await expect(sendToJournal(join(temporary.path, "nobody"), ["{}"])).rejects.toThrow(/ENOENT/);
});

test("every event is shipped in order, from where it was, while another destination fails and says so", async () => {
  await using temporary = await folder();
  const path = join(temporary.path, "audit.jsonl");
  const blocked = join(temporary.path, "file", "audit.jsonl");
  writeFileSync(join(temporary.path, "file"), "in the way");
  const destinations: StorageConfig = {
    audit_events_uri: [
      { kind: "file", uri: `file://${path}`, path },
      { kind: "file", uri: `file://${blocked}`, path: blocked },
    ],
    audit_retention: 86_400,
    audit_file_size: 1_000_000,
    audit_files: 2,
  };
  using store = disposable(openAuditStore(join(temporary.path, "auth", "audit.sqlite")));
  store.append(Array.from({ length: 1_200 }, (_, n) => event(`before-${n}`)));
  const begin = () => {
    const over = new AbortController();
    const shipping = new AuditShipping(store, { destinations, log: quiet });
    const running = shipping.run(over.signal);
    const stop = async (): Promise<void> => {
      over.abort();
      await running;
    };
    return { shipping, stop };
  };
  const first = begin();
  await until("the backlog is there", () => linesOf(path).length === 1_200);
  expect(first.shipping.warnings()).toEqual([
    expect.stringMatching(/^audit events have not reached file:.*\/file\/audit\.jsonl since .*: E(NOTDIR|EXIST)/),
  ]);
  await first.stop();
  store.append([event("after")]);
  const second = begin();
  await until("the later one follows", () => linesOf(path).length === 1_201);
  await second.stop();
  expect(linesOf(path).map(nameOf)).toEqual([...Array.from({ length: 1_200 }, (_, n) => `before-${n}`), "after"]);
});

test("events are deleted when their days are over, by the day on which they arrived, and none before", async () => {
  await using temporary = await folder();
  const path = join(temporary.path, "auth", "audit.sqlite");
  let now = new Date("2030-01-01T12:00:00Z");
  const clock = (): Date => now;
  using store = disposable(openAuditStore(path, clock));
  const forgotten = async (): Promise<string[]> => {
    await forgetOld({ auditStore: store, log: quiet, now: clock }, 3 * 86_400, new AbortController().signal);
    return (await store.list({ limit: 1_000 })).lines.map(nameOf);
  };
  // A host's clock may be wrong: neither is its event kept for ever, nor gone at once.
  store.append([event("future", new Date("2090-01-01T00:00:00Z")), ...Array.from({ length: 700 }, () => event("old", now))]);
  now = new Date("2030-01-03T00:00:00Z");
  store.append([event("past", new Date("1999-01-01T00:00:00Z"))]);
  now = new Date("2030-01-04T23:00:00Z");
  store.append([event("new", now)]);
  expect(await forgotten()).toHaveLength(703);
  now = new Date("2030-01-05T01:00:00Z");
  expect(await forgotten()).toEqual(["past", "new"]);
  now = new Date("2030-01-07T01:00:00Z");
  expect(await forgotten()).toEqual(["new"]);
});

function disposable<T extends { close(): void }>(store: T): T & Disposable {
  return Object.assign(store, { [Symbol.dispose]: () => store.close() });
}
