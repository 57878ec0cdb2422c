import { Readable } from "node:stream";
import { exitCodes, type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { openSshStream } from "../open-stream.ts";
import { sshOver } from "../ssh-over.ts";
import type { SshSettings } from "../ssh-settings.ts";
import { type HostOutput, openHostOutput } from "./host-output.ts";

export interface RunAsk {
  readonly profile: Profile;
  readonly login: string;
  readonly command: string;
  readonly settings: SshSettings;
  /** Number of hosts at a time. */
  readonly parallel: number;
  readonly prefixed: boolean;
  readonly logDir: string | undefined;
}

/** The result on one host. */
export interface HostOutcome {
  readonly host: NamedHost;
  /** Status of the command, or of the failure that kept it from running. */
  readonly status: number;
  /** The reason why it did not run, or why its output was not saved. */
  readonly error?: PlatformError | undefined;
}

export interface RunOutcome {
  /** Results of the started hosts, in order. */
  readonly outcomes: readonly HostOutcome[];
  /** Our output takes no more (its reader is gone, or a write failed): no more hosts were started, like a shell's pipeline. */
  readonly lost: Error | undefined;
}

/** Runs one command on each host, several at a time, in order. Never throws for a failed host. */
export async function runOnHosts(hosts: readonly NamedHost[], ask: RunAsk, io: CliIo): Promise<RunOutcome> {
  const outcomes: HostOutcome[] = [];
  let lost: Error | undefined;
  const onLost = (cause: Error): void => {
    lost ??= cause;
  };
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < hosts.length && lost === undefined; index = next++) {
      const host = hosts[index];
      if (host !== undefined) outcomes[index] = await runOn(host, ask, { io, onLost });
    }
  };
  await Promise.all(Array.from({ length: Math.min(ask.parallel, hosts.length) }, work));
  return { outcomes: outcomes.filter((outcome) => outcome !== undefined), lost };
}

async function runOn(host: NamedHost, ask: RunAsk, { io, onLost }: { io: CliIo; onLost: (cause: Error) => void }): Promise<HostOutcome> {
  const { name } = host;
  const common = { name, prefixed: ask.prefixed, logDir: ask.logDir, onLost };
  const outputs = await Promise.all([
    openHostOutput({ ...common, to: io.stdout, stream: "stdout" }),
    openHostOutput({ ...common, to: io.stderr, stream: "stderr" }),
  ]);
  const ran = await attempt(host, ask, { io, outputs }).catch((thrown: unknown): HostOutcome => {
    const error = toPlatformError(thrown);
    return { host, status: exitCodes[error.code], error };
  });
  const [lost, lostErrors] = await Promise.all(outputs.map((output) => output.end()));
  const unkept = lost ?? lostErrors;
  if (unkept === undefined || ran.error !== undefined) return ran;
  return { host, status: Math.max(ran.status, exitCodes[unkept.code]), error: unkept };
}

interface Wired {
  readonly io: CliIo;
  readonly outputs: readonly [out: HostOutput, err: HostOutput];
}

async function attempt(host: NamedHost, { profile, login, command, settings }: RunAsk, { io, outputs: [out, err] }: Wired): Promise<HostOutcome> {
  const stream = await openSshStream(io, { profile, target: host.id, login });
  const forwards = { local: [], remote: [], dynamic: [] };
  const lend = { agent: false, x11: undefined };
  const session = { command, pty: false, host: host.name, settings };
  const own: CliIo = { ...io, stdin: Readable.from([]), stdout: out.stream, stderr: err.stream };
  const status = await sshOver(stream, { profile, login, principal: host.id, session, lend, forwards, isForwardOnly: false }, own);
  return { host, status };
}

interface NamedHost {
  readonly id: string;
  /** Its name, followed by the id where several have that name. Usable as a file name. */
  readonly name: string;
}

/** Gives every host a unique name. Pure. */
export function nameHosts(nodes: readonly Node[]): readonly NamedHost[] {
  const count = new Map<string, number>();
  for (const { spec } of nodes) count.set(key(spec.hostname), (count.get(key(spec.hostname)) ?? 0) + 1);
  const named = nodes.map(({ metadata, spec }) => {
    const isAlone = count.get(key(spec.hostname)) === 1;
    return { id: metadata.name, name: isAlone ? spec.hostname : `${spec.hostname}.${metadata.name}` };
  });
  // The name of a host may equal another one's name with its id.
  return new Set(named.map(({ name }) => key(name))).size === named.length ? named : named.map(({ id }) => ({ id, name: id }));
}

/** Names differ in more than case: some file systems ignore case. */
function key(name: string): string {
  return name.toLowerCase();
}
