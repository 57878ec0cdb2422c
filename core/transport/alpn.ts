/** Protocols that share the web port, by ALPN name. The front door's table has one handler for each. */
export const alpn = {
  /** TLS that ends at the proxy (host authority's certificate), SSH inside: an agent's reverse tunnel. */
  tunnel: "platform-reversetunnel",
  /** Mutual TLS that ends at the proxy (user authority): one StreamRequest, then the stream. */
  stream: "platform-stream",
  /** Inside a stream of any kind but SSH: mutual TLS between a user and an agent, one StreamRequest, its StreamReply, then the kind's bytes. */
  service: "platform-service",
  /** The same with several streams in it (core/transport/multiplex), each with a request of its own. Offered together with `service`, which older agents pick. */
  serviceStreams: "platform-service-streams",
  /** TLS that ends at the auth service: relayed as it is. Offered together with `h2`, which the auth service picks. */
  auth: "platform-auth",
  /** Mutual TLS between a proxy and the auth service: one RelayHeader, then the TLS of a client of the proxy. */
  authRelay: "platform-auth-relay",
  /** TLS that ends at the proxy, SSH inside: as on port 3023. */
  jump: "platform-proxy-ssh",
  /** PostgreSQL's own name: mutual TLS that ends at the proxy, and in it a client of version 17 or later. */
  postgres: "postgresql",
  /** Mutual TLS between a proxy and an agent that listens (not on the web port): one StreamRequest, then the stream. */
  direct: "platform-direct",
} as const;

/**
 * SNI of a client of the auth service: the authority that it trusts, by its pin. During a rotation the service has a certificate
 * from each of two keys and presents the one that this client can verify.
 */
export function authServerName(caPin: string): string {
  return `ca-${caPin.slice("sha256:".length, "sha256:".length + 40)}.${roleServerName("auth")}`;
}

/**
 * DNS name in the X.509 certificate of every host of this role, and of no other: TLS clients check it, so that one kind of
 * host cannot pose as another.
 */
export function roleServerName(role: "auth" | "proxy" | "node"): string {
  return `${role}.platform.internal`;
}
