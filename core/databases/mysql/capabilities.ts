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

/** Bits that only say how the login packet is laid out. */
export const ofLogin =
  capability.connectWithDb |
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.connectAttributes |
  capability.lenencAuth;

export interface Capabilities {
  /** Unsigned 32 bits. */
  readonly flags: number;
  /** MariaDB's further 32 bits; 0 for MySQL. */
  readonly extended: number;
}
