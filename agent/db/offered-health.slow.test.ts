import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { authClientOf } from "../../test/inside/auth-client-of.ts";
import { databaseAuthority } from "../../test/inside/database-authority.ts";
import { type Database, databaseOf } from "./database.ts";
import { checkHealth } from "./offered-health.ts";

const stops: (() => void)[] = [];
let stop: AbortController;
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  for (const one of stops.splice(0)) one();
});

/** A server with a certificate of an authority, and the client of the auth service that names the authority. */
async function world() {
  const authority = await databaseAuthority("db");
  const { certificate: cert, privateKey: key } = await authority.issue("localhost", { names: ["localhost"] });
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    new TLSSocket(socket, { isServer: true, cert, key }).on("error", () => {});
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  stops.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  let asked = 0;
  const getCluster = async () => {
    asked += 1;
    const authorities = [{ kind: "db", pem: [authority.pem], ssh: [] }];
    return { authorities, hostCaPem: [], userCaPem: [], hostCaSsh: [], userCaSsh: [] };
  };
  const auth = async () => authClientOf({ getCluster });
  return { port, auth, asked: () => asked };
}

function redis(name: string, port: number): Database {
  const database = databaseOf({ metadata: { name }, spec: { protocol: "redis", uri: `localhost:${port}` } });
  if (database === undefined) throw new Error("no database");
  return database;
}

test("offered databases are checked by the cluster's authority, and reported again once their health is known", async () => {
  const { port, auth, asked } = await world();
  let all = [redis("cache", port)];
  let listener = (): void => {};
  let reports = 0;
  const announce = (): void => {
    reports += 1;
    listener();
  };
  const onChange = (called: () => void): void => {
    listener = called;
  };
  const health = checkHealth({ all: () => all, onChange, announce }, { auth, log: silentLog }, stop.signal);
  expect(health.details("cache")).toEqual({ health: "unknown" });
  await expect.poll(() => health.details("cache"), { timeout: 5_000 }).toEqual({ health: "healthy" });
  await expect.poll(() => reports, { timeout: 5_000 }).toBe(1);
  all = [redis("cache", port), redis("gone", 1)];
  listener();
  await expect
    .poll(() => health.details("gone"), { timeout: 5_000 })
    .toMatchObject({
      health: "unhealthy",
      health_error: "no connection to localhost:1: connection refused",
    });
  expect(asked()).toBe(1);
});

test("nothing is said of a server's health while its authority is not known", async () => {
  const { port } = await world();
  let asked = 0;
  const auth = (): Promise<never> => {
    asked += 1;
    return Promise.reject(new PlatformError("unavailable", "no proxy"));
  };
  const all = [redis("cache", port), { ...redis("any", port), tls: { mode: "insecure" as const, caPem: [], trustsSystem: false } }];
  const health = checkHealth({ all: () => all, onChange: () => {}, announce: () => {} }, { auth, log: silentLog }, stop.signal);
  await expect.poll(() => health.details("any"), { timeout: 5_000 }).toEqual({ health: "healthy" });
  expect(health.details("cache")).toEqual({ health: "unknown" });
  await expect.poll(() => asked, { timeout: 8_000 }).toBeGreaterThan(1);
  expect(health.details("cache")).toEqual({ health: "unknown" });
});
