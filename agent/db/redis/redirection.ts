import { encodeError } from "../../../core/databases/redis/error-reply.ts";

const toMember = /^-(?:MOVED|ASK) \d+ (\S{1,255})/;
const toPrimary = /^-REDIRECT (\S{1,255})/;

/**
 * What a client gets in place of an error that sends it to another server, which it cannot reach: another member of a cluster, or the primary of a
 * replica. It names that one, so that the user finds the database that leads there. Undefined: the error is another one. Pure.
 */
export function redirectionError(line: Buffer): Buffer | undefined {
  const text = line.toString("latin1");
  const [, member] = toMember.exec(text) ?? [];
  if (member !== undefined)
    return encodeError(
      "ERR",
      `the key is on another member of the cluster, ${member}: use the database that is offered for that one, if there is one`,
    );
  const [, primary] = toPrimary.exec(text) ?? [];
  if (primary === undefined) return undefined;
  return encodeError("ERR", `the server is a replica of ${primary}: use the database that is offered for that one, if there is one`);
}
