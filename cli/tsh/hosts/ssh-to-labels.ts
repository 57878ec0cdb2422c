import { constants } from "node:os";
import { exitCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import { hostnameText, type Node } from "../../../core/resources/node.ts";
import type { Call } from "../../command.ts";
import { makePrivateFolder } from "../../make-private-folder.ts";
import { isReaderGone, lostOutput, type Result, textResult } from "../../output.ts";
import { defaultLogin, type Profile } from "../../profile/profile.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { reachableHosts } from "../ls.ts";
import type { SshSettings } from "../ssh-settings.ts";
import type { LabelTarget } from "../ssh-target.ts";
import { sshToHost } from "../ssh-to-host.ts";
import { nameHosts, type RunOutcome, runOnHosts } from "./run-on-hosts.ts";

export interface LabelsAsk extends LabelTarget {
  readonly profile: Profile;
  readonly command: string | undefined;
  readonly settings: SshSettings;
}

const defaultParallel = 10;
const maxParallel = 100;

/** `tsh ssh user@env=staging command…`: a single matching host is treated like that host by name, several all run the command. */
export async function sshToLabels(call: Call, ask: LabelsAsk): Promise<Result> {
  const { profile, labels, command, settings } = ask;
  const { io, options } = call;
  const parallel = parallelOption(options.text("parallel"));
  const nodes = await reachableHosts(io, profile, { labels, search: [], query: "" });
  for (const { spec } of nodes) hostnameText.parse(spec.hostname);
  const [only, second] = nodes;
  if (only === undefined) throw noHost(labels);
  if (second === undefined) return await sshToHost(call, { ...ask, target: only.metadata.name, name: only.spec.hostname });
  if (command === undefined) throw severalHosts("a shell", nodes);
  for (const [what, isAsked] of forOneHost) if (isAsked(settings)) throw severalHosts(what, nodes);
  const login = ask.login ?? defaultLogin(profile.facts);
  const logDir = options.text("logDir");
  if (logDir !== undefined) await makePrivateFolder(logDir, "--log-dir");
  const ran = await runOnHosts(nameHosts(nodes), { profile, login, command, settings, parallel, prefixed: options.flag("prefix"), logDir }, io);
  const { lines, status } = summarize(ran, nodes.length);
  return { ...textResult("", lines), status };
}

/** Options that need a single host, and do not apply to a command on many. */
const forOneHost: readonly (readonly [what: string, isAsked: (settings: SshSettings) => boolean])[] = [
  ["a terminal (-t)", ({ tty }) => tty === "wanted" || tty === "forced"],
  ["-L", ({ forwards }) => forwards.local.length > 0],
  ["-R", ({ forwards }) => forwards.remote.length > 0],
  ["-D", ({ forwards }) => forwards.dynamic.length > 0],
  ["-N", ({ isForwardOnly }) => isForwardOnly],
  ["-A", ({ agent }) => agent],
  ["-X", ({ x11 }) => x11 === "untrusted"],
  ["-Y", ({ x11 }) => x11 === "trusted"],
  ["a subsystem (-s)", ({ isSubsystem }) => isSubsystem],
];

function noHost(labels: LabelTarget["labels"]): PlatformError {
  return new PlatformError("not_found", `no host that you may reach has the labels ${renderLabels(labels)}`, {
    hint: "tsh ls shows the hosts and their labels",
  });
}

function severalHosts(what: string, nodes: readonly Node[]): PlatformError {
  return new PlatformError("invalid", `${what} is for one host, and ${nodes.length} hosts match`, {
    hint: `name one of them, or give a command to run on all:\n${candidatesTable(nodes)}`,
  });
}

function parallelOption(text: string | undefined): number {
  if (text === undefined) return defaultParallel;
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maxParallel) return number;
  throw new PlatformError("invalid", `--parallel: ${JSON.stringify(text)} is not a number of hosts`, { hint: `give 1 to ${maxParallel}` });
}

const maxShown = 20;
const maxCell = 60;

/** A table of the candidate hosts, cut when there are many. */
export function candidatesTable(nodes: readonly Node[]): string {
  const rows = nodes
    .slice(0, maxShown)
    .map(({ metadata, spec, status }) => [
      spec.hostname,
      metadata.name,
      status?.connected === true ? "⟵ Tunnel" : "(offline)",
      renderLabels(metadata.labels),
    ]);
  const more = nodes.length > maxShown ? `\n… and ${nodes.length - maxShown} more` : "";
  return renderTable(["Node Name", "Node ID", "Address", "Labels"], rows, maxCell) + more;
}

interface Summary {
  /** The highest status: 0 when all went well. */
  readonly status: number;
  /** Lines for people; none when all went well. */
  readonly lines: readonly string[];
}

/** Maximum number of hosts listed by name. */
const maxNamed = 100;

/** The failed hosts, their errors, and the exit status of the command; a reader that left is not a failure to report. Pure. */
export function summarize({ outcomes, lost }: RunOutcome, hosts: number): Summary {
  if (lost !== undefined && isReaderGone(lost)) return { status: 128 + constants.signals.SIGPIPE, lines: [] };
  const failed = outcomes.filter(({ status }) => status !== 0);
  const left = hosts - outcomes.length;
  const unwritten = lost === undefined ? [] : [lostOutput(lost)];
  const status = Math.max(0, ...outcomes.map((outcome) => outcome.status), ...unwritten.map(({ code }) => exitCodes[code]));
  const lines = unwritten.map(({ message }) => message);
  if (failed.length === 0 && left === 0) return { status, lines };
  const named = failed.slice(0, maxNamed).map(({ host, status: own, error }) => `  ${host.name}: ${error?.message ?? `exit status ${own}`}`);
  const more = failed.length > maxNamed ? [`  … and ${failed.length - maxNamed} more`] : [];
  const notBegun = left > 0 ? `; ${left} not started` : "";
  return { status, lines: [...lines, `${failed.length} of ${hosts} hosts failed${notBegun}:`, ...named, ...more] };
}
