import { mkdtempSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Auth, openAuth } from "../../control/auth/open-auth.ts";
import type { AuthDeps } from "../../control/auth/open-context.ts";
import type { AuthConfig } from "../../control/config.ts";
import { type AuthClient, type AuthConnection, openAuthClient } from "../../core/api/auth-client.ts";
import { createLog, silentLog } from "../../core/log/log.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import { codeAt } from "../world/one-time-code.ts";
import { enrolUser, type TestUser } from "./enrol-user.ts";
import { socketPair } from "./socket-pair.ts";
import { generateKeys, publicKeys } from "./user-keys.ts";

/** For the tests of this folder: an auth service on a temporary folder, with a clock that only the test moves. */
export interface TestAuth extends AsyncDisposable {
  auth: Auth;
  readonly admin: AuthClient;
  readonly dataDir: string;
  readonly logLines: string[];
  /** Moves the clock, ms. */
  forward(ms: number): void;
  now(): Date;
  /** Over TLS, as a stranger or with a certificate. */
  connect(credentials?: { certificate: string; privateKey: string }, address?: string): AuthClient;
  /** Closes and opens again on the same folder. */
  restart(): Promise<void>;
  events(...names: string[]): Promise<Record<string, unknown>[]>;
}

export interface TestAuthOptions extends Partial<AuthDeps> {
  readonly sessionRecording?: RecordingMode;
  readonly connectionsOfUser?: AuthConfig["connectionsOfUser"];
}

const config = { nodename: "auth1", clusterName: "test", listen: { host: "127.0.0.1", port: 0 }, names: [] };
const defaults = { listenerMode: "multiplex", defaultSessionTtlSeconds: 43_200 } as const;

const firstStart: { folder?: Promise<string> } = {};
/** Those that are open now. */
const running = new Set<string>();

/** The folder of an auth service that was started once: making authorities takes most of a first start. */
async function startedOnce(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "platform-auth-first-"));
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  // The test runner ends its workers so, and without a listener they have no exit.
  process.once("SIGTERM", () => process.exit());
  const auth = await openAuth({ ...config, ...defaults, dataDir, sessionRecording: "node" }, { log: silentLog });
  await auth.close();
  return dataDir;
}

export async function openTestAuth({ sessionRecording = "node", connectionsOfUser, ...deps }: TestAuthOptions = {}): Promise<TestAuth> {
  const dataDir = mkdtempSync(join(tmpdir(), "platform-auth-"));
  // TLS clients go by the real clock, so that the test begins there; whole seconds, as certificates have them.
  let time = Math.floor(Date.now() / 1000) * 1000;
  const logLines: string[] = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => logLines.push(line) });
  const now = (): Date => new Date(time);
  // A test with a clock of its own needs authorities of that time, and two clusters need authorities of their own.
  const isAlone = running.size === 0;
  running.add(dataDir);
  const forget = (): void => {
    running.delete(dataDir);
    rmSync(dataDir, { recursive: true });
  };
  const open = (): Promise<Auth> =>
    openAuth(
      { ...config, ...defaults, dataDir, sessionRecording, connectionsOfUser },
      { log, now, hashCost: { memory: 64, passes: 1, parallelism: 1 }, anonymousLimit: { perMinute: 1000, burst: 1000 }, ...deps },
    );
  const openFirst = async (): Promise<Auth> => {
    if (deps.now === undefined && isAlone) {
      firstStart.folder ??= startedOnce();
      // Unlike cpSync, it keeps the modes of folders: they are their owner's alone.
      await cp(await firstStart.folder, dataDir, { recursive: true });
    }
    return await open();
  };
  const auth = await openFirst().catch((thrown: unknown) => {
    forget();
    throw thrown;
  });
  const connections: AuthConnection[] = [];
  const test: TestAuth = {
    auth,
    get admin() {
      return test.auth.localClient("auth");
    },
    dataDir,
    logLines,
    forward: (ms) => {
      time += ms;
    },
    now,
    connect: (credentials, address = "203.0.113.7") => {
      const dial = async () => {
        // Not a pair of streams: with both ends of HTTP/2 in one turn of the event loop Node may end the process.
        const [near, far] = await socketPair();
        test.auth.inject(far, address);
        return near;
      };
      const connection = openAuthClient({ open: dial, ca: [test.auth.hostCaPem], ...(credentials && { credentials }) });
      connections.push(connection);
      return connection.client;
    },
    restart: async () => {
      await test.auth.close();
      test.auth = await open();
    },
    events: async (...names) => {
      const { eventsJson } = await test.admin.listEvents({ events: names });
      return eventsJson.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of connections) connection.close();
      await test.auth.close().finally(forget);
    },
  };
  return test;
}

/** A user who has accepted the invite; the clock moves a step, so that the next code is a fresh one. */
export async function addUser(test: TestAuth, name: string, spec: { roles: string[]; logins?: string[] }): Promise<TestUser> {
  const user = { name, roles: spec.roles, logins: spec.logins ?? ["root"] };
  const enrolled = await enrolUser({ admin: test.admin, client: test.connect() }, user, test.now());
  test.forward(60_000);
  return enrolled;
}

/** Logs in and gives a client with the user's certificate. */
export async function loggedIn(test: TestAuth, user: TestUser): Promise<AuthClient> {
  const keys = generateKeys();
  const code = codeAt(user.otpauthUri, test.now());
  const answer = await test.connect().login({ user: user.name, password: user.password, code, ...publicKeys(keys) });
  test.forward(60_000);
  return test.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey });
}

export interface JoinedHost {
  readonly id: string;
  /** Calls with the host's certificate. */
  readonly client: AuthClient;
}

/** A host that joined with a token of its own. `names`: more names for its certificate. */
export async function joinHost(
  test: TestAuth,
  hostname: string,
  { role = "node", names = [] }: { role?: "node" | "proxy"; names?: readonly string[] } = {},
): Promise<JoinedHost> {
  const { secret } = await test.admin.createToken({ roles: [role] });
  const keys = generateKeys();
  const { hostId, tlsCertificate } = await test
    .connect()
    .join({ token: secret, role, hostname, names: [...names], version: "1.0.0", ...publicKeys(keys) });
  return { id: hostId, client: test.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey }) };
}

/** All that a host says to join, by itself. */
export function joinFacts(role: string, token: string, more: object = {}) {
  const facts = { hostname: "web1", version: "1.0.0", services: ["ssh"], labels: { env: "test" } };
  return { token, role, ...facts, ...publicKeys(generateKeys()), ...more };
}
