import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { clientAlgorithms, hostCertificateTypes } from "../../core/ssh/algorithms.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { Client, verifyWithPlainKey } from "../../core/ssh/ssh2/hooks.ts";
import type { Cluster } from "./cluster.ts";
import type { User } from "./cluster-user.ts";
import { cleanEnv, output, program } from "./program.ts";

/** A user of the cluster who logs in properly, and then misbehaves. */
export interface Hostile extends Disposable {
  readonly client: SshConnection;
  /** Resolves when the other side has ended the connection. */
  readonly closed: Promise<void>;
}

/** The bytes of a host's SSH service, as `tsh proxy ssh` brings them. */
export function streamTo(user: User, target: string): Duplex {
  const child = spawn(program("tsh"), ["proxy", "ssh", target], { env: cleanEnv({ TSH_HOME: user.home }), stdio: ["pipe", "pipe", "ignore"] });
  const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
  stream.on("error", () => {}).once("close", () => child.kill());
  child.once("exit", () => stream.destroy());
  return stream;
}

/** Over the agent's tunnel, or through the jump host's own port. */
export async function hostileClient(cluster: Cluster, user: User, through: "tunnel" | "jump"): Promise<Hostile> {
  const folder = join(user.home, (await output("ls", [user.home])).split("\n").find((name) => name.includes("_")) ?? "");
  const privateKey = fromOpensshPrivate(await readFile(join(folder, "id"), "utf8"));
  const certificate = parseCertificateLine(await readFile(join(folder, "id-cert.pub"), "utf8")).blob;
  const authorities = await cluster.admin("auth", "export", "--type=host");
  const hostAuthorities = authorities
    .trim()
    .split("\n")
    .map((line) => line.replace(/^@cert-authority \S+ /, ""));
  const stream = through === "tunnel" ? streamTo(user, "root@web-1") : await tcp(cluster.ports.ssh);
  const abort = new AbortController();
  const client = await connectSsh({
    stream,
    username: "root",
    privateKey,
    certificate,
    hostAuthorities,
    principal: through === "tunnel" ? "web-1" : "control",
    timeoutMs: 30_000,
    signal: abort.signal,
  });
  client.on("error", () => {});
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  return { client, closed, [Symbol.dispose]: () => abort.abort() };
}

/** Guesses passwords over one connection until the other side ends it: how often it could. */
export async function guessPasswords(sock: Duplex): Promise<number> {
  const client = new Client();
  let tries = 0;
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  client.on("error", () => {});
  client.connect({
    // ssh2 takes any duplex stream; its types ask for a Readable.
    sock: sock as never,
    username: "root",
    algorithms: { ...clientAlgorithms, serverHostKey: hostCertificateTypes as never },
    readyTimeout: 60_000,
    // Accepts any host key.
    hostVerifier: () => {
      verifyWithPlainKey(client);
      return true;
    },
    authHandler: (_left, _partial, next) => {
      tries += 1;
      next({ type: "password", username: "root", password: `guess ${tries}` });
    },
  });
  await closed;
  return tries;
}

/** From that address of the loopback network. */
export async function tcp(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
}

/** Resident memory of a process, MiB; of one that has ended, none. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** The most that a process had while `work` ran, beyond what it had before, MiB. It may end meanwhile. */
export async function growthDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = await residentMib(pid);
  let most = before;
  const timer = setInterval(
    () =>
      void residentMib(pid).then(
        (now) => (most = Math.max(most, now)),
        () => {},
      ),
    100,
  );
  try {
    await work();
    most = Math.max(most, await residentMib(pid).catch(() => 0));
  } finally {
    clearInterval(timer);
  }
  return most - before;
}
