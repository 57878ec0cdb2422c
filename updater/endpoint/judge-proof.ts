import { openStatement, type UpgradeStatement } from "../../core/versions/upgrade-statement.ts";

export interface ProofFacts {
  /** The endpoint's answer: the version, and the statement that the auth service has signed. */
  readonly version: string;
  readonly signed: string | undefined;
  /** Omitted when the agent has not joined, or for an admin's `force`, which asks for no host. */
  readonly host: string | undefined;
  /** The channel as in the endpoint's path. */
  readonly channel: string;
  /** Lines of the file `authorities`, which the agent writes. */
  readonly keys: readonly string[];
  /** Time of the last accepted statement, Unix seconds; omitted when this host has not seen one. */
  readonly last: number | undefined;
  /** Unix seconds. */
  readonly now: number;
}

/**
 * Proof of the endpoint's answer: from the auth service (`signed`, and whether it calls the version critical); none, as with a cluster
 * that does not sign or before the agent has joined (`unsigned`: accepted, and reported); or weaker than this host has seen before (`refused`).
 */
export type Proof =
  | { readonly kind: "signed"; readonly critical: boolean; readonly issued: number }
  | { readonly kind: "unsigned" | "refused"; readonly detail: string };

/** Maximum difference between the clocks of host and auth service, and maximum age of a statement against the previous one, seconds. */
const skew = 600;

/** Pure. */
export function judgeProof({ version, signed, host, channel, keys, last, now }: ProofFacts): Proof {
  const without = (why: string): Proof =>
    last === undefined
      ? { kind: "unsigned", detail: `${why}: accepted, because this host has not seen a signed one yet` }
      : { kind: "refused", detail: `${why}, but this host has seen signed ones: the proxy alone may not order versions` };
  if (host === undefined) return without("the answer is for no host in particular, so the auth service has not signed it");
  if (signed === undefined) return without("the auth service has not signed the answer");
  if (keys.length === 0) return without("the agent has not written the cluster's keys, so the answer's signature cannot be checked");
  const statement = openStatement(signed, keys);
  if (statement === undefined) return { kind: "refused", detail: "the answer is not signed by a key of this cluster" };
  const why = misfit(statement, { version, host, channel }) ?? untimely(statement, { last, now });
  return why === undefined
    ? { kind: "signed", critical: statement.critical, issued: statement.issued }
    : { kind: "refused", detail: `the auth service's signature is ${why}` };
}

function misfit(statement: UpgradeStatement, { version, host, channel }: { version: string; host: string; channel: string }): string | undefined {
  if (statement.host !== host) return "for another host";
  if (statement.channel !== channel) return `for channel ${statement.channel}`;
  return statement.version.replace(/^v/, "") === version ? undefined : `for ${statement.version}, and the answer is ${version}`;
}

function untimely({ issued, expires }: UpgradeStatement, { last, now }: Pick<ProofFacts, "last" | "now">): string | undefined {
  if (now > expires + skew) return "too old, or this host's clock is fast";
  if (now < issued - skew) return "of the future: this host's clock is slow";
  return last !== undefined && issued < last - skew ? "older than one that this host has seen" : undefined;
}
