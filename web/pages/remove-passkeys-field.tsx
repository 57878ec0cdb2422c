import { useLoaded } from "../api/load.ts";
import { listPasskeys } from "../api/passkeys.ts";
import { formText } from "../parts/form-text.ts";
import { countText } from "../text/size.ts";

/** Whether the user's passkeys go with the old password or authenticator; nothing for a user who has none. */
export function RemovePasskeysField() {
  const { value: passkeys = [] } = useLoaded("passkeys", listPasskeys);
  if (passkeys.length === 0) return null;
  return (
    <div class="remove-passkeys">
      <p class="quiet">{passkeys.length === 1 ? "Your passkey goes on logging you in." : `Your ${passkeys.length} passkeys go on logging you in.`}</p>
      <label class="check">
        <input type="checkbox" name="remove_passkeys" value="yes" />
        Remove my passkeys too
      </label>
    </div>
  );
}

/** What the field adds to the request. */
export function removePasskeysOf(form: EventTarget | null): { readonly remove_passkeys?: true } {
  return formText(form, "remove_passkeys") === "yes" ? { remove_passkeys: true } : {};
}

/** What else has happened, after the sentence that says that the secret was changed: `ended` other sessions in browsers, and what the field asked for. */
export function besidesText(ended: number, { remove_passkeys: isRemoved }: { readonly remove_passkeys?: true }): string {
  const browsers = ended === 0 ? "" : ` Logged out: ${countText(ended, "other browser")}.`;
  return isRemoved === true ? `${browsers} Your passkeys have been removed: remove them from your devices too.` : browsers;
}
