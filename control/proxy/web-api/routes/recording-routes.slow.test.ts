import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../../../core/recording/cast.ts";
import { encodeMember } from "../../../../core/recording/member.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { recordSession } from "../../../../test/inside/record-session.ts";
import { callWeb, openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";

let cluster: TestCluster;
let auditor: WebBrowser;
let alice: WebBrowser;
let bob: WebBrowser;
let sid: string;
const texts = [
  encodeCastHeader({ width: 80, height: 24, timestamp: 0 }),
  encodeCastEvent({ time: 1.5, kind: "o", data: randomBytes(200_000).toString("hex") }),
  encodeCastEvent({ time: 30, kind: "o", data: "end" }),
];
const members = texts.map((text, number) => encodeMember(Buffer.from(text), number));
const size = Buffer.concat(members).length;

beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.putRole("nobody", {});
  auditor = await openBrowser(cluster, "eve", ["auditor"]);
  alice = await openBrowser(cluster, "alice", ["access"]);
  bob = await openBrowser(cluster, "bob", ["nobody"]);
  sid = await recordSession(cluster, { user: "alice", texts });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const views = async () => (await cluster.events("session.recording.access")).map(({ user, name, sid: of }) => ({ user, name, of }));

test("the user of the session and an auditor see its facts and index, and nobody else", async () => {
  for (const browser of [alice, auditor]) {
    const { status, body } = await browser(`/recordings/${sid}`);
    expect([status, body]).toMatchObject([200, { recording: { sid, user: "alice", state: "complete", bytes: size } }]);
    expect(body.points).toMatchObject([
      { offset: 0, time: 0 },
      { offset: size - (members[2]?.length ?? 0), time: 30 },
    ]);
  }
  for (const path of [`/recordings/${sid}`, `/recordings/${sid}/content`, `/recordings/${randomUUID()}`, `/recordings/${randomUUID()}/content`]) {
    expect([path, (await bob(path)).status]).toEqual([path, 403]);
    expect([path, (await callWeb(cluster, `/webapi/v1${path}`)).status]).toEqual([path, 401]);
  }
  expect((await auditor(`/recordings/${randomUUID()}/content`)).status).toBe(404);
  expect(await views()).toEqual([]);
});

test.for(["/recordings/x", "/recordings/..%2f..%2fetc%2fpasswd", "/recordings/x/content"])("%s is refused", async (path) => {
  expect((await auditor(path)).status).toBe(400);
});

test.for(["offset=-1", "offset=1.5", "length=0", "length=5000000", "offset=99999999999", "from=1"])("a part of %s is refused", async (query) => {
  expect((await auditor(`/recordings/${sid}/content?${query}`)).status).toBe(400);
});

test("parts have the size and state of the recording, and are one view in the audit log", async () => {
  const part = async (query: string) => {
    const { headers, status } = await bytesOf(query);
    const names = ["content-type", "platform-recording-size", "platform-recording-state"];
    return [status, ...names.map((name) => headers[name])];
  };
  const bytesOf = async (query: string) => await auditor(`/recordings/${sid}/content?${query}`);
  const before = (await views()).length;
  expect(await part(`offset=${size}`)).toEqual([200, "application/gzip", String(size), "complete"]);
  expect(await part(`offset=${size + 1000}&length=10`)).toEqual([200, "application/gzip", String(size), "complete"]);
  expect((await views()).slice(before)).toEqual([{ user: "eve", name: "alice", of: sid }]);
});

test("a running session is there as far as it has come", async () => {
  const running = await recordSession(cluster, { user: "alice", texts: texts.slice(0, 1), isRunning: true });
  const { headers } = await alice(`/recordings/${running}/content?offset=${members[0]?.length}`);
  expect([headers["platform-recording-state"], headers["platform-recording-size"]]).toEqual(["running", String(members[0]?.length)]);
});
