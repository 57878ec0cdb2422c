import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Confirmation, ConfirmationAsk, ConfirmedThing } from "../../core/api/web/confirmations.ts";
import { CallError, call } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { CodeDialog } from "./code-dialog.tsx";

/** The question for a one-time code, where a role demands one for each session. */
export interface CodeQuestion {
  /** The dialog, while it is open. */
  readonly dialog: ComponentChildren;
  readonly isOpen: boolean;
  /** Opens the dialog, which says why: the sentence of a refusal. */
  ask(why: string): void;
}

/** Whether all that is missing is a code. */
export function isUnconfirmed(thrown: unknown): thrown is CallError {
  return thrown instanceof CallError && thrown.code === "mfa_required";
}

/** Which resource needs a code, as a sentence; the hint of the refusal is for command lines. */
export function codeReason({ message }: { readonly message: string }): string {
  return sentenceOf({ message });
}

/** Asks for a code for this thing. `confirmed` gets what the page opens it with, and keeps it in memory alone. */
export function useCode(thing: ConfirmedThing, confirmed: (confirmation: string) => void): CodeQuestion {
  const [why, setWhy] = useState<string>();
  const close = (): void => setWhy(undefined);
  const send = async (code: string): Promise<void> => {
    const body: ConfirmationAsk = { for: thing, code };
    const { confirmation } = await call<Confirmation>("/confirmations", { method: "POST", body });
    close();
    confirmed(confirmation);
  };
  return { dialog: why !== undefined && <CodeDialog why={why} send={send} close={close} />, isOpen: why !== undefined, ask: setWhy };
}
