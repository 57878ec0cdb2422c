import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ConfirmedThing } from "../../core/api/web/confirmations.ts";
import { CallError } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { CodeDialog } from "./code-dialog.tsx";
import { type CodeAttempt, codeAttempt } from "./send-code.ts";

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
  const [question, setQuestion] = useState<{ readonly why: string; readonly attempt: CodeAttempt }>();
  const close = (): void => {
    question?.attempt.leave();
    setQuestion(undefined);
  };
  const ask = (why: string): void => {
    const attempt = codeAttempt(thing, (confirmation) => {
      setQuestion(undefined);
      confirmed(confirmation);
    });
    setQuestion({ why, attempt });
  };
  const dialog = question !== undefined && <CodeDialog why={question.why} send={question.attempt.send} close={close} />;
  return { dialog, isOpen: question !== undefined, ask };
}
