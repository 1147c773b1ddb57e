import type { LoadedConfig } from "../../config/load-config.ts";
import { isSecretName, hideSecrets } from "../../core/mask-secret.ts";
import type { HaftHost } from "../../host.ts";
import type { HostParts, OnFact } from "../host-parts.ts";
import type { ConfigurationInfo } from "../wire.ts";
import { artifactsPart } from "./artifacts-part.ts";
import { auditPart } from "./audit-part.ts";
import { canvasPart } from "./canvas-part.ts";
import { channelsPart } from "./channels-part.ts";
import { jobsPart } from "./jobs-part.ts";
import { mcpPart } from "./mcp-part.ts";
import { pastCallsOf, policyPart } from "./policy-part.ts";
import { questionsPart } from "./questions-part.ts";
import { schedulesPart } from "./schedules-part.ts";
import { sessionsPart } from "./sessions-part.ts";
import { statisticsPart } from "./statistics-part.ts";
import { undoPart } from "./undo-part.ts";

/** Everything that a door can show of a host. */
export function partsOfHost({
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
}: HaftHost): HostParts {
  const policy = policyPart({
    haft,
    book: haft.policy.rules,
    layers: () => haft.policy.layersFor().flatMap((layer) => ("policy" in layer ? [layer] : [])),
    pastCalls: pastCallsOf(audit),
  });
  const onFact: OnFact = (fact) => audit.append(fact, { synced: true });
  return {
    policy,
    rules: policy,
    audit: auditPart(audit),
    undo: undoPart(undo),
    artifacts: artifactsPart(artifacts),
    canvas: canvasPart(canvas),
    mcp: mcpPart(mcp, onFact),
    channels: channelsPart(channels),
    questions: questionsPart(questions),
    jobs: jobsPart(haft.jobs),
    sessions: sessionsPart(sessions),
    schedules: schedulesPart(schedules, haft.executor.clock, onFact),
    onFact,
    configuration: { show: () => describeConfiguration(config) },
    statistics: statisticsPart(audit),
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
