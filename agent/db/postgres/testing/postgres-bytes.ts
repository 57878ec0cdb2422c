import { u32 } from "../../../../core/bytes/fields.ts";
import { encodeMessage } from "../error-response.ts";

/** Messages as clients and servers send them. */

/** Also of bytes in another encoding than UTF-8. */
type Name = string | Buffer;

const text = (value: Name): Buffer => Buffer.concat([Buffer.from(value), Buffer.of(0)]);
const u16 = (value: number): Buffer => Buffer.of(value >> 8, value & 255);

export const query = (sql: string): Buffer => encodeMessage("Q", text(sql));
export const parse = (name: Name, sql: string): Buffer => encodeMessage("P", Buffer.concat([text(name), text(sql), u16(0)]));
export const execute = (portal: Name): Buffer => encodeMessage("E", Buffer.concat([text(portal), u32(0)]));
export const close = (kind: "S" | "P", name: string): Buffer => encodeMessage("C", text(kind + name));
export const describe = (kind: "S" | "P", name: string): Buffer => encodeMessage("D", text(kind + name));
export const sync: Buffer = encodeMessage("S", Buffer.alloc(0));
export const terminate: Buffer = encodeMessage("X", Buffer.alloc(0));

/** Formats and values as they stand in Bind and FunctionCall. */
export function parameters(values: readonly (Buffer | string | null)[], formats: readonly number[] = []): Buffer {
  const each = values.map((value) => {
    if (value === null) return u32(0xffff_ffff);
    const bytes = Buffer.from(value);
    return Buffer.concat([u32(bytes.length), bytes]);
  });
  return Buffer.concat([u16(formats.length), ...formats.map(u16), u16(values.length), ...each]);
}

export function bind(portal: Name, statement: Name, values: Buffer = parameters([])): Buffer {
  return encodeMessage("B", Buffer.concat([text(portal), text(statement), values, u16(0)]));
}

export const call = (oid: number, values: Buffer): Buffer => encodeMessage("F", Buffer.concat([u32(oid), values, u16(1)]));
export const authenticationOk: Buffer = encodeMessage("R", u32(0));
export const keyData = (pid: number, secret: Buffer): Buffer => encodeMessage("K", Buffer.concat([u32(pid), secret]));
export const ready: Buffer = encodeMessage("Z", Buffer.from("I"));
export const complete = (tag: string): Buffer => encodeMessage("C", text(tag));
export const failed = (state: string, message: string, severity = "ERROR"): Buffer =>
  encodeMessage("E", Buffer.concat([text(`S${severity}`), text(`V${severity}`), text(`C${state}`), text(`M${message}`), Buffer.of(0)]));

/** The same bytes in any pieces. */
export function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
