import type { Confirmation, ConfirmationAsk, ConfirmedThing } from "../../core/api/web/confirmations.ts";
import { call } from "../api/request.ts";

/** One dialog that asks for a code. */
export interface CodeAttempt {
  /** Confirms by the code. Throws CallError for a wrong one. */
  send(code: string): Promise<void>;
  /** The user has left it: an answer that is on its way confirms nothing any more. */
  leave(): void;
}

/** `confirmed` gets what the page opens this thing with, unless the dialog was left meanwhile. */
export function codeAttempt(thing: ConfirmedThing, confirmed: (confirmation: string) => void): CodeAttempt {
  let isLeft = false;
  return {
    send: async (code) => {
      const body: ConfirmationAsk = { for: thing, code };
      const { confirmation } = await call<Confirmation>("/confirmations", { method: "POST", body });
      if (!isLeft) confirmed(confirmation);
    },
    leave: () => {
      isLeft = true;
    },
  };
}
