import type { Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { deviceName, passkeysWrite, readPasskeys, type StoredPasskey } from "./stored-passkeys.ts";

interface OwnRemoval {
  readonly user: string;
  readonly userId: string | undefined;
  /** Otherwise nothing is removed. */
  readonly isAsked: boolean;
}

/** All passkeys of a user, who removes them with another change of the own credential, and the writes that do. They fail where one was added or used meanwhile. */
export async function ownPasskeyRemovals(
  { storage }: Pick<AuthContext, "storage">,
  { user, userId, isAsked }: OwnRemoval,
): Promise<{ readonly passkeys: readonly StoredPasskey[]; readonly writes: readonly Write[] }> {
  const before = isAsked ? await readPasskeys(storage, user, userId) : undefined;
  if (before === undefined || before.passkeys.length === 0) return { passkeys: [], writes: [] };
  return { passkeys: before.passkeys, writes: [passkeysWrite(user, { ...before, passkeys: [] }, before)] };
}

/** Audits that a user has removed these passkeys at this address. */
export function reportRemoved(
  { audit }: Pick<AuthContext, "audit">,
  passkeys: readonly StoredPasskey[],
  { user, address }: { readonly user: string; readonly address: string },
): void {
  for (const passkey of passkeys) audit.emit({ event: "mfa.delete", user, mfa_device: deviceName(passkey), success: true, "addr.remote": address });
}
