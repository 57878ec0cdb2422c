import { useState } from "preact/hooks";
import type { NewInvite } from "../../core/api/web/documents.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { TimeText } from "../parts/time-text.tsx";

export interface InviteButtonFacts {
  readonly user: string;
  /** Called when the dialog with a new link closes: a list that is loaded earlier may leave its row out, and the link with it. */
  readonly invited: () => void;
}

/** Makes an invite link for a user, whose password and code stop working at once. */
export function InviteButton({ user, invited }: InviteButtonFacts) {
  const [isOpen, setOpen] = useState(false);
  if (!can("user", "update")) return null;
  const close = (isMade: boolean): void => {
    setOpen(false);
    if (isMade) invited();
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Invite or reset…<span class="hidden"> {user}</span>
      </button>
      {isOpen && <InviteDialog user={user} close={close} />}
    </>
  );
}

function InviteDialog({ user, close }: { readonly user: string; readonly close: (isMade: boolean) => void }) {
  const [made, setMade] = useState<NewInvite>();
  const [failure, setFailure] = useState<string>();
  const make = async (): Promise<void> => {
    try {
      setMade(await call<NewInvite>(`/users/${encodeURIComponent(user)}/invite`, { method: "POST" }));
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
    }
  };
  return (
    <Dialog title={`Invite link for ${user}`} close={() => close(made !== undefined)} isKept={made !== undefined}>
      <Failure text={failure} />
      {made === undefined ? (
        <>
          <p>The password and the authenticator that {user} may have stop working at once. The link sets new ones, and works once.</p>
          <p class="buttons">
            <button type="button" class="danger" onClick={() => void make()}>
              Make the link
            </button>
          </p>
        </>
      ) : (
        <>
          <p>
            Send it to {user} privately: it works once for anybody who has it, until <TimeText at={made.expires} />.
          </p>
          <CommandLine line={made.url} />
        </>
      )}
    </Dialog>
  );
}
