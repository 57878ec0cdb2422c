import type { HostBehind, Rotation } from "../../../core/resources/rotation.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import type { Put, Storage } from "../../storage/storage.ts";
import { hostsOf } from "../inventory/host-records.ts";

/** Maximum number of listed hosts. */
const mostNamed = 1000;

/** `/signer/<role>/<id>`: the pin of the key that signed a host's newest certificate, for as long as that is valid. */
export function signerWrite(role: HostRole, id: string, signer: { readonly pin: string; readonly validBefore: Date }): Put {
  return { key: signerKey(role, id), value: JSON.stringify(signer.pin), expires: signer.validBefore };
}

/**
 * Hosts whose newest certificate is not of the signing key: it becomes invalid with the rotation. A host whose certificate
 * was issued before signers were recorded counts too.
 */
export async function hostsBehind(storage: Storage, { phase, keys }: Pick<Rotation, "phase" | "keys">): Promise<readonly HostBehind[]> {
  if (phase === "standby") return [];
  const signs = JSON.stringify(keys[0]?.ca_pin);
  const signers = new Map((await storage.list("/signer/")).map(({ key, value }) => [key, value]));
  const behind: HostBehind[] = [];
  for (const role of ["proxy", "node"] as const) {
    for (const { id, name } of await hostsOf(storage, role)) {
      if (signers.get(signerKey(role, id)) !== signs && behind.length < mostNamed) behind.push({ role, id, name });
    }
  }
  return behind;
}

function signerKey(role: HostRole, id: string): string {
  return `/signer/${role}/${id}`;
}
