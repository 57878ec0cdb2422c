import { maxText } from "../../../core/audit/event-spec.ts";
import { type CappedText, cappedQuery, cappedValue } from "../capped-text.ts";
import type { DatabaseEvent, StatementLog } from "../engine.ts";
import type { Frame, FrameFormat, Judge } from "../frame-filter.ts";
import { type ClientMessage, clientFormat, decodeClientMessage } from "./client-messages.ts";
import type { ServerError } from "./error-response.ts";
import { followedName } from "./followed-name.ts";
import type { Pipeline } from "./pipeline.ts";

export interface ClientAuditOptions {
  readonly record: (event: DatabaseEvent) => void;
  readonly pipeline: Pipeline;
  /** Whether each query must be recorded before it goes on (`record_session: strict`). Default: no. */
  readonly isStrict?: boolean | undefined;
  /** Undefined: statements are not recorded. */
  readonly statements?: StatementLog | undefined;
}

/** Time for which a query's event waits for its outcome, ms, and maximum number of waiting events. */
const outcomeMs = 1_000;
const maxUnsettled = 32;
/** Bytes of a malformed message in its event. */
const payloadBytes = 64;
const nothing: Buffer = Buffer.alloc(0);

type SettleQuery = (failure?: ServerError) => void;

/** Records each message of a client that runs or prepares something, before it goes on to the server. */
export class ClientAudit {
  readonly #options: ClientAuditOptions;
  readonly #unsettled = new Set<SettleQuery>();
  #timer: NodeJS.Timeout | undefined;
  #hasLeft = false;
  /** Parameters of the last Bind, for the recording of its Execute. */
  #bound: { readonly portal: string | undefined; readonly parameters: readonly (string | null)[]; readonly count?: number } | undefined;

  constructor(options: ClientAuditOptions) {
    this.#options = options;
  }

  /** Whether the client has sent Terminate. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  readonly format: FrameFormat = {
    ...clientFormat,
    lengthOf: (header) => this.#orMalformed(header, nothing, () => clientFormat.lengthOf(header)),
  };

  readonly judge: Judge = (frame) => {
    this.#note(
      this.#orMalformed(frame.header, frame.body, () => decodeClientMessage(frame)),
      frame,
    );
    return "pass";
  };

  /** Records queries that have no outcome yet as passed on. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const settle of this.#unsettled) settle();
  }

  #orMalformed<T>(header: Buffer, body: Buffer, decode: () => T): T {
    try {
      return decode();
    } catch (thrown) {
      const payload = Buffer.concat([header, body.subarray(0, payloadBytes)]).toString("base64");
      this.#options.record({ event: "db.session.malformed_packet", payload });
      throw thrown;
    }
  }

  #note(message: ClientMessage, { header }: Frame): void {
    const { record, pipeline, statements } = this.#options;
    switch (message.kind) {
      case "query":
        return void this.#noteQuery(message);
      case "parse":
        return void this.#noteParse(message);
      case "bind":
        return void this.#noteBind(message);
      case "execute":
        return void this.#noteExecute(message.portal);
      case "close": {
        const name = message.what === "statement" ? { statement_name: message.name } : { portal_name: message.name };
        record({ event: "db.session.postgres.statements.close", ...name });
        return void pipeline.push({ ...message, name: followedName(message.name) });
      }
      case "function": {
        const { oid, parameters } = message;
        const call = { function_oid: oid, function_args: [...parameters], ...allOf(message) };
        const event = { event: "db.session.postgres.function" as const, ...call };
        record(event);
        return void pipeline.push({ kind: "function", result: statements?.begin(event) });
      }
      case "other":
        this.#hasLeft ||= header[0] === 0x58;
        return;
      case "describe":
      case "sync":
      case "copyEnd":
        return void pipeline.push({ kind: message.kind });
    }
  }

  #noteParse({ statement, text, length }: Extract<ClientMessage, { readonly kind: "parse" }>): void {
    const { record, pipeline, statements } = this.#options;
    const query = cappedQuery(text, length);
    const event = { event: "db.session.postgres.statements.parse", statement_name: statement, ...query } as const;
    record(event);
    const result = statements?.begin(event);
    pipeline.push({ kind: "parse", statement: followedName(statement), text: cappedValue(query.db_query, maxText), result });
  }

  #noteExecute(portalName: string): void {
    const { record, pipeline, statements } = this.#options;
    const portal = followedName(portalName);
    const text = pipeline.portal(portal);
    const event = {
      event: "db.session.postgres.statements.execute",
      portal_name: portalName,
      ...(text !== undefined && { db_query: text }),
    } as const;
    record(event);
    pipeline.push({ kind: "execute", portal, result: statements?.begin(event, this.#boundTo(portal)) });
  }

  #noteBind(message: Extract<ClientMessage, { readonly kind: "bind" }>): void {
    const { record, pipeline } = this.#options;
    const { parameters } = message;
    const names = { statement_name: message.statement, portal_name: message.portal };
    const portal = followedName(message.portal);
    record({ event: "db.session.postgres.statements.bind", ...names, parameters: [...parameters], ...allOf(message) });
    pipeline.push({ kind: "bind", portal, text: pipeline.statement(followedName(message.statement)) });
    if (this.#options.statements === undefined) return;
    this.#bound = { portal, parameters: [...parameters], ...(parameters.length < message.count && { count: message.count }) };
  }

  #boundTo(portal: string | undefined): Parameters<StatementLog["begin"]>[1] {
    if (portal === undefined || this.#bound?.portal !== portal || this.#bound.parameters.length === 0) return {};
    const { parameters, count } = this.#bound;
    return { parameters, ...(count !== undefined && { count }) };
  }

  #noteQuery({ text, length }: { readonly text: Buffer; readonly length: number }): void {
    const { record, pipeline, statements, isStrict } = this.#options;
    const query = cappedQuery(text, length);
    const event = { event: "db.session.query", ...query, success: true } as const;
    if (isStrict === true) record(event);
    const result = statements?.begin(event);
    this.#bound = undefined;
    const settle = isStrict === true ? (): void => {} : this.#recordLater(query);
    pipeline.push({ kind: "query", settle, result });
  }

  /** Its event waits a little for the outcome, which the result takes; what takes longer is recorded as passed on. */
  #recordLater(query: CappedText): SettleQuery {
    const { record } = this.#options;
    const settle = (failure?: ServerError): void => {
      if (!this.#unsettled.delete(settle)) return;
      const error = failure && `${failure.message.slice(0, maxText - 20)} (SQLSTATE ${failure.state.slice(0, 5)})`;
      record({ event: "db.session.query", ...query, success: error === undefined, ...(error !== undefined && { error }) });
    };
    if (this.#unsettled.size >= maxUnsettled) this.flush();
    this.#unsettled.add(settle);
    this.#timer ??= setTimeout(() => this.flush(), outcomeMs);
    return settle;
  }
}

function allOf({ parameters, count }: { readonly parameters: readonly unknown[]; readonly count: number }): { readonly parameter_count?: number } {
  return parameters.length === count ? {} : { parameter_count: count };
}
