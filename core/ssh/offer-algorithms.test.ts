import { type Duplex, duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { knownAlgorithms, readClientOffer, type SshAlgorithms, usualAlgorithms } from "./algorithms.ts";
import { generateSshKey } from "./keys.ts";
import { acceptSsh } from "./ssh-server.ts";
import { Client, KeyExchangeInit, offer } from "./ssh2/hooks.ts";
import { issue } from "./testing/session-fixture.ts";

const gcm = "aes128-gcm@openssh.com,aes256-gcm@openssh.com";
const chacha = "chacha20-poly1305@openssh.com";
const strict = "curve25519-sha256,kex-strict-c-v00@openssh.com";
const authority = generateSshKey();

/** A client's SSH_MSG_KEXINIT. */
function clientInit(kex: string, ciphers: string): Buffer {
  const lists = [kex, "ssh-ed25519", ciphers, ciphers, "hmac-sha2-256-etm@openssh.com", "hmac-sha2-256-etm@openssh.com", "none", "none", "", ""];
  return Buffer.concat([u8(20), Buffer.alloc(16), ...lists.map((list) => string(list)), u8(0), u32(0)]);
}

/** The packet before there are keys (RFC 4253 section 6). */
function packet(payload: Buffer): Buffer {
  const padding = 8 - ((5 + payload.length) % 8) + 8;
  return Buffer.concat([u32(1 + payload.length + padding), u8(padding), payload, Buffer.alloc(padding)]);
}

interface Offered {
  readonly kex: string;
  readonly hostKeys: string;
  readonly ciphers: string;
  readonly macs: string;
}

async function serverInit(stream: Duplex): Promise<Offered> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of stream) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    const start = bytes.indexOf("\r\n") + 2;
    if (start < 2 || bytes.length < start + 4 || bytes.length < start + 4 + bytes.readUInt32BE(start)) continue;
    const reader = new Reader(bytes.subarray(start + 5));
    reader.take(17);
    const [kex = "", hostKeys = "", ciphers = "", , macs = ""] = Array.from({ length: 5 }, () => reader.text());
    return { kex, hostKeys, ciphers, macs };
  }
  throw new Error("the server closed without an offer");
}

/** The server's offer to a client that sends its version, and, if given, its own offer at once. */
async function offered(version: string, init: Buffer | undefined, algorithms?: SshAlgorithms): Promise<Offered> {
  const [near, far] = duplexPair();
  const host = issue(authority.privateKey, "host");
  const stop = new AbortController();
  const accepted = acceptSsh({
    stream: far,
    hostKey: host.key,
    hostCertificate: host.certificate,
    authenticate: () => {},
    algorithms,
    signal: stop.signal,
  });
  accepted.catch(() => {});
  near.on("error", () => {});
  near.write(`SSH-2.0-${version}\r\n`);
  if (init !== undefined) near.write(packet(init));
  const got = await serverInit(near);
  stop.abort();
  return got;
}

test("any client sees only AEAD ciphers, no MAC, and the host's key beside its certificate", async () => {
  expect(await offered("PuTTY_Release_0.78", undefined)).toEqual({
    kex: `${usualAlgorithms.kexAlgos.join()},kex-strict-s-v00@openssh.com`,
    hostKeys: "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519",
    ciphers: `${gcm},${chacha}`,
    macs: "",
  });
});

test("paramiko, which refuses a server without MACs, is offered some", async () => {
  expect((await offered("paramiko_5.0.0", undefined)).macs).toBe(usualAlgorithms.macAlgos.join());
});

test("configured algorithms are offered, with MACs for the ciphers that use them", async () => {
  const algorithms = { ciphers: [chacha, "aes256-ctr"], kexAlgos: ["ecdh-sha2-nistp256"], macAlgos: ["hmac-sha2-512-etm@openssh.com"] };
  expect(await offered("dropbear_2022.83", undefined, algorithms)).toMatchObject({
    kex: "ecdh-sha2-nistp256,kex-strict-s-v00@openssh.com",
    ciphers: `${chacha},aes256-ctr`,
    macs: "hmac-sha2-512-etm@openssh.com",
  });
});

test.for<readonly [version: string, kex: string, ciphers: string, expected: string]>([
  ["OpenSSH_9.6", strict, `${chacha},aes256-ctr,${gcm}`, gcm],
  ["OpenSSH_7.4", "curve25519-sha256", `${chacha},aes256-ctr,${gcm}`, gcm],
  ["OpenSSH_9.6", strict, chacha, chacha],
  ["OpenSSH_for_Windows_9.5", strict, "aes256-ctr", "aes256-ctr"],
])("%s with %s and %s is offered %s", async ([version, kex, ciphers, expected]) => {
  const algorithms = { ...usualAlgorithms, ciphers: knownAlgorithms.ciphers };
  expect((await offered(version, clientInit(kex, ciphers), algorithms)).ciphers).toBe(expected);
});

test("an OpenSSH that withholds its own offer gets ours after a second", async () => {
  expect((await offered("OpenSSH_9.6", undefined)).ciphers).toBe(`${gcm},${chacha}`);
});

test("a client's offer is read; cut short it is refused, and nothing else happens", () => {
  const init = clientInit(strict, gcm);
  expect(readClientOffer(init)).toEqual({ ciphers: gcm.split(","), isStrict: true });
  expect(readClientOffer(clientInit("curve25519-sha256", ""))).toEqual({ ciphers: [""], isStrict: false });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 120 }), (bytes, length) => {
      for (const payload of [Buffer.from(bytes), init.subarray(0, length)]) {
        try {
          readClientOffer(payload);
        } catch (thrown) {
          if (!(thrown instanceof PlatformError && thrown.code === "invalid")) throw thrown;
        }
      }
    }),
  );
});

test.for(["chacha20-poly1305@openssh.com", "aes256-ctr"])("%s is refused without strict key exchange, and the error names it", async (cipher) => {
  const [near, far] = duplexPair();
  const host = issue(authority.privateKey, "host");
  const algorithms = { ...usualAlgorithms, ciphers: [cipher] };
  const { signal } = new AbortController();
  const accepted = acceptSsh({ stream: far, hostKey: host.key, hostCertificate: host.certificate, authenticate: () => {}, algorithms, signal });
  accepted.catch(() => {});
  const client = new Client();
  client.on("error", () => {});
  client.connect({ sock: near as never, username: "root", password: "none", hostVerifier: () => true });
  const both = { cipher: [cipher], mac: [...usualAlgorithms.macAlgos], compress: ["none"], lang: [] };
  offer(client, new KeyExchangeInit({ kex: ["curve25519-sha256"], serverHostKey: ["ssh-ed25519"], cs: both, sc: both }));
  await expect(accepted).rejects.toMatchObject({
    code: "unsupported",
    message: `${cipher} needs strict key exchange, which this SSH client does not have`,
  });
  near.destroy();
});
