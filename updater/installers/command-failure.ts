import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { CommandResult } from "../run-command.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";

/** Purpose of a command: the same message has different meanings while reading the index and while fetching a package. */
export type Step = "refresh" | "download" | "install" | "other";

interface Sign {
  readonly reason: UpgradeReason;
  readonly text: RegExp;
  /** Omitted for every step. */
  readonly steps?: readonly Step[];
}

/**
 * Failures that package managers report only by text, in their untranslated output (LC_ALL=C.UTF-8). The first that matches counts.
 * Recorded from apt 2.6.1, dnf 4.14, zypper 1.14.42 and their libraries: testing/recorded-failures.ts.
 */
const signs: readonly Sign[] = [
  // apt, dpkg; rpm, dnf
  { reason: "package_manager_busy", text: /could not get lock|unable to (acquire|lock) |locked by another process|can't create transaction lock/i },
  { reason: "package_manager_busy", text: /failed to obtain (the )?(transaction|rpm\S*|metadata) lock|system management is locked by/i },
  { reason: "no_space", text: /no space left on device|disk quota exceeded|(enough|insufficient) (free )?(disk )?space/i },
  { reason: "no_space", text: /\bneeds \S+ (more space|on the \S+ filesystem)|more space needed on the|insufficient space in download/i },
  // A page of a portal in place of the index.
  {
    reason: "repository_unreachable",
    text: /does the network require authentication|got 'NO(DATA|SPLIT)'|gpgme_op_verify\(\) error: No data/,
    steps: ["refresh"],
  },
  { reason: "signature_wrong", text: /GPG error:|signatures? (were|was) invalid|signatures? couldn't be verified|' is not signed\./ },
  { reason: "signature_wrong", text: /is expired \(invalid since|is not valid yet \(invalid for|Hash Sum mismatch|File has unexpected size/ },
  { reason: "signature_wrong", text: /GPG signature verification error|GPG verification is enabled, but|GPG check FAILED|checksum doesn't match/ },
  {
    reason: "signature_wrong",
    text: /Signature verification failed|Package is not signed!|\.rpm is not signed|Digest verification failed|digest: BAD/,
  },
  // Before the missing ones: dnf reports both.
  { reason: "held_by_admin", text: /^E: Held packages were changed|filtered out by exclude filtering|remove lock to allow/m },
  // In the index, but not on the server.
  { reason: "package_missing", text: /^E: Failed to fetch \S+ +404 |Status code: 404 for|not found on medium/m, steps: ["download", "install"] },
  {
    reason: "package_missing",
    text: /^E: Version '.*' for '.*' was not found|^E: Unable to locate package|unable to find a match:|no match for argument:/im,
  },
  { reason: "package_missing", text: /No provider of / },
  {
    reason: "repository_unreachable",
    text: /^E: Failed to fetch |(does not have|no longer has) a Release file|Curl error \(\d+\)|Status code: \d+ for/m,
  },
  {
    reason: "repository_unreachable",
    text: /Failed to download metadata for repo|Cannot download, all mirrors|Valid metadata not found at specified URL/,
  },
  { reason: "repository_unreachable", text: /Download \(curl\) error|Error code: (Connection failed|Curl error)/ },
];

/** Lines without a reason. */
const noise =
  /^(\s*$|Reading |Building |W: |N: |Get:|Hit:|Ign:|Fetched |Loading repository|Retrieving|Last metadata|Importing GPG|\s*(Userid|From|Fingerprint)\s*:)/;
const maxMessage = 400;

/** The failure of a command as an error of the tick. `what` names the failed action: `could not read the repository's index`. */
export function commandFailure(what: string, step: Step, result: CommandResult): UpgradeError {
  if (result.ended === "missing") return new UpgradeError("package_manager_failed", `${what}: the program is not installed on this host`);
  if (result.ended === "limit") {
    const reason = step === "refresh" || step === "download" ? "repository_unreachable" : "package_manager_failed";
    return new UpgradeError(reason, `${what} within its time limit: ${lastLines(result.tail)}`);
  }
  return new UpgradeError(reasonOf(step, result.tail), `${what}: ${lastLines(result.tail) || `exit status ${result.status}`}`);
}

function reasonOf(step: Step, text: string): UpgradeReason {
  const sign = signs.find((one) => (one.steps === undefined || one.steps.includes(step)) && one.text.test(text));
  return sign?.reason ?? "package_manager_failed";
}

/** Its last message, on one line; apt marks its errors, dnf the causes of its last one, the others end with them. */
function lastLines(tail: string): string {
  const lines = tail.split(/[\r\n]+/).filter((line) => !noise.test(line));
  const marked = lines.filter((line) => /^((E|Err(or)?|dpkg: error)\b| {2}- )/.test(line));
  const text = (marked.length > 0 ? marked : lines).slice(-3).map((line) => line.trim());
  return text.join("; ").slice(-maxMessage);
}
