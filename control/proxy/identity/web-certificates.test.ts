import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../../core/log/log.ts";
import {
  around,
  createTestAuthority,
  past,
  type TestAuthority,
  type TestCertificate,
} from "../../../core/transport/dial/testing/test-certificate.ts";
import { WebCertificates } from "./web-certificates.ts";

const dayMs = 86_400_000;
let dir: string;
let authority: TestAuthority;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "web-certificates-"));
  authority = await createTestAuthority(around(400));
});
afterAll(async () => await rm(dir, { recursive: true, force: true }));

const lasting = (days: number) => authority.issue({ type: "dns", value: "a.test" }, { ...around(1), notAfter: new Date(Date.now() + days * dayMs) });

async function world(first: TestCertificate) {
  const folder = await mkdtemp(join(dir, "pair-"));
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const put = async ({ cert, key }: TestCertificate): Promise<void> => {
    await Promise.all([writeFile(files.certFile, cert), writeFile(files.keyFile, key)]);
  };
  await put(first);
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", write: (line) => lines.push(line) });
  const stop = new AbortController();
  const open = async (inUse: { file: string; names: string[]; until: string }[] = []) => {
    const certificates = new WebCertificates([files], { log, now: () => new Date(), inUse, checkMs: 10 });
    let changes = 0;
    certificates.onChange(() => {
      changes += 1;
    });
    await certificates.open(stop.signal);
    return { certificates, changes: () => changes };
  };
  return { files, put, lines, open, [Symbol.dispose]: () => stop.abort() };
}

test("a renewed certificate is served without a reload, and its change is reported", async () => {
  using w = await world(await lasting(90));
  const { certificates, changes } = await w.open();
  const [before, context] = [certificates.facts(), certificates.choose("a.test")];
  await w.put(await lasting(180));
  await expect.poll(changes, { timeout: 5_000 }).toBe(1);
  expect(certificates.facts()[0]).toMatchObject({ file: w.files.certFile, names: ["a.test"] });
  expect(Date.parse(certificates.facts()[0]?.until ?? "")).toBeGreaterThan(Date.parse(before[0]?.until ?? "") + dayMs);
  expect(certificates.choose("a.test")).not.toBe(context);
  expect(w.lines.join("")).toContain("a renewed web certificate is in use");
});

test("what cannot be used, or is worse, is logged once and leaves the one before in use", async () => {
  using w = await world(await lasting(90));
  const { certificates } = await w.open();
  const before = certificates.choose(undefined);
  const count = (text: string): number => w.lines.filter((line) => line.includes(text)).length;
  await w.put(await authority.issue({ type: "dns", value: "a.test" }, past()));
  await expect.poll(() => count("it expired at"), { timeout: 5_000 }).toBe(1);
  await writeFile(w.files.keyFile, (await lasting(90)).key);
  await expect.poll(() => count("are not a matching certificate and key"), { timeout: 5_000 }).toBe(1);
  expect([count("it expired at"), count("is not usable")]).toEqual([1, 2]);
  expect(certificates.choose(undefined)).toBe(before);
  await w.put(await lasting(91));
  await expect.poll(() => certificates.choose(undefined) !== before, { timeout: 5_000 }).toBe(true);
});

test("an expired one ends a reload where the process before has a good one, and no first start", async () => {
  using w = await world(await authority.issue({ type: "dns", value: "a.test" }, past()));
  const used = { file: w.files.certFile, names: [], until: new Date(Date.now() + dayMs).toISOString() };
  await expect(w.open([used])).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("it expired at") });
  await w.open([{ ...used, until: new Date(0).toISOString() }]);
  await w.open();
  expect(w.lines.filter((line) => line.includes("the web certificate expired"))).toHaveLength(2);
});
