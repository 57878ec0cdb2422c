/** Keys, certificates and runs of OpenSSH's programs for the stories of both directions. One folder for each test file. */
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { signCertificate } from "../../core/ssh/certificate.ts";
import { publicLine, toOpensshPrivate } from "../../core/ssh/keys.ts";

export const sshd = "/usr/sbin/sshd";
export const missing = [
  ["ssh", "-V"],
  ["ssh-keygen", "-?"],
  [sshd, "-?"],
].filter(([program, flag]) => spawnSync(program as string, [flag as string]).error !== undefined);
export const skip = missing.length > 0;
export const login = userInfo().username;
export const hour = 3_600_000;

let folder = "";
export const path = (name: string): string => join(folder, name);
export const write = (name: string, text: string): string => {
  writeFileSync(path(name), text, { mode: 0o600 });
  return path(name);
};

export interface Outcome {
  readonly code: number | null;
  readonly out: Buffer;
  readonly err: string;
}

export async function run(program: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 15_000 });
  const closed = once(child, "close");
  const [out, err] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  const [code] = (await closed) as [number | null];
  return { code, out, err: err.toString() };
}

export const keyKinds = ["ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa"] as const;
export type KeyKind = (typeof keyKinds)[number];

export function makeKey(kind: KeyKind): KeyObject {
  if (kind === "ed25519") return generateKeyPairSync("ed25519").privateKey;
  if (kind === "rsa") return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  return generateKeyPairSync("ec", { namedCurve: { ecdsa256: "P-256", ecdsa384: "P-384", ecdsa521: "P-521" }[kind] }).privateKey;
}

/** A private key file that OpenSSH reads, and its .pub file. */
export function writeKey(name: string, key: KeyObject): void {
  const type = key.asymmetricKeyType === "rsa" ? "pkcs1" : "sec1";
  write(name, key.asymmetricKeyType === "ed25519" ? toOpensshPrivate(key) : key.export({ format: "pem", type }).toString());
  write(`${name}.pub`, `${publicLine(key, name)}\n`);
}

export const authorities = { user: makeKey("ed25519"), host: makeKey("ed25519"), ec: makeKey("ecdsa256"), rsa: makeKey("rsa") };
export const stranger = makeKey("ed25519");
export const users = Object.fromEntries(keyKinds.map((kind) => [kind, makeKey(kind)])) as Record<KeyKind, KeyObject>;

export interface Wanted {
  readonly type: "user" | "host";
  readonly key: KeyObject;
  readonly authority: KeyObject;
  readonly principals?: readonly string[];
  readonly validBefore?: Date;
}

export function issue({ type, key, authority, principals, validBefore }: Wanted): Buffer {
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

/** Makes the folder with the files of all keys. */
export function writeKeys(): void {
  folder = mkdtempSync(join(tmpdir(), "platform-openssh-"));
  for (const [name, key] of Object.entries(authorities)) writeKey(`ca_${name}`, key);
  for (const [kind, key] of Object.entries(users)) writeKey(kind, key);
}

export function removeKeys(): void {
  rmSync(folder, { recursive: true, force: true });
}
