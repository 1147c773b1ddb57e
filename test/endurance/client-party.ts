// A client process of the load, as the harness sees it.
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { childEnd } from "../setup/child-end.ts";
import { SERVER_TOKEN, type Start, startProcess } from "../calls/processes/parties.ts";
import type { ToldCall } from "./load-client.ts";

export interface LoadOptions {
  name: string;
  seed: number;
  atOnce: number;
  /** Default: no limit. */
  perSecond?: number;
}

export class ClientParty {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #told: ToldCall[] = [];
  #errors = "";

  constructor(program: string, cwd: string, { name, seed, atOnce, perSecond = 0 }: LoadOptions) {
    const args = [name, String(seed), SERVER_TOKEN, String(atOnce), String(perSecond)];
    const start: Start = { program, args, env: { PATH: process.env["PATH"] ?? "" }, cwd, umask: "022" };
    this.#child = startProcess(start);
    this.#child.stdin!.on("error", () => undefined);
    this.#child.stderr!.on("data", (chunk) => (this.#errors += String(chunk)));
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on("line", (line) => void this.#told.push(JSON.parse(line) as ToldCall));
    const isRead = new Promise<void>((resolve) => lines.once("close", () => resolve()));
    this.#ended = Promise.all([childEnd(this.#child), isRead]);
  }

  /** Undefined: there is no server now. */
  use(url: string | undefined): void {
    this.#child.stdin!.write(`${url ?? ""}\n`);
  }

  /** How many calls have ended since the last `take`. */
  get told(): number {
    return this.#told.length;
  }

  /** What it was told since the last time. */
  take(): ToldCall[] {
    const told = this.#told;
    this.#told = [];
    return told;
  }

  /** Starts no more calls, and waits for the end of those that it has started. */
  async stop(): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
    if (this.#errors) throw new Error(`A client wrote: ${this.#errors}`);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
