import { createHash } from "node:crypto";
import type { TrustStatus } from "../config/trust.ts";
import type { AuditLog } from "../gate/audit-log.ts";

const RECENT = 100;

/**
 * People agree to a folder's configuration before there is a store to note it in: what they agreed to is noted by the first
 * process that goes by it.
 */
export async function noteTrust(audit: AuditLog, folder: string, { items }: Pick<TrustStatus, "items">): Promise<void> {
  const trusted = items.filter(({ isTrusted }) => isTrusted);
  const digests = trusted.map(({ digest }) => digest).sort();
  const digest = createHash("sha256").update(digests.join("\n")).digest("hex");
  const { entries } = await audit.query({ kind: "trust", text: "folder_trust", limit: RECENT });
  const last = entries.find(({ data }) => data["action"] === "folder_trust" && data["folder"] === folder);
  if (last ? last.data["digest"] === digest : trusted.length === 0) return;
  const shown = trusted.map(({ kind, what }) => ({ kind, what }));
  await audit.append(
    { kind: "trust", data: { action: "folder_trust", folder, digest, trusted: shown } },
    { synced: true },
  );
}
