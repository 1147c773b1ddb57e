import type { LoadedConfig } from "../../config/load-config.ts";
import { isSecretName, hideSecrets } from "../../core/mask-secrets.ts";
import type { HaftHost } from "../../host.ts";
import type { HostCapabilities, OnAuditFact } from "../host-parts.ts";
import type { ConfigurationInfo } from "../wire.ts";
import { artifactsCapability } from "./artifacts-part.ts";
import { auditCapability } from "./audit-part.ts";
import { canvasCapability } from "./canvas-part.ts";
import { channelsCapability } from "./channels-part.ts";
import { jobsCapability } from "./jobs-part.ts";
import { mcpCapability } from "./mcp-part.ts";
import { pastCallsOf, policyCapability } from "./policy-part.ts";
import { questionsCapability } from "./questions-part.ts";
import { schedulesCapability } from "./schedules-part.ts";
import { sessionsCapability } from "./sessions-part.ts";
import { statisticsCapability } from "./statistics-part.ts";
import { undoCapability } from "./undo-part.ts";

/** Everything that a door can show of a host. */
export function capabilitiesOfHost({
  haft,
  store: { audit },
  undo,
  artifacts,
  canvas,
  mcp,
  questions,
  sessions,
  schedules,
  channels,
  config,
}: HaftHost): HostCapabilities {
  const policy = policyCapability({
    haft,
    ruleSet: haft.policy.rules,
    layers: () => haft.policy.layersFor().flatMap((layer) => ("policy" in layer ? [layer] : [])),
    pastCalls: pastCallsOf(audit),
  });
  const onAuditFact: OnAuditFact = (fact) => audit.append(fact, { synced: true });
  return {
    policy,
    rules: policy,
    audit: auditCapability(audit),
    undo: undoCapability(undo),
    artifacts: artifactsCapability(artifacts),
    canvas: canvasCapability(canvas),
    mcp: mcpCapability(mcp, onAuditFact),
    channels: channelsCapability(channels),
    questions: questionsCapability(questions),
    jobs: jobsCapability(haft.jobs),
    sessions: sessionsCapability(sessions),
    schedules: schedulesCapability(schedules, haft.clock, onAuditFact),
    onAuditFact,
    configuration: { show: () => describeConfiguration(config) },
    statistics: statisticsCapability(audit),
  };
}

/** What counts, with the file and line that says it; never a secret. */
function describeConfiguration({ origins }: LoadedConfig): ConfigurationInfo {
  const counting = origins.filter(({ isOverridden }) => !isOverridden);
  return {
    entries: counting.map(({ path, value, origin, file, line }) => ({
      key: path,
      value: hidden(path, value),
      origin: file === undefined ? origin : `${file}${line === undefined ? "" : `:${line}`}`,
    })),
  };
}

function hidden(path: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  // Who holds the address of a webhook can post to it.
  if (/^message\.channels\..+\.targets\./.test(path) && URL.canParse(value)) return "[hidden]";
  return path.split(/[.[\]]/).some(isSecretName) && value !== "" ? "[hidden]" : hideSecrets(value);
}
