import type { AnyResource } from "../../core/api/web/documents.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { notify, notifyError } from "../parts/notice.tsx";
import { InviteButton } from "./invite-button.tsx";

export interface UserActionsFacts {
  readonly document: AnyResource;
  readonly reload: () => void;
}

/** The ways to give a user access again: an invite link, and the end of the wait after failed logins. */
export function UserActions({ document: { metadata, status }, reload }: UserActionsFacts) {
  const { state } = (status ?? {}) as { readonly state?: unknown };
  return (
    <>
      {state === "locked" && can("user", "update") && <UnlockButton user={metadata.name} unlocked={reload} />}
      <InviteButton user={metadata.name} invited={reload} />
    </>
  );
}

function UnlockButton({ user, unlocked }: { readonly user: string; readonly unlocked: () => void }) {
  const unlock = async (): Promise<void> => {
    try {
      await call(`/users/${encodeURIComponent(user)}/unlock`, { method: "POST" });
      notify(`${user} may try to log in again.`);
      unlocked();
    } catch (thrown) {
      notifyError(thrown);
    }
  };
  return (
    <button type="button" onClick={() => void unlock()}>
      Unlock<span class="hidden"> {user}</span>
    </button>
  );
}
