import { Reader } from "../bytes/reader.ts";
import { string } from "../bytes/writer.ts";
import { PlatformError } from "../errors/platform-error.ts";

/** OpenSSH's SSHKEY_CERT_MAX_PRINCIPALS. */
const mostPrincipals = 256;

/** The content of the principals field: string, string, … */
export function readPrincipals(bytes: Buffer): readonly string[] {
  const reader = new Reader(bytes);
  const principals: string[] = [];
  while (!reader.done) {
    if (principals.length === mostPrincipals) throw new PlatformError("invalid", `SSH certificate of more than ${mostPrincipals} principals`);
    principals.push(reader.text());
  }
  return principals;
}

export function writePrincipals(principals: readonly string[]): Buffer {
  return Buffer.concat(principals.map((principal) => string(principal)));
}

/** The content of the critical options and of the extensions. Names come in ascending order, each once; data is empty or holds one string. */
export function readOptions(bytes: Buffer): ReadonlyMap<string, string> {
  const reader = new Reader(bytes);
  const options = new Map<string, string>();
  let previous: Buffer | undefined;
  while (!reader.done) {
    const name = reader.string();
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) {
      throw new PlatformError("invalid", "SSH certificate with options out of order");
    }
    previous = name;
    options.set(new Reader(string(name)).text(), readOptionData(reader.string()));
  }
  return options;
}

function readOptionData(data: Buffer): string {
  if (data.length === 0) return "";
  const reader = new Reader(data);
  const text = reader.text();
  reader.end("option of an SSH certificate");
  return text;
}

export function writeOptions(options: ReadonlyMap<string, string>): Buffer {
  const sorted = [...options].map(([name, value]) => ({ name: Buffer.from(name), value })).sort((a, b) => Buffer.compare(a.name, b.name));
  return Buffer.concat(sorted.flatMap(({ name, value }) => [string(name), string(value === "" ? "" : string(value))]));
}
