/** An index that a Release file vouches for. */
export interface IndexFile {
  /** Relative to the Release file. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface ReleaseInput {
  readonly suite: string;
  readonly architectures: readonly string[];
  readonly date: Date;
  /** After this apt refuses the index: what a man in the middle holds back is noticed. */
  readonly validUntil: Date;
  readonly indexes: readonly IndexFile[];
}

/** The Release file of an apt suite (wiki.debian.org/DebianRepository/Format). */
export function releaseText({ suite, architectures, date, validUntil, indexes }: ReleaseInput): string {
  const fields = {
    Origin: "platform",
    Label: "platform",
    Suite: suite,
    Codename: suite,
    Date: rfc2822(date),
    "Valid-Until": rfc2822(validUntil),
    "Acquire-By-Hash": "yes",
    Architectures: architectures.join(" "),
    Components: "main",
    Description: `access platform, ${suite}`,
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  const sums = indexes.map(({ path, size, sha256 }) => ` ${sha256} ${String(size).padStart(10)} ${path}\n`);
  return [...head, "SHA256:\n", ...sums].join("");
}

function rfc2822(date: Date): string {
  return date.toUTCString().replace("GMT", "UTC");
}
