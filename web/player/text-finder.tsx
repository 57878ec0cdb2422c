import { useEffect, useState } from "preact/hooks";
import { notifyError } from "../parts/notice.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { lengthText } from "../text/time.ts";
import type { RecordingSource } from "./recording-source.ts";
import { findText, maxHits, type Search } from "./text-search.ts";

/** Time after the last key until a search begins, ms. */
const typingMs = 300;

/** Search in the text of a terminal; a click goes to the moment. */
export function TextFinder({ source, seek }: { readonly source: RecordingSource; seek(time: number): void }) {
  const [wanted, setWanted] = useState("");
  const [found, setFound] = useState<Search>();
  useEffect(() => {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      for await (const search of findText(source, { wanted, signal: stop.signal })) {
        if (stop.signal.aborted) return;
        setFound(search);
      }
    };
    setFound(undefined);
    const timer =
      wanted === "" ? undefined : setTimeout(() => void run().catch((thrown: unknown) => stop.signal.aborted || notifyError(thrown)), typingMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [wanted, source]);
  return (
    <section class="finder">
      <h2>Search in the text</h2>
      <SearchField label="Text that the terminal showed" value={wanted} set={setWanted} />
      <p class="quiet" role="status">
        {found !== undefined && stateOf(found)}
      </p>
      <ol class="hits">
        {found?.hits.map(({ time, line }, at) => (
          <li key={`${at} ${time}`}>
            <button type="button" class="link" onClick={() => seek(time)}>
              {lengthText(time * 1000)}
            </button>{" "}
            <code>{line}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}

function stateOf({ hits, until, isDone }: Search): string {
  if (!isDone) return `Searched up to ${lengthText(until * 1000)}…`;
  if (hits.length >= maxHits) return `The first ${maxHits} lines are shown.`;
  return hits.length === 0 ? "No line has this text." : `${hits.length} ${hits.length === 1 ? "line has" : "lines have"} this text.`;
}
