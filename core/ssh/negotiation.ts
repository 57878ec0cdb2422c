import type { Algorithms } from "ssh2";

export interface Keepalive {
  readonly intervalMs: number;
  /** Unanswered ones before the connection counts as dead. */
  readonly missed: number;
}

/** A dead peer is known within a minute. */
export const usualKeepalive: Keepalive = { intervalMs: 15_000, missed: 3 };

/** AES-GCM only: the client's order wins, and OpenSSH's would choose slower ones. Every OpenSSH since 6.2 has these. */
export const offeredAlgorithms: Algorithms = {
  kex: ["curve25519-sha256", "curve25519-sha256@libssh.org"],
  cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"],
  compress: ["none"],
};
