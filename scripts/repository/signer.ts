import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { run } from "../build/run.ts";

export interface SigningKeys {
  /** A file with secret keys, or a folder of gpg that holds them. */
  readonly key?: string;
  readonly gnupghome?: string;
  /** Keys to sign with, in this order; all secret keys when empty. rpms carry the first one's signature alone. */
  readonly signWith?: readonly string[];
  /** File that holds the passphrase, when the keys have one. */
  readonly passphraseFile?: string;
}

export interface Signer extends AsyncDisposable {
  /** Fingerprints of the keys that sign, the first one first. */
  readonly fingerprints: readonly string[];
  /** All public keys of the folder, armored: also those that do not sign yet, or no more. */
  publicKeys(): Promise<string>;
  clearsign(file: string, output: string): Promise<void>;
  detachedSign(file: string, output: string): Promise<void>;
  signRpm(file: string): Promise<void>;
  /** Whether one of the keys that sign has signed this rpm. */
  hasSigned(rpm: string): Promise<boolean>;
}

/** Opens the keys of a repository, and signs with each once: one that is locked is noticed before any work. Ends what it has started when it is disposed of. */
export async function openSigner(keys: SigningKeys): Promise<Signer> {
  const made = keys.gnupghome === undefined ? await mkdtemp(join(tmpdir(), "platform-gpg-")) : undefined;
  const home = keys.gnupghome ?? made ?? "";
  const close = async (): Promise<void> => {
    if (made === undefined) return;
    await run("gpgconf", ["--homedir", made, "--kill", "all"]);
    await rm(made, { recursive: true, force: true });
  };
  try {
    if (made !== undefined) {
      if (keys.key === undefined) throw new Error("a repository needs keys: --key FILE or --gnupghome DIR");
      await gpg(home, keys, ["--import", keys.key]);
    }
    const fingerprints = await signingFingerprints(home, keys);
    for (const fingerprint of fingerprints) await trySigning(home, keys, fingerprint);
    return { ...signing(home, keys, fingerprints), fingerprints, [Symbol.asyncDispose]: close };
  } catch (failure) {
    await close();
    throw failure;
  }
}

function signing(home: string, keys: SigningKeys, fingerprints: readonly string[]) {
  const users = fingerprints.flatMap((fingerprint) => ["--local-user", fingerprint]);
  const sign = async (how: readonly string[], file: string, output: string): Promise<void> => {
    await gpg(home, keys, ["--digest-algo", "SHA512", ...users, "--output", output, ...how, file]);
  };
  return {
    publicKeys: () => gpg(home, keys, ["--armor", "--export"]),
    clearsign: (file: string, output: string) => sign(["--clearsign"], file, output),
    detachedSign: (file: string, output: string) => sign(["--armor", "--detach-sign"], file, output),
    signRpm: async (file: string): Promise<void> => {
      const passphrase = keys.passphraseFile === undefined ? "" : ` --passphrase-file ${keys.passphraseFile}`;
      const values = { _gpg_name: fingerprints[0] ?? "", _gpg_path: home, __gpg: "/usr/bin/gpg" };
      const extra = ["--define", `_gpg_sign_cmd_extra_args --batch --pinentry-mode loopback${passphrase}`];
      const defines = Object.entries(values).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
      await run("rpmsign", [...defines, ...extra, "--resign", file], { env: { HOME: home } });
    },
    hasSigned: async (file: string): Promise<boolean> => {
      const signature = await run("rpm", ["-qp", "--qf", "%{RSAHEADER:pgpsig}%{DSAHEADER:pgpsig}", file], { env: { HOME: home } });
      const keyId = /Key ID ([0-9a-f]{16})/i.exec(signature)?.[1]?.toUpperCase();
      return keyId !== undefined && (await keyIds(home, keys, fingerprints)).includes(keyId);
    },
  };
}

/** Identifiers of the keys and their subkeys, sixteen digits. */
async function keyIds(home: string, keys: SigningKeys, fingerprints: readonly string[]): Promise<string[]> {
  const listing = await gpg(home, keys, ["--with-colons", "--list-keys", ...fingerprints]);
  return [...listing.matchAll(/^(?:pub|sub):[^:]*:[^:]*:[^:]*:([0-9A-F]{16}):/gm)].flatMap((match) => match[1] ?? []);
}

async function signingFingerprints(home: string, keys: SigningKeys): Promise<string[]> {
  const wanted = keys.signWith ?? [];
  const found: string[] = [];
  for (const name of wanted.length === 0 ? [""] : wanted) {
    const listing = await gpg(home, keys, ["--with-colons", "--list-secret-keys", ...(name === "" ? [] : [name])]);
    found.push(...[...listing.matchAll(/^sec:.*\n(?:(?!sec:|ssb:).*\n)*?fpr:+([0-9A-F]+):/gm)].flatMap((match) => match[1] ?? []));
  }
  if (found.length === 0) throw new Error("there is no secret key to sign with");
  return found;
}

/** Throws when the key has a passphrase that was not given, or has another one. */
async function trySigning(home: string, keys: SigningKeys, fingerprint: string): Promise<void> {
  // Standard input is empty; what is signed does not matter.
  const args = ["--status-fd", "2", "--local-user", fingerprint, "--output", "-", "--armor", "--detach-sign"];
  const { key, gnupghome, passphraseFile } = keys;
  const where = `the key ${fingerprint} in ${key ?? gnupghome}`;
  try {
    await gpg(home, keys, args);
  } catch (failure) {
    const status = failure instanceof Error && "stderr" in failure ? String(failure.stderr) : "";
    if (passphraseFile !== undefined && /^\[GNUPG:\] FAILURE sign (\d+)$/m.exec(status)?.[1] === badPassphrase) {
      throw new Error(`${where} has another passphrase than the one in ${passphraseFile}`, { cause: failure });
    }
    if (passphraseFile === undefined && /^\[GNUPG:\] NEED_PASSPHRASE /m.test(status)) {
      const hint = "write it into a file that only you can read, and give --passphrase-file FILE (make repository PASSPHRASE_FILE=FILE)";
      throw new Error(`${where} has a passphrase: ${hint}`, { cause: failure });
    }
    throw new Error(`could not sign with ${where}: ${status.replace(/^\[GNUPG:\].*\n/gm, "").trim() || String(failure)}`, { cause: failure });
  }
}

/** gpg-agent (source 4) and GPG_ERR_BAD_PASSPHRASE (11), as gpg adds them up. */
const badPassphrase = String((4 << 24) + 11);

async function gpg(home: string, keys: SigningKeys, args: readonly string[]): Promise<string> {
  const passphrase = keys.passphraseFile === undefined ? [] : ["--passphrase-file", keys.passphraseFile];
  const always = ["--homedir", home, "--batch", "--yes", "--quiet", "--no-tty", "--pinentry-mode", "loopback", ...passphrase];
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", HOME: home };
  const running = promisify(execFile)("gpg", [...always, ...args], { env, maxBuffer: 1024 * 1024 });
  running.child.stdin?.end();
  return (await running).stdout;
}
