import { encodeMember } from "../../core/recording/member.ts";

/** A part of a recording's file, as an agent writes it. */
export function memberOf(text: string | Buffer, number: number): Buffer {
  return encodeMember(Buffer.from(text), number);
}

/** A recording's file, in which each text is a part. */
export function memberFile(texts: readonly string[]): Buffer {
  return Buffer.concat(texts.map(memberOf));
}
