import { encodeError } from "../../../core/databases/redis/error-reply.ts";
import type { EngineSession, Settle, StatementLog } from "../engine.ts";
import { clusterMapOf } from "./cluster/cluster-maps.ts";
import type { Command } from "./command.ts";
import { commandEvent } from "./command-event.ts";
import type { CommandJudge } from "./command-filter.ts";
import { type CommandRules, type Judgement, judgeCommand, noCluster, noMapNow } from "./judge-command.ts";
import type { OpenAnswers } from "./open-answers.ts";
import type { OwnAnswers } from "./own-answers.ts";

export interface SessionJudgeDeps {
  readonly record: EngineSession["record"];
  /** Undefined: commands are not recorded. */
  readonly statements?: StatementLog | undefined;
  readonly rules: CommandRules;
  readonly ownAnswers: OwnAnswers;
  readonly answers: OpenAnswers;
}

const ok = Buffer.from("+OK\r\n");

/** Judges and records every command of one session. */
export class SessionJudge implements CommandJudge {
  readonly #deps: SessionJudgeDeps;
  #waits: Promise<void>[] = [];

  constructor(deps: SessionJudgeDeps) {
    this.#deps = deps;
  }

  decide(command: Command): "more" | "pass" | Buffer {
    const { ownAnswers, answers } = this.#deps;
    const judgement = this.#judged(command);
    if (judgement === "more" || judgement === "pass") return judgement;
    const error = typeof judgement !== "string" && "refuse" in judgement ? judgement.refuse : undefined;
    const isReplaced = typeof judgement !== "string" && "replace" in judgement;
    const settle = this.#record(command, lengthOf(command), error);
    if (judgement === "ok") settle?.({ outcome: "ok" });
    answers.sent(command, isReplaced ? settle : undefined);
    if (error !== undefined) return ownAnswers.commandFor(encodeError(error === noCluster || error === noMapNow ? "ERR" : "NOPERM", error));
    return isReplaced ? judgement.replace : ownAnswers.commandFor(ok);
  }

  #judged(command: Command): Judgement {
    const { rules, answers } = this.#deps;
    const judgement = judgeCommand(command, rules);
    const isMap = judgement === "pass" && rules.reachesMembers === true && clusterMapOf(command) !== undefined;
    return isMap && !answers.isSure ? { refuse: noMapNow } : judgement;
  }

  passed(command: Command, bytes: number): void {
    this.#deps.answers.sent(command, this.#record(command, bytes, undefined));
  }

  /** Resolves when the audit has room for more; of a strict session, once the commands since the last call are safe in it. */
  room(): Promise<void> | undefined {
    const waits = this.#waits;
    if (waits.length === 0) return undefined;
    this.#waits = [];
    return Promise.all(waits).then(() => {});
  }

  #record(command: Command, bytes: number, error: string | undefined): Settle | undefined {
    const { record, rules, statements } = this.#deps;
    const event = commandEvent({ command, user: rules.user, bytes, error });
    const wait = record(event);
    if (wait !== undefined) {
      wait.catch(() => {});
      this.#waits.push(wait);
    }
    return statements?.begin(event);
  }
}

function lengthOf({ words }: Command): number {
  return words.reduce((sum, { length }) => sum + length, 0);
}
