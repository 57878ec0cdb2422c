/** Our client against the real sshd. Needs no root. */
import { spawn } from "node:child_process";
import type { KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { userInfo } from "node:os";
import { buffer } from "node:stream/consumers";
import type { ClientChannel } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { certificateLine } from "../../core/ssh/certificate.ts";
import { publicLine } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import {
  authorities,
  issue,
  type KeyKind,
  keyKinds,
  login,
  makeKey,
  missing,
  path,
  removeKeys,
  skip,
  sshd,
  stranger,
  users,
  type Wanted,
  write,
  writeKey,
  writeKeys,
} from "../world/openssh-keys.ts";

describe.skipIf(skip)(`with the real OpenSSH${skip ? ` (absent: ${missing.map(([name]) => name).join(", ")})` : ""}`, () => {
  beforeAll(writeKeys);
  afterAll(removeKeys);

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
