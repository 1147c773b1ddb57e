/** What every host has: the store, the workspace, undo, and the runtime with its gate. */
import { createHash, hash } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { LoadedConfig } from "../config/load-config.ts";
import { removeLocalRule, saveLocalRule } from "../config/saved-rules.ts";
import { type TrustStatus, trustStatus } from "../config/trust.ts";
import { toolError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import type { AuditLog } from "../gate/audit-log.ts";
import { namesSeveral } from "../gate/permit/describe-grant.ts";
import { parseRule } from "../gate/permit/rules/rule.ts";
import type { RuleSet } from "../gate/permit/rules/rule-set.ts";
import { STATE_FILES } from "../io/files/state-folder.ts";
import { createUndo } from "../io/files/undo.ts";
import { createRuntime, type Haft, reconfigure } from "../runtime.ts";
import { retentionOf } from "../store/retention.ts";
import { STORED_RULES } from "../store/stored-rules.ts";
import { openStore, type Store } from "../store/store.ts";
import {
  createRequestPermissionTool,
  type RequestPermissionOptions,
  showBounds,
} from "../tools/conversation/request-permission.ts";
import { openWorkspace } from "../workspace.ts";
import { registerAgentTools } from "./agent-calls.ts";
import { ApprovalWebhook } from "./approval-webhook.ts";
import { defineCapability } from "./capability.ts";
import { bindKeeper, PolicyKeeper } from "./policy-keeper.ts";
import { bindGuard, ProcessGuard } from "./process-guard.ts";
import { bindVersions, PluginVersions } from "./plugin-host/plugin-version.ts";
import { configuredOptions } from "./runtime-options.ts";

export const store = defineCapability({
  name: "store",
  config: ["store", "audit"],
  async open({ config, options, rules, stateFolder, clock, warn }) {
    const { url } = config.value.store;
    const opened = await openStore(url === undefined ? { stateFolder } : { url }, {
      clock,
      onWarning: warn,
      secretNames: config.value.audit.redact ?? [],
      archiveFolder: join(stateFolder, STATE_FILES.archives),
    });
    if (!options.isShortLived) opened.retention.start(() => retentionOf(config.value.store.retention));
    // Saved rules are in the state folder's file, unless the store has processes on other machines.
    if (url !== undefined) rules.replace(await opened.rules.source(config.folder));
    return { value: opened, close: () => opened.close() };
  },
});

/** How the warning begins that this machine cannot confine commands. */
export const UNCONFINED_WARNING = "This machine cannot confine commands: ";

/** How long after the opening a host looks whether this machine can confine commands, to warn if it cannot. */
const SELF_TEST_MS = 500;
/** Entries of a conversation in which the words around a value are looked up. */
const MAX_READ_AGAIN = 500;

export const workspace = defineCapability({
  name: "workspace",
  config: ["workspace", "permissions", "languageServers"],
  needs: ["store", "confinement"],
  async open(context) {
    const { config, user, stateFolder, clock, warn, confinement } = context;
    const { audit, seenFiles, undo: undoStore, todos } = context.store;
    const { folder, value } = config;
    let trusted = await trustStatus(folder, user);
    await noteTrust(audit, folder, trusted);
    const live = () => {
      const { diagnostics: _diagnostics, folderInstructions: _instructions, ...settings } = config.value.workspace;
      return { ...settings, sandbox: confinement.sandbox };
    };
    const opened = openWorkspace(folder, {
      ...live(),
      diagnostics: value.workspace.diagnostics !== false && { servers: value.languageServers },
      folderInstructions: value.workspace.folderInstructions !== false && {
        trusted: () => trusted.isExplicit && (trusted.trustedAt ?? new Date(0)),
        // The prompts of agents here have the file of the workspace; those of MCP clients are not known.
        root: ({ agent }) => agent === undefined || agent.startsWith("mcp:"),
      },
      seenFiles,
      todos,
      isUnattended: context.options.isUnattended,
      journal: undoStore(folder),
      stateFolder,
      clock,
    });
    // The self-test of the sandbox starts programs. It is not part of the start, unless a call needs it.
    const timer = clock.after(SELF_TEST_MS, () => {
      const { sandbox } = opened;
      if (!sandbox || context.options.isShortLived) return;
      const { look, work } = sandbox.engines;
      if (!look || work !== "namespaces") warn(sandbox.notice);
    });
    timer.setRef(false);
    opened.programs.onNotice(warn);
    return {
      value: opened,
      async reload() {
        // While a file cannot be read, the last trust stays.
        const now = await trustStatus(folder, user).catch(() => trusted);
        await noteTrust(audit, folder, now);
        return () => {
          trusted = now;
          opened.reconfigure(live());
        };
      },
      close: () => (timer.cancel(), opened.close()),
    };
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
    const { isShared } = stored.database;
    const live = (of: LoadedConfig) => {
      const { approvalWaitMs: waitMs, ...given } = configuredOptions(of);
      return {
        ...given,
        toolSearch: { ...given.toolSearch, enabled: true },
        approvalWaitMs: approvalWaitMs === false ? undefined : (approvalWaitMs ?? waitMs),
        approvals: approvalOptions(of.value.approvals),
        grants: of.value.approvals.grants,
      };
    };
    const guard = options.ownsProcess
      ? new ProcessGuard({ clock, warn, record: (fact) => audit.append(fact), servesOthers: !isShortLived })
      : undefined;
    const versions = new PluginVersions(config, { options, user, clock });
    const value = createRuntime({
      ...live(config),
      approver: options.approver,
      contextFor: options.contextFor,
      decide: options.decide,
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
      provenance: {
        ...configured.provenance,
        store: stored.provenance,
        taintStore: stored.taint,
        async readResults(session) {
          const history = await stored.sessions.history(session, { last: MAX_READ_AGAIN });
          return history.flatMap(({ message }) => (message?.role === "tool" ? message.results : []));
        },
      },
      // A program and a search reach every tool, so a host without all tools has neither.
      code: isPartial ? undefined : { store: stored.programs },
      toolSearch: {
        ...configured.toolSearch,
        enabled: !isPartial && configured.toolSearch.enabled !== false,
        store: toolUse,
      },
      requiresApproval(tool) {
        for (const capability of opened) {
          const reason = capability.requiresApproval?.(tool);
          if (reason !== undefined) return reason;
        }
        return undefined;
      },
      onWarning: warn,
      savedRulesBind: isShared ? "store" : "workspace",
      async saveRule(rule, list, by) {
        await audit.append({ kind: "rule_added", caller: { user: by }, data: { rule, list } }, { synced: true });
        if (!isShared) return saveLocalRule(config.folder, list, rule, user);
        await stored.rules.add({ rule, list, by });
        return STORED_RULES;
      },
      async removeRule(rule, list, origin, by) {
        const data = { rule, list, origin };
        await audit.append({ kind: "rule_removed", caller: { user: by }, data }, { synced: true });
        if (origin === STORED_RULES) return stored.rules.remove({ rule, list });
        return removeLocalRule(config.folder, { list, rule, file: origin }, user);
      },
    });
    registerAgentTools(value, files);
    if (!isPartial) value.register(createRequestPermissionTool(permissionRequests(value, options.isUnattended)));
    if (guard) bindGuard(value, guard);
    bindVersions(value, versions);
    const { folder } = config;
    const keeper = new PolicyKeeper({ haft: value, store: stored, folder, user, clock, warn, isShortLived });
    bindKeeper(value, keeper);
    await keeper.open();
    if (!isShortLived) {
      await stored.owners.setRules(() => rulesDigest(rules));
      if (isShared) for (const warning of await otherRules(stored.owners, rules)) warn(warning);
    }
    const openWebhook = (settings = config.value.approvals.webhook) =>
      settings && new ApprovalWebhook(value, { settings, clock, warn });
    let webhook = openWebhook();
    const close = async (): Promise<void> => {
      keeper.close();
      await webhook?.close();
      await value.shutdown().finally(() => guard?.close());
    };
    return {
      value,
      reload(next) {
        const apply = reconfigure(value, live(next));
        const isSame = isDeepStrictEqual(next.value.approvals.webhook, config.value.approvals.webhook);
        return () => {
          apply();
          if (isSame) return;
          void webhook?.close();
          webhook = openWebhook();
        };
      },
      close,
    };
  },
});

/** Of what decides, wherever it is written. Grants are rows, which all processes read. */
function rulesDigest(rules: RuleSet): string {
  // Where a rule is written may differ, and a place without rules says nothing.
  const parts = rules.sources().map(({ origin: _origin, folder: _folder, ...said }) => canonicalJson(said));
  return hash("sha256", parts.filter((part) => /\[./.test(part) || part.includes("defaultMode")).join("\n"));
}

/** A file binds the processes that have it: a worker on another machine has its own. */
export async function otherRules(owners: Store["owners"], rules: RuleSet): Promise<string[]> {
  const others = await owners.withOtherRules(rulesDigest(rules));
  if (others.length === 0) return [];
  return [
    `Other rules or limits than here bind process ${others.join(", ")}, which uses the same store: each process reads its own files. Give all of them the same configuration.`,
  ];
}

/** What agents ask for is a grant of their session and task. */
function permissionRequests({ policy }: Haft, isUnattended: boolean | undefined): RequestPermissionOptions {
  const { grants } = policy;
  return {
    isUnattended,
    describe(rules, caller, bounds) {
      try {
        const several = rules.find((rule) => namesSeveral(parseRule(rule).name));
        if (several !== undefined) throw new TypeError(`"${several}" names several tools`);
        grants.check({ rules, ...bounds });
        const shown = { tool: "", scope: "session", isBroader: true, caller, bounds: showBounds(bounds) } as const;
        return policy.describeGrant(rules, shown).sentence;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        const next = "Name each tool, and the commands, files or values that you need: `Bash(npm test)`.";
        throw toolError("invalid_input", error.message, { next });
      }
    },
    async give({ rules, bounds, purpose, by }, caller) {
      const holder = { ...grants.holderOf(caller, "session"), task: caller.task };
      const draft = { ...bounds, holder, rules, tools: grants.check({ rules, ...bounds }) };
      const given = await grants.give({ ...draft, why: purpose, by, via: "request_permission" });
      return given.id;
    },
  };
}

function approvalOptions({
  expireMs,
  maxOpenPerUser,
  maxOpenPerSession,
  replayMs,
}: LoadedConfig["value"]["approvals"]) {
  return { lifetimeMs: expireMs, maxOpenPerUser, maxOpenPerSession, replayMs };
}

const RECENT_ENTRIES = 100;

/** Folders are trusted before there is a store, so the first process that uses one logs what was trusted. */
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
