import { version } from "../../../core/versions/version.ts";
import type { ServiceManager } from "./systemd.ts";

/** What a process says to the service manager, which hears the main process alone: until this one is that, nothing. */
export class ServiceVoice {
  readonly #manager: ServiceManager;
  #isHeard: boolean;
  #said = "";

  constructor(manager: ServiceManager, isHeard: boolean) {
    this.#manager = manager;
    this.#isHeard = isHeard;
  }

  /** In words what happens; the last of them once this process is heard. */
  say(text: string): void {
    const status = `${version}: ${text}`;
    if (this.#isHeard && status !== this.#said) void this.#manager.notify(`STATUS=${status}`);
    this.#said = status;
  }

  /** The service manager knows that this is the main process. */
  async ready(): Promise<void> {
    this.#isHeard = true;
    await this.#manager.notify("READY=1", `STATUS=${this.#said || version}`);
  }

  /** As the main process: which one is from now on. */
  async announce(pid: number): Promise<void> {
    await this.#manager.notify(`MAINPID=${pid}`);
  }

  /** As the main process that has taken over from one of an earlier version, which leaves this to us: only its word counts. */
  async replace(pid: number): Promise<void> {
    await this.#manager.notifyAs(pid, `MAINPID=${process.pid}`);
    await this.ready();
  }

  stopping(): void {
    if (this.#isHeard) void this.#manager.notify("STOPPING=1");
  }
}
