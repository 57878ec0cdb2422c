import { encodeError, errorReply } from "../../../core/databases/redis/error-reply.ts";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import type { ClusterView } from "./cluster/cluster-view.ts";

const toMember = /^-(MOVED|ASK) (\d+) (\S{1,270})/;
const toPrimary = /^-REDIRECT (\S{1,255})/;

/**
 * What a client gets in place of an error that sends it to another server, which it cannot reach: another member of a cluster, or the primary of a
 * replica. It names that one, so that the user finds the database that leads there. With a view of the cluster it leads to the member's local port.
 * Undefined: the error is another one.
 */
export function redirectionError(line: Buffer, view?: ClusterView): Buffer | undefined {
  const text = line.toString("latin1");
  const [, kind = "", slot = "", member] = toMember.exec(text) ?? [];
  if (member !== undefined && view !== undefined) return localRedirection(`-${kind} ${slot} `, member, view);
  if (member !== undefined)
    return encodeError(
      "ERR",
      `the key is on another member of the cluster, ${member}: use the database that is offered for that one, if there is one`,
    );
  const [, primary] = toPrimary.exec(text) ?? [];
  if (primary === undefined) return undefined;
  return encodeError("ERR", `the server is a replica of ${primary}: use the database that is offered for that one, if there is one`);
}

function localRedirection(opening: string, member: string, view: ClusterView): Buffer {
  const colon = member.lastIndexOf(":");
  try {
    return Buffer.concat([Buffer.from(opening), view.address(member.slice(0, Math.max(0, colon)), member.slice(colon + 1)), Buffer.from("\r\n")]);
  } catch (thrown) {
    return errorReply(toPlatformError(thrown));
  }
}
