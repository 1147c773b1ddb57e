import type { LoadedConfig } from "../config/load-config.ts";
import { systemClock } from "../core/clock.ts";
import type { Finding } from "./examine.ts";

/** Each message channel by its settings and packages; nothing is sent, and no service is asked. */
export async function examineChannels(
  config: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const { openMessages } = await import("../capabilities/messages.ts");
  const messages = openMessages(config, { env, clock: systemClock });
  try {
    const findings: Finding[] = [];
    for (const { name, type, targets, problem } of messages.channels) {
      const wrong = problem ?? (type === "email" ? await missingMailer() : undefined);
      const found = `${type} to ${[...targets.keys()].join(", ") || "nobody"}`;
      findings.push(
        wrong === undefined
          ? { what: `channel ${name}`, state: "ok", found }
          : { what: `channel ${name}`, state: "warning", found: `${found} is not ready:`, next: wrong },
      );
    }
    return findings;
  } finally {
    await messages.close();
  }
}

async function missingMailer(): Promise<string | undefined> {
  const { loadMailer } = await import("../tools/message/channels/email.ts");
  return loadMailer().then(
    () => undefined,
    (error: Error) => error.message,
  );
}
