import { useEffect, useState } from "preact/hooks";
import type { WindowPreview } from "../../core/api/web/fleet.ts";
import { call } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import type { BesideFacts } from "./document-editor.tsx";
import { WindowTable } from "./windows.tsx";

/** Time after the last change until it is sent, ms. */
const restMs = 300;

/** The windows that the text would give, by the rules of the auth service, while the reader types. Those of the last text that was right stay. */
export function WindowPreviewList({ yaml }: BesideFacts) {
  const [windows, setWindows] = useState<WindowPreview["windows"]>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const send = async (): Promise<void> => {
      const answer = await call<WindowPreview>("/maintenance-preview", { method: "POST", body: { yaml }, signal });
      setWindows(answer.windows);
      setFailure(undefined);
    };
    const timer = setTimeout(() => void send().catch((thrown: unknown) => signal.aborted || setFailure(sentenceOf(thrown))), restMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [yaml]);
  return (
    <section class="window-preview" aria-live="polite">
      <h3>The next windows, once this is saved</h3>
      {failure !== undefined && <p class="problem">{failure}</p>}
      {windows !== undefined && <WindowTable windows={windows} />}
    </section>
  );
}
