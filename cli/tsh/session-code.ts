import { X509Certificate } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import type { TLSSocket } from "node:tls";
import { ReadStream, WriteStream } from "node:tty";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { askSecrets } from "../ask.ts";
import type { CliIo } from "../io.ts";
import type { Profile } from "../profile/profile.ts";
import { withAuth } from "../profile/reach-cluster.ts";
import { newKeys } from "../secrets.ts";
import { openStream, type StreamAsk } from "./open-stream.ts";

/* Where roles demand a one-time code for each session, the code is asked for on the terminal, and certificates for this session stay in memory. */

/** What a code is for. */
export interface CodeTarget {
  /** `ssh`, a kind of service that agents serve, or `join`. */
  readonly kind: string;
  readonly name: string;
  /** Unix login on a host: of several with this name, the one that the user may log in to as this. Left out: any. */
  readonly login?: string;
  /** The only account there; left out: any. */
  readonly account?: string;
  /** For the prompt; left out: `name`. */
  readonly shown?: string;
}

export function isMfaRequired(thrown: unknown): boolean {
  return thrown instanceof PlatformError && thrown.code === "mfa_required";
}

/** A stream, and the login with which it was opened: the profile's, or one for this session that a code has confirmed. */
export interface ConfirmedStream {
  readonly stream: TLSSocket;
  readonly profile: Profile;
}

/** A stream for one connection of SSH. Asks for a code where the cluster demands one. Throws as `openStream` and `confirmedProfile` do. */
export async function openConfirmed<Kind extends "ssh" | "join">(io: CliIo, ask: StreamAsk<Kind>, shown = ask.target): Promise<ConfirmedStream> {
  try {
    return { stream: await openStream(io, ask), profile: ask.profile };
  } catch (thrown) {
    if (!isMfaRequired(thrown)) throw thrown;
  }
  const { login = "" }: { readonly login?: string } = ask.parameters;
  const profile = await confirmedProfile(io, ask.profile, { kind: ask.kind, name: ask.target, login, shown });
  return { stream: await openStream(io, { ...ask, profile }), profile };
}

/** The same login with certificates that a code has confirmed. Throws `mfa_required` without a terminal, and the errors of the auth service. */
export async function confirmedProfile(io: CliIo, profile: Profile, target: CodeTarget): Promise<Profile> {
  const { kind, name, login = "", account = "", shown = name } = target;
  const code = await inTurn(() => askCode(io, shown));
  const keys = newKeys();
  const request = { kind, name, login, account, code: code.replaceAll(" ", ""), sshPublicKey: keys.sshPublic, tlsPublicKey: keys.tlsPublic };
  const answer = await withAuth(io, profile, async (client) => await client.signSession(request));
  const identity = fromX509Certificate(new X509Certificate(answer.tlsCertificate));
  if (identity.kind !== "user" || identity.mfa?.kind !== kind || identity.mfa.name !== answer.name) {
    throw new PlatformError("unavailable", `the auth service sent another certificate than the one for a session with ${shown}`);
  }
  const { sshCertificate, tlsCertificate } = answer;
  const own = profile.own ?? { certificate: profile.secrets.tlsCertificate, privateKey: profile.secrets.tlsPrivateKey };
  const secrets = { sshPrivateKey: keys.sshPrivate, sshCertificate, tlsPrivateKey: keys.tlsPrivate, tlsCertificate };
  return { ...profile, secrets, own, certificates: [] };
}

let last: Promise<unknown> = Promise.resolve();

/** One prompt after the other: a command may open several sessions at once. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = last.then(work);
  last = result.catch(() => {});
  return await result;
}

/** On the terminal, also where standard input or error is a file or a pipe: its bytes are for, or of, the session. */
async function askCode(io: CliIo, shown: string): Promise<string> {
  const question = `Enter the code of your authenticator for ${shown}`;
  const hasTerminal = io.stdin.isTTY === true && io.stderr.isTTY === true;
  using terminal = hasTerminal ? undefined : openTerminal();
  const asked = terminal === undefined ? io : { ...io, stdin: terminal.input, stderr: terminal.output };
  if (asked.stdin.isTTY === true) return (await askSecrets(asked, [question]))[0] ?? "";
  throw new PlatformError("mfa_required", `a session with ${shown} needs a one-time code, but tsh has no terminal to ask on`, {
    hint: "run this command on a terminal",
  });
}

/** The terminal of this process; undefined: it has none. */
function openTerminal() {
  let opened: number[] = [];
  try {
    opened = [openSync("/dev/tty", "r"), openSync("/dev/tty", "w")];
    const [input = 0, output = 0] = opened;
    const streams = { input: new ReadStream(input), output: new WriteStream(output) };
    return {
      ...streams,
      [Symbol.dispose]: () => {
        streams.input.destroy();
        streams.output.destroy();
      },
    };
  } catch {
    for (const one of opened) closeSync(one);
    return undefined;
  }
}
