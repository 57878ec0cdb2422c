import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Connection } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateLine, parseCertificateLine } from "../../core/ssh/certificate.ts";
import { checkCertificate } from "../../core/ssh/check-certificate.ts";
import { fromOpensshPrivate, publicLine, toOpensshPrivate } from "../../core/ssh/keys.ts";
import { acceptSsh } from "../../core/ssh/ssh-server.ts";
import {
  authorities,
  issue,
  type KeyKind,
  keyKinds,
  login,
  makeKey,
  missing,
  type Outcome,
  path,
  removeKeys,
  run,
  skip,
  stranger,
  users,
  write,
  writeKeys,
} from "../world/openssh-keys.ts";

describe.skipIf(skip)(`with the real OpenSSH${skip ? ` (absent: ${missing.map(([name]) => name).join(", ")})` : ""}`, () => {
  beforeAll(writeKeys);
  afterAll(removeKeys);

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
          accept().on("exec", (acceptExec, _reject, info) => {
            const command = String(info.command);
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
});
