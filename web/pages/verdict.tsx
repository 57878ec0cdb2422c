import { useRef, useState } from "preact/hooks";
import type { AccessExplanation } from "../../core/api/web/access.ts";
import { call } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { StateText, type Tone } from "../parts/state-text.tsx";

export type Answered = { readonly found: AccessExplanation } | { readonly failure: string };

export interface VerdictAsk {
  /** Of what was asked last; undefined: nothing, or not yet. */
  readonly answer: Answered | undefined;
  /** Takes the verdict away: it belongs to what stands in the fields. */
  readonly clear: () => void;
  readonly ask: (path: string, query: Readonly<Record<string, string>>) => Promise<void>;
}

/** Asks the API whether an access is allowed; only the answer to the last question counts. */
export function useVerdict(): VerdictAsk {
  const [answer, setAnswer] = useState<Answered>();
  const asked = useRef<AbortController>(undefined);
  const clear = (): void => {
    asked.current?.abort();
    setAnswer(undefined);
  };
  const ask: VerdictAsk["ask"] = async (path, query) => {
    clear();
    const stop = new AbortController();
    asked.current = stop;
    const { signal } = stop;
    try {
      const found = await call<AccessExplanation>(path, { query, signal });
      if (!signal.aborted) setAnswer({ found });
    } catch (thrown) {
      if (!signal.aborted) setAnswer({ failure: sentenceOf(thrown) });
    }
  };
  return { answer, clear, ask };
}

/** A field of a question; one that is not required is any when it is empty. */
export function VerdictField({ name, label, isRequired = false }: { readonly name: string; readonly label: string; readonly isRequired?: boolean }) {
  return (
    <label class="field">
      {label}
      <input
        name={name}
        required={isRequired}
        placeholder={isRequired ? "" : "any"}
        maxLength={253}
        autocomplete="off"
        spellcheck={false}
        autocapitalize="none"
      />
    </label>
  );
}

const order = ["denies", "allows", "nothing"] as const;
const tones: Readonly<Record<(typeof order)[number], Tone>> = { denies: "bad", allows: "good", nothing: "idle" };

/** The decision with its reason, and what each role says. */
export function Verdict({ of }: { readonly of: Answered | undefined }) {
  return <div aria-live="polite">{of !== undefined && <Said of={of} />}</div>;
}

function Said({ of }: { readonly of: Answered }) {
  if ("failure" in of) return <p class="problem">{of.failure}</p>;
  const { allowed, reason, roles } = of.found;
  const sorted = [...roles].sort((a, b) => order.indexOf(a.says) - order.indexOf(b.says));
  return (
    <>
      <p class="verdict">
        <StateText tone={allowed ? "good" : "bad"}>{allowed ? "Allowed" : "Denied"}</StateText>: {reason}.
      </p>
      {sorted.length > 0 && (
        <ul class="says" aria-label="What each role says">
          {sorted.map(({ role, says, why = "" }) => (
            <li key={role}>
              <strong>{role}</strong>
              <StateText tone={tones[says]}>{says === "nothing" ? "says nothing" : says}</StateText>
              <span>{why}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
