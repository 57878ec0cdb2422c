import { type Capabilities, capability, ofLogin } from "../../../core/databases/mysql/capabilities.ts";

/** MariaDB's extended bits. */
export const extension = { progress: 1, bulk: 1 << 2, extendedMetadata: 1 << 3, cachedMetadata: 1 << 4, bulkResults: 1 << 5 } as const;

/** Bits 0 to 27 have a meaning that this module knows; those below change what a session may do or how its bytes look, and are not offered. */
const relayed = (2 ** 28 - 1) & ~(capability.compress | capability.localFiles | capability.ssl | capability.optionalMetadata | capability.zstd);
const relayedExtensions = extension.progress | extension.bulk | extension.extendedMetadata | extension.cachedMetadata | extension.bulkResults;
export function has({ flags }: Capabilities, bit: number): boolean {
  return (flags & bit) !== 0;
}

export function hasExtension({ extended }: Capabilities, bit: number): boolean {
  return (extended & bit) !== 0;
}

/** The capabilities that a client is offered for a server with these ones. Pure. */
export function offeredFor(server: Capabilities): Capabilities {
  return { flags: ((server.flags & relayed) | ofLogin) >>> 0, extended: (server.extended & relayedExtensions) >>> 0 };
}

/** What a session uses: a client may set bits that it was not offered, but does not use them. Pure. */
export function negotiate(client: Capabilities, offered: Capabilities): Capabilities {
  // The lowest bit states only the kind of client; clients of MySQL have no extended bits.
  const isMysql = has(client, capability.mysql);
  const flags = (client.flags & offered.flags & ~capability.mysql) | (isMysql ? capability.mysql : 0);
  return { flags: flags >>> 0, extended: isMysql ? 0 : (client.extended & offered.extended) >>> 0 };
}

/** Bits of a session that the server does not have: the session was greeted by a different server. Pure. */
export function lacking(server: Capabilities, session: Capabilities): boolean {
  const { flags, extended } = offeredFor(server);
  return (session.flags & ~flags & ~capability.mysql) !== 0 || (session.extended & ~extended) !== 0;
}
