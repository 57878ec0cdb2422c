import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { type Db, dbDocument } from "../../core/resources/db.ts";
import { databaseAuthority } from "../../test/inside/database-authority.ts";
import { type ListedText, type OfferedResources, offerResources } from "./offered-resources.ts";

interface Thing {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly uri: string;
}

let stop: AbortController;
let listed: ListedText[];
let polls: number;
let lines: { text: string; name: unknown; reason: unknown }[];
let changes: number;
/** Whether a proxy reports changes. */
let isLive: boolean;
let report: () => void;
let away: boolean;
beforeEach(() => {
  [isLive, away] = [false, false];
  stop = new AbortController();
  [listed, polls, lines, changes] = [[], 0, [], 0];
});
afterEach(() => stop.abort());

const text = (name: string, spec: object = {}, labels: object = { env: "prod" }): ListedText => ({
  name,
  json: JSON.stringify({ kind: "db", version: "v3", metadata: { name, labels }, spec: { protocol: "postgres", uri: `${name}:5432`, ...spec } }),
});

/** Follows what `listed` holds, for databases with the label env=prod. */
function follow(own: readonly Thing[] = [], most = 1000): OfferedResources<Thing> {
  const log = {
    ...silentLog,
    warn: (line: string, facts?: Readonly<Record<string, unknown>>) => void lines.push({ text: line, name: facts?.name, reason: facts?.reason }),
  };
  const listResources = async (kind: string): Promise<readonly ListedText[]> => {
    expect(kind).toBe("db");
    polls += 1;
    if (away) throw new Error("away");
    return listed;
  };
  const onNews = (listener: () => void): void => {
    report = listener;
  };
  const news = { isLive: () => isLive, onNews };
  const served = ({ metadata, spec }: Db): Thing => ({ name: metadata.name, labels: metadata.labels ?? {}, uri: spec.uri });
  const details = ({ uri }: Thing) => ({ uri });
  const sources = { kind: "db", own, matchers: [{ env: ["prod"] }], most, document: dbDocument, served, details } as const;
  const offered = offerResources(sources, { listResources, news, log, times: { refreshMs: 1, spreadMs: 1 } }, stop.signal);
  offered.onChange(() => {
    changes += 1;
  });
  return offered;
}

const nextPolls = async (): Promise<void> => {
  const before = polls;
  await expect.poll(() => polls).toBeGreaterThan(before + 2);
};
const names = (offered: OfferedResources<Thing>): string =>
  offered
    .current()
    .map(({ name, details }) => `${name}=${details?.uri}`)
    .join(" ");

test("a resource that is created, changed and removed is followed, and each change is reported once", async () => {
  const offered = follow([{ name: "own", labels: {}, uri: "own:1" }]);
  expect(names(offered)).toBe("own=own:1");
  listed = [text("orders"), text("test", {}, { env: "test" })];
  await expect.poll(() => names(offered)).toBe("own=own:1 orders=orders:5432");
  listed = [text("orders", { uri: "other:5432" })];
  await expect.poll(() => names(offered)).toBe("own=own:1 orders=other:5432");
  expect(offered.find("orders")).toMatchObject({ uri: "other:5432" });
  await nextPolls();
  expect(changes).toBe(2);
  listed = [];
  await expect.poll(() => names(offered)).toBe("own=own:1");
  expect([changes, lines]).toEqual([3, []]);
  offered.announce();
  expect(changes).toBe(4);
  stop.abort();
  const last = polls;
  listed = [text("late")];
  await expect.poll(async () => await Promise.resolve(polls - last)).toBeLessThanOrEqual(1);
});

test("a broken one is logged once and leaves the others alone", async () => {
  const garbage = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----";
  const offered = follow();
  listed = [
    text("newer", { protocol: "oracle" }),
    text("bad-ca", { tls: { mode: "verify-full", ca_cert: garbage } }),
    { name: "broken", json: "{" },
    text("elsewhere", { protocol: "oracle" }, { env: "test" }),
    text("orders"),
  ];
  await expect.poll(() => names(offered)).toBe("orders=orders:5432");
  await nextPolls();
  const said = "this host does not offer a database of the cluster";
  expect(lines).toEqual([
    { text: said, name: "newer", reason: "a db resource is malformed at spec.protocol" },
    { text: said, name: "bad-ca", reason: "a db resource is malformed at spec.tls.ca_cert" },
  ]);
  const { pem } = await databaseAuthority("db");
  listed = [text("newer"), text("bad-ca", { tls: { mode: "verify-full", ca_cert: pem } }), text("orders", { uri: "" })];
  await expect.poll(() => names(offered)).toBe("newer=newer:5432 bad-ca=bad-ca:5432");
  await nextPolls();
  expect(lines.slice(2)).toEqual([{ text: said, name: "orders", reason: "a db resource is malformed at spec.uri" }]);
  // A fault that comes again is another event.
  listed = [];
  await nextPolls();
  listed = [text("orders", { uri: "" })];
  await expect.poll(() => lines.length).toBe(4);
});

test("a name that the configuration file has too is logged once, and that of the file is served", async () => {
  const offered = follow([{ name: "orders", labels: {}, uri: "own:1" }]);
  listed = [text("orders"), text("logs")];
  await expect.poll(() => names(offered)).toBe("orders=own:1 logs=logs:5432");
  await nextPolls();
  expect(lines).toMatchObject([
    { name: "orders", reason: expect.stringMatching(/^the configuration file of this host has another one of this name/) },
  ]);
});

test("the maximum is for those of the file and of the cluster together: the others are named once, and offered when there is room", async () => {
  const offered = follow([{ name: "own", labels: {}, uri: "own:1" }], 3);
  listed = [text("a"), text("other", {}, { env: "test" }), text("own"), text("b"), text("c"), text("d")];
  await expect.poll(() => names(offered)).toBe("own=own:1 a=a:5432 b=b:5432");
  await nextPolls();
  const reason = "this host offers 3 already, which is the maximum of databases";
  expect(lines.filter(({ name }) => name !== "own")).toMatchObject([
    { name: "c", reason },
    { name: "d", reason },
  ]);
  listed = [text("b"), text("c")];
  await expect.poll(() => names(offered)).toBe("own=own:1 b=b:5432 c=c:5432");
});

test("while changes are reported nothing is asked for between them, and each is followed", async () => {
  isLive = true;
  const offered = follow();
  await expect.poll(() => polls).toBe(1);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  listed = [text("orders")];
  await turns();
  expect([polls, names(offered)]).toEqual([1, ""]);
  report();
  await expect.poll(() => names(offered)).toBe("orders=orders:5432");
  expect(polls).toBe(2);
  // Several reports together cost one request.
  for (let times = 0; times < 10; times += 1) report();
  listed = [];
  await expect.poll(() => names(offered)).toBe("");
  await turns();
  expect(polls).toBe(3);
});

test("a list that could not be fetched is asked for again, also while changes are reported", async () => {
  [isLive, away] = [true, true];
  const offered = follow();
  listed = [text("orders")];
  await nextPolls();
  away = false;
  await expect.poll(() => names(offered)).toBe("orders=orders:5432");
});

test("it has settled with the first answer, and with a failure too", async () => {
  listed = [text("orders")];
  const offered = follow();
  await offered.settled;
  expect(offered.all().map(({ name }) => name)).toEqual(["orders"]);
  away = true;
  const none = follow();
  await none.settled;
  expect(none.all()).toEqual([]);
});
