import { getSystemErrorMap } from "node:util";

/** Messages where libuv differs from the C library, whose texts sshd(8) sends. */
const own: Readonly<Record<string, string>> = {
  EHOSTUNREACH: "No route to host",
  ENOTFOUND: "Name or service not known",
  EAI_NONAME: "Name or service not known",
  EAI_AGAIN: "Temporary failure in name resolution",
  EADDRINUSE: "Address already in use",
};

/** Error of a failed system call, in the words of strerror(3). */
export function systemText(thrown: unknown): string {
  const { code, errno } = thrown as { code?: unknown; errno?: unknown };
  if (typeof code === "string" && own[code] !== undefined) return own[code];
  const text = typeof errno === "number" ? getSystemErrorMap().get(errno)?.[1] : undefined;
  if (text !== undefined) return text.charAt(0).toUpperCase() + text.slice(1);
  return thrown instanceof Error ? thrown.message : String(thrown);
}
