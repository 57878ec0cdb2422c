import { constants } from "node:os";

/** Exit status as in a shell: 128 + number for a signal, 255 for one that this system does not know. Undefined: neither was reported. */
export function exitStatus(code: number | null | undefined, signal: string | undefined): number | undefined {
  if (typeof code === "number") return code & 0xff;
  if (signal === undefined) return undefined;
  const number = (constants.signals as Readonly<Record<string, number>>)[signal.startsWith("SIG") ? signal : `SIG${signal}`];
  return number === undefined ? 255 : 128 + number;
}
