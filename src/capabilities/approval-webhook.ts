import { type Clock, pause } from "../core/clock.ts";
import { errorMessage } from "../core/error.ts";
import type { Haft } from "../runtime.ts";
import { hideSecrets } from "../core/secrets/mask-secrets.ts";
import { showInline } from "../gate/permit/approval-parts.ts";

export interface WebhookSettings {
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Whether the subject and the reason are sent too. Default: only that something waits. */
  details?: boolean;
}

export interface WebhookOptions {
  settings: WebhookSettings;
  clock: Clock;
  warn(warning: string): void;
}

const TIMEOUT_MS = 10_000;
/** How long the end of the process waits for messages: a command that leaves a question behind ends at once. */
const MAX_CLOSE_MS = 2_000;
/** Before the second and the third attempt. */
const RETRY_MS = [1_000, 5_000];
/** More questions than this at once are not announced one by one. */
const MAX_OPEN = 100;
const UNUSABLE = "its `url` or one of its `headers` cannot be used";
const ESCAPED: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "ˋ" };

/** Chat services read `<…>` as a link or a mention. The subject is quoted as code, so Markdown in it has no effect. */
function forChat(text: string): string {
  return text.replace(/[&<>`]/g, (character) => ESCAPED[character] ?? "");
}

/** Posts a message when a call of this process starts to wait for a person. The call never waits for it. */
export class ApprovalWebhook {
  readonly #haft: Haft;
  readonly #options: WebhookOptions;
  readonly #stop: () => void;
  readonly #closing = new AbortController();
  readonly #retries = new AbortController();
  readonly #open = new Set<Promise<void>>();
  #isFailing = false;

  constructor(haft: Haft, options: WebhookOptions) {
    this.#haft = haft;
    this.#options = options;
    this.#stop = haft.on("permission_requested", ({ approvalId }) => {
      if (this.#open.size >= MAX_OPEN) return;
      const sent = this.#announce(approvalId).finally(() => this.#open.delete(sent));
      this.#open.add(sent);
    });
  }

  /** Completes the attempts that have begun, and makes no further ones. */
  async close(): Promise<void> {
    this.#stop();
    const timer = this.#options.clock.after(MAX_CLOSE_MS, () => this.#closing.abort());
    this.#retries.abort();
    await Promise.all(this.#open);
    timer.cancel();
  }

  async #announce(id: string): Promise<void> {
    const { url, headers = {} } = this.#options.settings;
    try {
      const body = await this.#bodyOf(id);
      for (let attempt = 0; body !== undefined; attempt++) {
        const problem = await this.#post(url, headers, body);
        if (this.#retries.signal.aborted) return;
        if (problem === undefined) this.#isFailing = false;
        const pauseMs = RETRY_MS[attempt];
        if (problem === undefined || problem === UNUSABLE || pauseMs === undefined) return this.#report(problem);
        await pause(pauseMs, this.#retries.signal, this.#options.clock);
      }
    } catch (error) {
      this.#report(errorMessage(error));
    }
  }

  /** Only the tool and the risk, unless `details` is set. Undefined if it was answered meanwhile. */
  async #bodyOf(id: string): Promise<string | undefined> {
    const approval = await this.#haft.approvals.get(id);
    if (approval?.state !== "pending") return undefined;
    const { toolName, summary, askedAt, expiresAt, caller, reason, questions } = approval;
    const risk = summary?.risk.level ?? "high";
    const shown = (value: string | undefined) => value && showInline(hideSecrets(value));
    const details = this.#options.settings.details
      ? { subject: shown(summary?.subject.text), reason: shown(reason), session: shown(caller.session) }
      : {};
    const head = questions ? "A question waits" : `Approval needed (risk: ${risk})`;
    const text = `${head}: ${forChat(showInline(toolName))}${details.subject ? `: \`${forChat(details.subject)}\`` : ""}`;
    return JSON.stringify({
      type: "approval_requested",
      text,
      id,
      tool: toolName,
      risk,
      askedAt,
      expiresAt,
      ...details,
    });
  }

  async #post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<string | undefined> {
    try {
      const { postJson } = await import("../io/net/post-json.ts");
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const { status } = await postJson(url, { headers, body, signal });
      return status < 300 ? undefined : `it responded with ${status}`;
    } catch (error) {
      const { cause } = error as Error;
      // Such an error of `fetch` quotes what it refuses: an address with a password, or the value of a header.
      if (error instanceof TypeError && cause === undefined) return UNUSABLE;
      return cause instanceof Error ? `${errorMessage(error)} (${cause.message})` : errorMessage(error);
    }
  }

  /** Once until it works again. */
  #report(problem: string | undefined): void {
    if (problem === undefined || this.#isFailing) return;
    this.#isFailing = true;
    this.#options.warn(`The webhook for approvals failed: ${problem}. Approvals are shown in the console only.`);
  }
}
