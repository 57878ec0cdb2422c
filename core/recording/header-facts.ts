import { MemberReader } from "./member.ts";

/**
 * Facts in the header of a recording of any format, plain or compressed: its first line is a JSON object whose `platform` has them.
 * Undefined when there are none. Takes the start of the file; never throws.
 */
export function headerFacts(start: Buffer): unknown {
  const text = start[0] === 0x7b ? start : firstMember(start);
  const end = text.indexOf(0x0a);
  try {
    const header: unknown = JSON.parse((end < 0 ? text : text.subarray(0, end)).toString("utf8"));
    return typeof header === "object" && header !== null && "platform" in header ? header.platform : undefined;
  } catch {
    return undefined;
  }
}

function firstMember(start: Buffer): Buffer {
  const reader = new MemberReader();
  const [first] = [...reader.push(start), ...reader.end()];
  return first !== undefined && "text" in first ? first.text : Buffer.alloc(0);
}
