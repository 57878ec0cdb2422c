import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { around, createTestAuthority, past } from "../core/transport/dial/testing/test-certificate.ts";
import { openTestAuth } from "../test/inside/open-auth.ts";
import { checkControl } from "./check-control.ts";
import type { ProxyConfig } from "./config.ts";

const local = { host: "127.0.0.1", port: 3080 };
let dir: string;
let good: { certFile: string; keyFile: string };
let expired: { certFile: string; keyFile: string };

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "check-control-"));
  const authority = await createTestAuthority(around(400));
  const put = async (name: string, validity: { notBefore: Date; notAfter: Date }) => {
    const { cert, key } = await authority.issue({ type: "dns", value: "a.test" }, validity);
    const files = { certFile: join(dir, `${name}.crt`), keyFile: join(dir, `${name}.key`) };
    await writeFile(files.certFile, cert);
    await writeFile(files.keyFile, key);
    return files;
  };
  [good, expired] = [await put("good", around(90)), await put("expired", past())];
});
afterAll(async () => await rm(dir, { recursive: true, force: true }));

const check = (proxy: Partial<ProxyConfig>, inUse: Parameters<typeof checkControl>[1] = []) =>
  checkControl({ nodename: "n", dataDir: dir, proxy: { dataDir: dir, nodename: "n", webListen: local, keypairs: [], caPins: [], ...proxy } }, inUse);

test("what would start is not refused, and what should be put right is said", async () => {
  expect(await check({ keypairs: [good], publicAddr: { host: "a.test", port: 443 }, packagesDir: dir })).toEqual([]);
  const publicAddr = { host: "b.test", port: 443 };
  expect(await check({ keypairs: [good, expired], publicAddr, packagesDir: join(dir, "none") })).toEqual([
    expect.stringMatching(/expired\.crt expired 24 hours ago; renew it; /),
    "no certificate of https_keypairs is for the public address b.test: browsers, agents and updaters refuse it; add one for that name, or correct proxy_service.public_addr",
    expect.stringMatching(/packages_dir: .*; make the folder, or let the service's user read it$/),
  ]);
});

test("another name for the cluster of the data folder is refused while its process runs", async () => {
  await using t = await openTestAuth();
  const auth = (clusterName: string) => ({
    dataDir: t.dataDir,
    nodename: "n",
    clusterName,
    listen: { host: "127.0.0.1", port: 0 },
    names: [],
    listenerMode: "multiplex" as const,
    defaultSessionTtlSeconds: 1,
    sessionRecording: "off" as const,
  });
  const checked = (name: string) => checkControl({ nodename: "n", dataDir: t.dataDir, auth: auth(name) }, []);
  expect(await checked(t.auth.clusterName)).toEqual([]);
  await expect(checked("another.test")).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("belongs to cluster") });
});

test.for<readonly [what: string, proxy: () => Partial<ProxyConfig>, said: RegExp]>([
  ["a key of another certificate", () => ({ keypairs: [{ ...good, keyFile: expired.keyFile }] }), /are not a matching certificate and key/],
  ["a certificate that is not there", () => ({ keypairs: [{ ...good, certFile: join(dir, "x") }] }), /could not read .*\/x/],
  ["an expired one in place of a good one", () => ({ keypairs: [expired] }), /it expired at/],
  [
    "an address that this host does not have",
    () => ({ webListen: { host: "192.0.2.1", port: 3080 } }),
    /^proxy_service\.web_listen_addr: could not listen on 192\.0\.2\.1:3080: this host does not have the address$/,
  ],
  [
    "one of a port for kubectl",
    () => ({ kubeListen: { host: "192.0.2.1", port: 3026 } }),
    /^proxy_service\.kube_listen_addr: could not listen on 192\.0\.2\.1:3026/,
  ],
])("refused as at the start: %s", async ([, proxy, said]) => {
  const inUse = [{ file: expired.certFile, names: [], until: new Date(Date.now() + 60_000).toISOString() }];
  await expect(check(proxy(), inUse)).rejects.toThrow(said);
});
