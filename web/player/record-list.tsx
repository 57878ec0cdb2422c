import { useEffect, useMemo, useState } from "preact/hooks";
import { makeSearchable, searchRows } from "../lists/arrange.ts";
import { Dialog } from "../parts/dialog.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { Empty } from "../parts/page.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { countText } from "../text/size.ts";
import { lengthText } from "../text/time.ts";
import { loadPart } from "./load-part.ts";
import { type Rows, readRows } from "./read-rows.ts";
import { RecordingSource } from "./recording-source.ts";
import { type RecordRow, RequestRows, StatementRows } from "./statement-rows.ts";

export interface RecordListFacts {
  readonly sid: string;
  readonly of: "statements" | "requests";
  /** Called when a session that went on has ended. */
  ended(): void;
}

/** What a session did, as a list: statements with their results, or requests with their answers. */
export function RecordList({ sid, of, ended }: RecordListFacts) {
  const { rows, error } = useRows({ sid, of, ended });
  const [search, setSearch] = useState("");
  const [shown, show] = useState<RecordRow>();
  const searchable = useMemo(() => makeSearchable(rows.rows, ({ text, answer }) => `${text} ${answer}`), [rows]);
  const found = useMemo(() => searchRows(searchable, search), [searchable, search]);
  const noun = of === "statements" ? "statement" : "request";
  return (
    <>
      <div class="tools">
        <SearchField label={`Search ${noun}s`} value={search} set={setSearch} />
        <span class="quiet count" role="status">
          {found.length === rows.rows.length ? "" : `${found.length.toLocaleString("en")} of `}
          {countText(rows.rows.length, noun)}
        </span>
      </div>
      {error !== undefined && (
        <div class="problem" role="alert">
          {sentenceOf(error)}
        </div>
      )}
      <Notes rows={rows} noun={noun} />
      {rows.isDone && found.length === 0 ? (
        <Empty title={`No ${noun} ${search === "" ? "was recorded" : `has all of: ${search}`}`} />
      ) : (
        <Table
          caption={of === "statements" ? "Statements" : "Requests"}
          columns={columnsOf(of, show)}
          rows={found}
          keyOf={({ id }) => String(id)}
          order={{ id: "time", down: false }}
        />
      )}
      {shown !== undefined && <RecordDialog row={shown} of={of} close={() => show(undefined)} />}
    </>
  );
}

/** The rows as far as they are read. */
function useRows({ sid, of, ended }: RecordListFacts): { readonly rows: Rows; readonly error: unknown } {
  const [rows, setRows] = useState<Rows>({ rows: [], isDone: false, isRunning: false, isDamaged: false, isFull: false });
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      const source = new RecordingSource((ask) => loadPart(sid, ask));
      const reader = of === "statements" ? new StatementRows() : new RequestRows();
      let wasRunning = false;
      for await (const some of readRows(source, { reader, signal: stop.signal })) {
        setRows(some);
        if (wasRunning && !some.isRunning) ended();
        wasRunning = some.isDone && some.isRunning;
      }
    };
    run().catch((thrown: unknown) => stop.signal.aborted || setError(thrown));
    return () => stop.abort();
  }, [sid, of]);
  return { rows, error };
}

/** What is to know about the list. */
function Notes({ rows: { rows, isDone, isDamaged, isFull }, noun }: { readonly rows: Rows; readonly noun: string }) {
  const notes = [
    ...(isDone ? [] : ["Loading…"]),
    ...(isDamaged ? ["The recording is damaged: the intact parts are shown."] : []),
    ...(isFull ? [`Only the first ${countText(rows.length, noun)} are shown; tsh play shows all.`] : []),
  ];
  return notes.length === 0 ? null : <p class="quiet">{notes.join(" ")}</p>;
}

function RecordDialog({ row, of, close }: { readonly row: RecordRow; readonly of: RecordListFacts["of"]; readonly close: () => void }) {
  return (
    <Dialog title={`${of === "statements" ? "Statement" : "Request"} at ${lengthText(row.time * 1000)}`} close={close} wide>
      <pre class="document">{row.text}</pre>
      <h3>Answer</h3>
      <p>{row.answer === "" ? "There is no answer in this recording." : row.answer}</p>
      <h3>As recorded</h3>
      <pre class="document">{JSON.stringify(row.records, undefined, 2)}</pre>
    </Dialog>
  );
}

function columnsOf(of: RecordListFacts["of"], show: (row: RecordRow) => void): readonly Column<RecordRow>[] {
  return [
    {
      id: "text",
      title: of === "statements" ? "Statement" : "Request",
      by: ({ text }) => text,
      share: 6,
      cell: (row) => (
        <button type="button" class="link" onClick={() => show(row)}>
          {row.text.slice(0, 500)}
        </button>
      ),
    },
    // On a telephone the text needs the room; the row's dialog has the time.
    { id: "time", title: "Time", by: ({ time }) => time, share: 1, wide: true, cell: ({ time }) => lengthText(time * 1000) },
    {
      id: "answer",
      title: "Answer",
      by: ({ answer }) => answer,
      cell: ({ answer, isFailure }) => <span class={isFailure ? "failure" : ""}>{answer.slice(0, 500)}</span>,
    },
  ];
}
