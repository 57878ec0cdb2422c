import { Reader } from "../bytes/reader.ts";
import type { ClientOffer } from "./algorithms.ts";

/** Number of the message. */
export const keyExchangeInit = 20;
const strictClient = "kex-strict-c-v00@openssh.com";

/** A client's SSH_MSG_KEXINIT (RFC 4253 section 7.1). Throws PlatformError `invalid` when it ends too early. */
export function readClientOffer(payload: Buffer): ClientOffer {
  const reader = new Reader(payload);
  // Its number and the cookie.
  reader.take(17);
  const names = (): readonly string[] => reader.string().toString("latin1").split(",");
  const isStrict = names().includes(strictClient);
  // Algorithms of host keys.
  names();
  const [toServer, toClient] = [names(), names()];
  return { ciphers: toServer.filter((cipher) => toClient.includes(cipher)), isStrict };
}
