/** What every host has: the store, the workspace, undo, and the runtime with its gate. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { LoadedConfig } from "../config/load-config.ts";
import { removeLocalRule, saveLocalRule } from "../config/saved-rules.ts";
import { type TrustStatus, trustStatus } from "../config/trust.ts";
import type { AuditLog } from "../gate/audit-log.ts";
import { STATE_FILES } from "../io/files/state-folder.ts";
import { createUndo } from "../io/files/undo.ts";
import { createHaft } from "../runtime.ts";
import { retentionOf } from "../store/retention.ts";
import { openStore } from "../store/store.ts";
import { openWorkspace } from "../workspace.ts";
import { ApprovalWebhook } from "./approval-webhook.ts";
import { defineCapability } from "./capability.ts";
import { bindGuard, ProcessGuard } from "./process-guard.ts";
import { bindVersions, PluginVersions } from "./plugin-host/plugin-version.ts";
import { configuredOptions } from "./runtime-options.ts";

export const store = defineCapability({
  name: "store",
  config: ["store", "audit"],
  async open({ config, options, stateFolder, clock, warn }) {
    const { url, retention } = config.value.store;
    const opened = await openStore(url === undefined ? { stateFolder } : { url }, {
      clock,
      onWarning: warn,
      secretNames: config.value.audit.redact ?? [],
      archiveFolder: join(stateFolder, STATE_FILES.archives),
    });
    if (!options.isShortLived) opened.retention.start(retentionOf(retention));
    return { value: opened, close: () => opened.close() };
  },
});

/** How the warning begins that this machine cannot confine commands. */
export const UNCONFINED_WARNING = "This machine cannot confine commands: ";

/** How long after the opening a host looks whether this machine can confine commands, to warn if it cannot. */
const SELF_TEST_MS = 500;

export const workspace = defineCapability({
  name: "workspace",
  config: ["workspace", "permissions", "languageServers"],
  needs: ["store", "confinement"],
  async open(context) {
    const { config, user, stateFolder, rules, clock, warn, confinement } = context;
    const { audit, seenFiles, undo: undoStore, todos } = context.store;
    const { folder, value } = config;
    const trusted = await trustStatus(folder, user);
    await noteTrust(audit, folder, trusted);
    const opened = openWorkspace(folder, {
      ...value.workspace,
      denyGlobs: [...(value.workspace.denyGlobs ?? []), ...rules.deniedReadGlobs(folder)],
      diagnostics: value.workspace.diagnostics !== false && { servers: value.languageServers },
      folderInstructions: value.workspace.folderInstructions !== false && {
        trusted: trusted.isExplicit && (trusted.trustedAt ?? new Date(0)),
        // The prompts of agents here have the file of the workspace; those of MCP clients are not known.
        root: ({ agent }) => agent === undefined || agent.startsWith("mcp:"),
      },
      seenFiles,
      todos,
      isUnattended: context.options.isUnattended,
      journal: undoStore(folder),
      sandbox: confinement.sandbox,
      stateFolder,
      clock,
    });
    const { sandbox } = opened;
    // The self-test of the sandbox starts programs. It is not part of the start, unless a call needs it.
    const timer = clock.after(SELF_TEST_MS, () => {
      if (!sandbox || context.options.isShortLived) return;
      const { look, work } = sandbox.engines;
      if (!look || work !== "namespaces") warn(sandbox.notice);
    });
    timer.setRef(false);
    opened.programs.onNotice(warn);
    return { value: opened, close: () => (timer.cancel(), opened.close()) };
  },
});

export const undo = defineCapability({
  name: "undo",
  config: [],
  needs: ["store", "workspace"],
  async open({ config, clock, warn, store: { audit, undo: undoStore }, workspace: { files } }) {
    const value = createUndo({
      files,
      store: undoStore(config.folder),
      clock: () => clock.now(),
      onUndo: ({ phase, ...facts }) => audit.append({ kind: "undo", data: { phase, ...facts } }, { synced: true }),
    });
    for (const { undoId } of await value.recover()) warn(`An interrupted undo was completed (${undoId}).`);
    return { value };
  },
});

export const runtime = defineCapability({
  name: "runtime",
  config: ["tools", "permissions", "hooks", "limits", "toolSearch", "approvals", "jobs"],
  needs: ["store", "workspace", "jobs"],
  // Opened before, so their tools come first in every list.
  uses: ["artifacts", "browser", "web", "canvas", "messages"],
  async open(context) {
    const { config, options, isPartial, user, rules, clock, warn, opened, workspace: files, jobs, artifacts } = context;
    const { store: stored } = context;
    const { audit } = stored;
    const toolUse = await stored.toolUse(config.folder);
    const { approvalWaitMs, runsJobs = true, isShortLived, tools = [] } = options;
    const configured = configuredOptions(config);
    const guard = options.ownsProcess
      ? new ProcessGuard({ clock, warn, record: (fact) => audit.append(fact) })
      : undefined;
    const versions = new PluginVersions(config, { options, user, clock });
    const value = createHaft({
      ...configured,
      approver: options.approver,
      approvalWaitMs: approvalWaitMs === false ? undefined : (approvalWaitMs ?? configured.approvalWaitMs),
      workspace: files,
      spill: artifacts?.spill,
      rules,
      tools: [...opened.flatMap((capability) => capability.tools ?? []), ...tools],
      middleware: [...(options.middleware ?? []), ...versions.middleware, ...(guard ? [guard.middleware] : [])],
      clock,
      log: audit,
      calls: stored.calls,
      isShortLived,
      jobs,
      worker: runsJobs && { concurrency: config.value.jobs.concurrency },
      approvals: approvalOptions(config.value.approvals),
      taint: { store: stored.taint },
      // A program and a search reach every tool, so a host without all tools has neither.
      code: isPartial ? undefined : { store: stored.programs },
      toolSearch: {
        ...configured.toolSearch,
        enabled: !isPartial && configured.toolSearch.enabled !== false,
        store: toolUse,
      },
      // Loaded by the first hook that posts.
      post: async (...request) => (await import("../io/net/post-json.ts")).postJson(...request),
      requiresApproval(tool) {
        for (const capability of opened) {
          const reason = capability.requiresApproval?.(tool);
          if (reason !== undefined) return reason;
        }
        return undefined;
      },
      onWarning: warn,
      async saveRule(rule, list, by) {
        await audit.append({ kind: "rule_added", caller: { user: by }, data: { rule, list } }, { synced: true });
        return saveLocalRule(config.folder, list, rule, user);
      },
      async removeRule(rule, list, origin, by) {
        const data = { rule, list, origin };
        await audit.append({ kind: "rule_removed", caller: { user: by }, data }, { synced: true });
        return removeLocalRule(config.folder, { list, rule, file: origin }, user);
      },
    });
    if (guard) bindGuard(value, guard);
    bindVersions(value, versions);
    const { webhook: settings } = config.value.approvals;
    const webhook = settings && new ApprovalWebhook(value, { settings, clock, warn });
    const close = async (): Promise<void> => {
      await webhook?.close();
      await value.shutdown().finally(() => guard?.close());
    };
    return { value, close };
  },
});

function approvalOptions({
  expireMs,
  maxOpenPerUser,
  maxOpenPerSession,
  replayMs,
}: LoadedConfig["value"]["approvals"]) {
  return { lifetimeMs: expireMs, maxOpenPerUser, maxOpenPerSession, replayMs };
}

const RECENT_ENTRIES = 100;

/**
 * People trust a folder's configuration before there is a store. So the first process that uses the configuration writes to
 * the audit log what was trusted.
 */
async function noteTrust(audit: AuditLog, folder: string, { items }: Pick<TrustStatus, "items">): Promise<void> {
  const trusted = items.filter(({ isTrusted }) => isTrusted);
  const digests = trusted.map(({ digest }) => digest).sort();
  const digest = createHash("sha256").update(digests.join("\n")).digest("hex");
  const { entries } = await audit.query({ kind: "trust", limit: RECENT_ENTRIES });
  const last = entries.find(({ data }) => data["action"] === "folder_trust" && data["folder"] === folder);
  if (last ? last.data["digest"] === digest : trusted.length === 0) return;
  const shown = trusted.map(({ kind, what }) => ({ kind, what }));
  await audit.append(
    { kind: "trust", data: { action: "folder_trust", folder, digest, trusted: shown } },
    { synced: true },
  );
}
