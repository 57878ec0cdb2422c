/** Bits that both sides exchange; the names are those of the protocol, without `CLIENT_`. */
export const capability = {
  /** Clear in the greeting of a MariaDB server: its extended bits follow. */
  mysql: 1,
  connectWithDb: 1 << 3,
  compress: 1 << 5,
  localFiles: 1 << 7,
  protocol41: 1 << 9,
  ssl: 1 << 11,
  secureConnection: 1 << 15,
  pluginAuth: 1 << 19,
  connectAttributes: 1 << 20,
  lenencAuth: 1 << 21,
  deprecateEof: 1 << 24,
  optionalMetadata: 1 << 25,
  zstd: 1 << 26,
  queryAttributes: 1 << 27,
} as const;

/** MariaDB's extended bits. */
export const extension = { progress: 1, bulk: 1 << 2, extendedMetadata: 1 << 3, cachedMetadata: 1 << 4, bulkResults: 1 << 5 } as const;

export interface Capabilities {
  /** Unsigned 32 bits. */
  readonly flags: number;
  /** MariaDB's further 32 bits; 0 for MySQL. */
  readonly extended: number;
}

/** Bits 0 to 27 have a meaning that this module knows; those below change what a session may do or how its bytes look, and are not offered. */
const relayed = (2 ** 28 - 1) & ~(capability.compress | capability.localFiles | capability.ssl | capability.optionalMetadata | capability.zstd);
const relayedExtensions = extension.progress | extension.bulk | extension.extendedMetadata | extension.cachedMetadata | extension.bulkResults;
/** Bits for the layout of the login packet, which this agent reads itself. */
const ofLogin =
  capability.connectWithDb |
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.connectAttributes |
  capability.lenencAuth;

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

/** What a session uses: the client may set bits that it was not offered, and does not use them then. Pure. */
export function negotiate(client: Capabilities, offered: Capabilities): Capabilities {
  // The lowest bit only says which kind of client this is; a client of MySQL has no extended bits.
  const isMysql = has(client, capability.mysql);
  const flags = (client.flags & offered.flags & ~capability.mysql) | (isMysql ? capability.mysql : 0);
  return { flags: flags >>> 0, extended: isMysql ? 0 : (client.extended & offered.extended) >>> 0 };
}

/** Bits of a session that the server does not have: it is another one than the client was greeted for. Pure. */
export function lacking(server: Capabilities, session: Capabilities): boolean {
  const { flags, extended } = offeredFor(server);
  return (session.flags & ~flags & ~capability.mysql) !== 0 || (session.extended & ~extended) !== 0;
}
