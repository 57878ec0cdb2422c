import { readFileSync } from "node:fs";

/*
 * Arguments are bytes, and Node decodes them as UTF-8: invalid UTF-8 would become U+FFFD, and name another file. Where Linux still has the
 * bytes, such a byte becomes a lone surrogate (U+DC80 to U+DCFF, like Python's surrogateescape), which UTF-8 never contains.
 */

const replacement = "\ufffd";
const [lowest, highest] = [0xdc80, 0xdcff];

/** This process's arguments, without loss for those that are not UTF-8. `bytesOf` returns the bytes. */
export function rawArguments(args: readonly string[]): readonly string[] {
  if (!args.some((arg) => arg.includes(replacement))) return args;
  try {
    return withRawBytes(args, readFileSync("/proc/self/cmdline"));
  } catch {
    // Not Linux.
    return args;
  }
}

/** Pure. `commandLine`: all arguments, a NUL after each, the wanted ones last. An argument that does not match stays unchanged. */
export function withRawBytes(args: readonly string[], commandLine: Buffer): readonly string[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < commandLine.length; ) {
    const end = commandLine.indexOf(0, from);
    parts.push(commandLine.subarray(from, end < 0 ? commandLine.length : end));
    from = end < 0 ? commandLine.length : end + 1;
  }
  const last = args.length === 0 ? [] : parts.slice(-args.length);
  const fits = last.length === args.length && last.every((part, index) => part.toString("utf8") === args[index]);
  return fits ? last.map(textOf) : args;
}

/** Text that holds these bytes without loss. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)));
    text += length === undefined ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0)) : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return text;
}

function isUtf8(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
}

/** The bytes of an argument. */
export function bytesOf(text: string): Buffer {
  const parts: Buffer[] = [];
  let plain = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < lowest || code > highest) {
      plain += character;
      continue;
    }
    parts.push(Buffer.from(plain), Buffer.of(code - 0xdc00));
    plain = "";
  }
  return Buffer.concat([...parts, Buffer.from(plain)]);
}
