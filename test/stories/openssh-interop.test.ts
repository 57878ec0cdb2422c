/** Our certificates and our SSH against the real ssh, sshd and ssh-keygen, in all four directions. Needs no root. */
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { ClientChannel, Connection } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateLine, checkCertificate, parseCertificateLine, signCertificate } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate, publicLine, toOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { acceptSsh } from "../../core/ssh/ssh-server.ts";

const sshd = "/usr/sbin/sshd";
const missing = [
  ["ssh", "-V"],
  ["ssh-keygen", "-?"],
  [sshd, "-?"],
].filter(([program, flag]) => spawnSync(program as string, [flag as string]).error !== undefined);
const skip = missing.length > 0;
const login = userInfo().username;
const hour = 3_600_000;

let folder = "";
const path = (name: string): string => join(folder, name);
const write = (name: string, text: string): string => {
  writeFileSync(path(name), text, { mode: 0o600 });
  return path(name);
};

interface Outcome {
  readonly code: number | null;
  readonly out: Buffer;
  readonly err: string;
}

async function run(program: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 15_000 });
  const closed = once(child, "close");
  const [out, err] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  const [code] = (await closed) as [number | null];
  return { code, out, err: err.toString() };
}

const keyKinds = ["ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa"] as const;
type KeyKind = (typeof keyKinds)[number];

function makeKey(kind: KeyKind): KeyObject {
  if (kind === "ed25519") return generateKeyPairSync("ed25519").privateKey;
  if (kind === "rsa") return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  return generateKeyPairSync("ec", { namedCurve: { ecdsa256: "P-256", ecdsa384: "P-384", ecdsa521: "P-521" }[kind] }).privateKey;
}

/** A private key file that OpenSSH reads, and its .pub file. */
function writeKey(name: string, key: KeyObject): void {
  const type = key.asymmetricKeyType === "rsa" ? "pkcs1" : "sec1";
  write(name, key.asymmetricKeyType === "ed25519" ? toOpensshPrivate(key) : key.export({ format: "pem", type }).toString());
  write(`${name}.pub`, `${publicLine(key, name)}\n`);
}

const authorities = { user: makeKey("ed25519"), host: makeKey("ed25519"), ec: makeKey("ecdsa256"), rsa: makeKey("rsa") };
const stranger = makeKey("ed25519");
const users = Object.fromEntries(keyKinds.map((kind) => [kind, makeKey(kind)])) as Record<KeyKind, KeyObject>;

interface Wanted {
  readonly type: "user" | "host";
  readonly key: KeyObject;
  readonly authority: KeyObject;
  readonly principals?: readonly string[];
  readonly validBefore?: Date;
}

function issue({ type, key, authority, principals, validBefore }: Wanted): Buffer {
  const extensions = new Map(
    type === "user"
      ? ([
          ["permit-pty", ""],
          ["login@platform.dev", "x"],
        ] as const)
      : [],
  );
  const fields = {
    type,
    keyId: `id-${type}`,
    principals: principals ?? (type === "user" ? [login] : ["127.0.0.1"]),
    extensions,
    validBefore: validBefore ?? new Date(Date.now() + hour),
  };
  return signCertificate({ fields, key, authority, validAfter: new Date(Date.now() - 60_000), serial: 7n });
}

describe.skipIf(skip)(`with the real OpenSSH${skip ? ` (absent: ${missing.map(([name]) => name).join(", ")})` : ""}`, () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "platform-openssh-"));
    for (const [name, key] of Object.entries(authorities)) writeKey(`ca_${name}`, key);
    for (const [kind, key] of Object.entries(users)) writeKey(kind, key);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("ssh-keygen reads our private key file, and we read its", async () => {
    const printed = await run("ssh-keygen", ["-y", "-f", path("ed25519")]);
    expect(printed.out.toString().trim()).toBe(publicLine(users.ed25519, ""));
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "a comment", "-f", path("theirs")]);
    const theirs = fromOpensshPrivate(readFileSync(path("theirs"), "utf8"));
    expect(publicLine(theirs, "a comment")).toBe(readFileSync(path("theirs.pub"), "utf8").trim());
  });

  const pairs = keyKinds.flatMap((kind) => (["user", "ec", "rsa"] as const).map((authority) => [kind, authority] as const));
  test.for(pairs)("a certificate of %s by authority %s is read alike by ssh-keygen and by us", async ([kind, authority]) => {
    const name = `${kind}-${authority}`;
    write(`${name}-cert.pub`, `${certificateLine(issue({ type: "user", key: users[kind], authority: authorities[authority] }))}\n`);
    const listed = await run("ssh-keygen", ["-L", "-f", path(`${name}-cert.pub`)]);
    expect(listed.out.toString()).toContain("login@platform.dev");
    expect(listed.out.toString()).toContain(login);

    write(`${name}.pub`, `${publicLine(users[kind], "")}\n`);
    const options = ["-V", "+1h", "-O", "source-address=127.0.0.0/8", "-O", "extension:roles@platform.dev=[]"];
    await run("ssh-keygen", ["-q", "-s", path(`ca_${authority}`), "-I", "theirs", "-n", "root,alice", ...options, path(`${name}.pub`)]);
    const theirs = parseCertificateLine(readFileSync(path(`${name}-cert.pub`), "utf8"));
    const lines = [publicLine(authorities[authority], "")];
    const now = new Date();
    checkCertificate(theirs, { type: "user", authorities: lines, principal: "alice", now, clientAddress: "127.0.0.1" });
    expect(theirs.extensions.get("roles@platform.dev")).toBe("[]");
    expect(() => checkCertificate(theirs, { type: "user", authorities: lines, now, clientAddress: "192.0.2.1" })).toThrow(/may not be used from/);
    const damaged = { ...theirs, signed: Buffer.from(theirs.signed) };
    damaged.signed.writeUInt8(damaged.signed.readUInt8(100) ^ 1, 100);
    expect(() => checkCertificate(damaged, { type: "user", authorities: lines, now, clientAddress: "127.0.0.1" })).toThrow(/bad signature/);
  });

  describe("ssh logs in to our server", () => {
    let server: Server;
    let port = 0;
    let exchanges = 0;
    const host = makeKey("ed25519");
    const connections = new Set<Connection>();
    const stop = new AbortController();

    beforeAll(async () => {
      const hostCertificate = issue({ type: "host", key: host, authority: authorities.host });
      const lines = [authorities.user, authorities.ec, authorities.rsa].map((key) => publicLine(key, ""));
      const serve = async (stream: Socket): Promise<void> => {
        const authenticate = ({ certificate, username }: Parameters<Parameters<typeof acceptSsh>[0]["authenticate"]>[0]): void =>
          checkCertificate(certificate, { type: "user", authorities: lines, principal: username, now: new Date() });
        const { connection } = await acceptSsh({ stream, hostKey: host, hostCertificate, authenticate, signal: stop.signal });
        connections.add(connection);
        connection.on("rekey", () => {
          exchanges += 1;
        });
        connection.on("session", (accept) => {
          accept().on("exec", (acceptExec, _reject, { command }) => {
            const channel = acceptExec();
            const count = Number(command.split(" ")[1] ?? 0);
            channel.write(count > 0 ? Buffer.alloc(count, "x") : `hello ${command}`, () => {
              channel.exit(0);
              channel.end();
            });
          });
        });
      };
      server = createServer((stream) => {
        serve(stream).catch(() => {});
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      port = (server.address() as AddressInfo).port;
      write("known", `@cert-authority * ${publicLine(authorities.host, "")}\n`);
      write("known-other", `@cert-authority * ${publicLine(stranger, "")}\n`);
    });
    afterAll(() => {
      stop.abort();
      server.close();
    });

    function ssh(kind: KeyKind, certificate: Buffer, more: { known?: string; options?: readonly string[]; command?: string } = {}): Promise<Outcome> {
      const file = write(`${kind}-login-cert.pub`, `${certificateLine(certificate)}\n`);
      const settings = [
        `UserKnownHostsFile=${path(more.known ?? "known")}`,
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        `CertificateFile=${file}`,
        ...(more.options ?? []),
      ];
      const flags = settings.flatMap((setting) => ["-o", setting]);
      return run("ssh", ["-F", "none", "-p", String(port), ...flags, "-i", path(kind), `${login}@127.0.0.1`, more.command ?? "x"]);
    }

    test.for(keyKinds)("with a %s certificate", async (kind) => {
      const outcome = await ssh(kind, issue({ type: "user", key: users[kind], authority: authorities.user }));
      expect(outcome).toMatchObject({ code: 0, out: Buffer.from("hello x") });
    });

    test.for(["ec", "rsa"] as const)("with a certificate of an authority of type %s", async (authority) => {
      const outcome = await ssh("ed25519", issue({ type: "user", key: users.ed25519, authority: authorities[authority] }));
      expect(outcome).toMatchObject({ code: 0, out: Buffer.from("hello x") });
    });

    test.for([
      ["of an unknown authority", { authority: stranger }, /unknown authority/],
      ["that has expired", { validBefore: new Date(Date.now() - 1000) }, /expired at/],
      ["for another login", { principals: ["someone-else"] }, /does not list/],
    ] as const)("is refused with a certificate %s, and ssh shows why", async ([, wanted, reason]) => {
      const outcome = await ssh("ed25519", issue({ type: "user", key: users.ed25519, authority: authorities.user, ...wanted }));
      expect(outcome.code).toBe(255);
      expect(outcome.err).toMatch(/Permission denied \(publickey\)/);
      expect(outcome.err).toMatch(reason);
    });

    test("is refused with a plain key", async () => {
      const flags = [
        "UserKnownHostsFile=".concat(path("known")),
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        "CertificateFile=none",
      ];
      const plain = write("plain", toOpensshPrivate(users.ed25519));
      const outcome = await run("ssh", [
        "-F",
        "none",
        "-p",
        String(port),
        ...flags.flatMap((flag) => ["-o", flag]),
        "-i",
        plain,
        `${login}@127.0.0.1`,
        "x",
      ]);
      expect(outcome.err).toMatch(/Permission denied \(publickey\)/);
    });

    test("refuses our host certificate by another authority", async () => {
      const outcome = await ssh("ed25519", issue({ type: "user", key: users.ed25519, authority: authorities.user }), { known: "known-other" });
      expect(outcome.code).toBe(255);
      expect(outcome.err).toMatch(/verification failed|No .* host key is known/);
    });

    test("renews keys under load without losing a byte", async () => {
      exchanges = 0;
      const certificate = issue({ type: "user", key: users.ed25519, authority: authorities.user });
      const outcome = await ssh("ed25519", certificate, { options: ["RekeyLimit=4M"], command: "big 40000000" });
      expect(outcome.out.length).toBe(40_000_000);
      expect(exchanges).toBeGreaterThan(3);
    });
  });

  describe("our client logs in to sshd", () => {
    const hosts = { ed25519: makeKey("ed25519"), ecdsa: makeKey("ecdsa256") };
    let config = "";

    beforeAll(() => {
      for (const [name, key] of Object.entries(hosts)) {
        writeKey(`h_${name}`, key);
        write(`h_${name}-cert.pub`, `${certificateLine(issue({ type: "host", key, authority: authorities.host }))}\n`);
      }
      write("user_cas", `${[authorities.user, authorities.ec, authorities.rsa].map((key) => publicLine(key, "")).join("\n")}\n`);
      const settings = ["PidFile none", "UsePAM no", "StrictModes no", "PermitRootLogin yes", "AuthorizedKeysFile none", "PasswordAuthentication no"];
      config = settings.join("\n");
      // Its privilege separation folder, needed when root runs it.
      if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
    });

    /** `sshd -i` serves the one connection that is its standard input. */
    async function dialSshd(host: keyof typeof hosts, more: string): Promise<{ stream: Socket; stop: () => Promise<void> }> {
      const own = [`TrustedUserCAKeys ${path("user_cas")}`, `HostKey ${path(`h_${host}`)}`, `HostCertificate ${path(`h_${host}-cert.pub`)}`];
      const file = write(`sshd_${host}`, `${[config, ...own, more].join("\n")}\n`);
      const listener = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
      await once(listener, "listening");
      const stream = connect((listener.address() as AddressInfo).port, "127.0.0.1");
      const [peer] = (await once(listener, "connection")) as [Socket];
      listener.close();
      const child = spawn(sshd, ["-i", "-e", "-f", file], { stdio: [peer, peer, "ignore"] });
      const closed = once(child, "close");
      peer.destroy();
      return {
        stream,
        stop: async () => {
          stream.destroy();
          child.kill();
          await closed;
        },
      };
    }

    interface Login {
      readonly host?: keyof typeof hosts;
      readonly kind?: KeyKind;
      readonly wanted?: Partial<Wanted>;
      readonly hostAuthority?: KeyObject;
      readonly principal?: string;
      readonly sshd?: string;
    }

    async function logIn(options: Login, use: (client: SshConnection) => Promise<void>): Promise<void> {
      const { stream, stop } = await dialSshd(options.host ?? "ed25519", options.sshd ?? "");
      const key = users[options.kind ?? "ed25519"];
      try {
        const client = await connectSsh({
          stream,
          username: login,
          privateKey: key,
          certificate: issue({ type: "user", key, authority: authorities.user, ...options.wanted }),
          hostAuthorities: [publicLine(options.hostAuthority ?? authorities.host, "")],
          principal: options.principal ?? "127.0.0.1",
          timeoutMs: 10_000,
          signal: AbortSignal.timeout(15_000),
        });
        await use(client);
        client.end();
      } finally {
        await stop();
      }
    }

    async function execute(client: SshConnection, command: string): Promise<Buffer> {
      const channel = await new Promise<ClientChannel>((resolve, reject) => {
        client.exec(command, (error, opened) => (error === undefined ? resolve(opened) : reject(error)));
      });
      channel.stderr.resume();
      return buffer(channel);
    }

    test.for(keyKinds)("with a %s certificate", async (kind) => {
      await logIn({ kind }, async (client) => expect((await execute(client, "echo hi")).toString()).toBe("hi\n"));
    });

    test.for(["ed25519", "ecdsa"] as const)("and checks its %s host certificate", async (host) => {
      await logIn({ host }, async (client) => expect((await execute(client, "echo hi")).toString()).toBe("hi\n"));
    });

    test.for([
      ["a host certificate of another authority", { hostAuthority: stranger }, /unknown authority/],
      ["a host certificate for another name", { principal: "elsewhere" }, /does not list "elsewhere"/],
    ] as const)("refuses %s", async ([, options, reason]) => {
      await expect(logIn(options, async () => {})).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringMatching(reason) });
    });

    test.for([
      ["another authority's user certificate", { authority: stranger }],
      ["an expired user certificate", { validBefore: new Date(Date.now() - 1000) }],
      ["a user certificate for another login", { principals: ["someone-else"] }],
      ["a host certificate", { type: "host" as const }],
    ] as const)("is refused with %s", async ([, wanted]) => {
      await expect(logIn({ wanted }, async () => {})).rejects.toMatchObject({ code: "unauthenticated" });
    });

    test("keeps every byte when sshd renews keys", async () => {
      let exchanges = 0;
      await logIn({ sshd: "RekeyLimit 4M" }, async (client) => {
        client.on("handshake", () => {
          exchanges += 1;
        });
        expect((await execute(client, "head -c 40000000 /dev/zero")).length).toBe(40_000_000);
      });
      expect(exchanges).toBeGreaterThan(3);
    });
  });
});
