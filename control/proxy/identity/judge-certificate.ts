interface Validity {
  readonly from: Date;
  readonly until: Date;
}

/** Why a certificate does not replace the one in use; undefined: it does. Without a valid one in use, any is accepted. Pure. */
export function judgeCertificate(candidate: Validity, used: Validity | undefined, now: Date): string | undefined {
  if (used === undefined || !isGood(used, now) || isGood(candidate, now)) return undefined;
  const fault =
    candidate.until.getTime() <= now.getTime()
      ? `it expired at ${candidate.until.toISOString()}`
      : `it is not valid before ${candidate.from.toISOString()}`;
  return `${fault}, and the one in use is valid until ${used.until.toISOString()}`;
}

function isGood({ from, until }: Validity, now: Date): boolean {
  return from.getTime() <= now.getTime() && now.getTime() < until.getTime();
}
