import { useEffect, useRef } from "preact/hooks";
import { type CodeQuestion, codeReason } from "./use-code.tsx";

export interface EnterCodeFacts {
  /** The refusal. */
  readonly error: { readonly message: string };
  readonly question: CodeQuestion;
}

/** What stands in place of something that needs a code: the dialog opens at once, and the button opens it again after it was left. */
export function EnterCode({ error, question: { ask, isOpen } }: EnterCodeFacts) {
  const button = useRef<HTMLButtonElement>(null);
  const why = codeReason(error);
  useEffect(() => ask(why), [error]);
  const wasOpen = useRef(false);
  useEffect(() => {
    if (wasOpen.current && !isOpen) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return (
    <div class="unconfirmed" role="status">
      <span>{why}</span>
      <button ref={button} type="button" onClick={() => ask(why)}>
        Enter code
      </button>
    </div>
  );
}
