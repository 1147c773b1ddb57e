import { GRANT_TEXTS } from "./questions/grant-texts.ts";

const OWN_TEXTS = {
  "risk.reads": "It only reads.",
  "risk.changesFiles": "It changes files. Haft can undo that.",
  "risk.deletesFiles": "It deletes files. Haft can undo that.",
  "risk.sends": "It sends data to {host}.",
  "risk.amount": "It may move money: {amount}.",
  "risk.changesState": "It changes what Haft keeps: sessions, schedules, artifacts or settings.",
  "risk.outside": "It acts outside this machine.",
  "risk.runsCode": "It runs code.",
  "risk.unclearCommand": "The command could not be read completely.",
  "risk.outsideSandbox": "It runs outside the sandbox.",
  "risk.untrusted": "This session has read untrusted text.",
  "risk.unknownEffect": "Its effect is not known before it runs.",

  "does.changeFolder": "Changes the current folder.",
  "does.print": "Prints text.",
  "does.check": "Checks a condition.",
  "does.readFiles": "Reads files.",
  "does.readSystem": "Shows facts about this machine.",
  "does.createFiles": "Creates files or folders.",
  "does.copyFiles": "Copies files.",
  "does.moveFiles": "Moves or renames files.",
  "does.deleteFiles": "Deletes files.",
  "does.editFiles": "Changes files.",
  "does.permissions": "Changes permissions or owners of files.",
  "does.disk": "Writes to a disk or device.",
  "does.archive": "Packs or unpacks files.",
  "does.gitRead": "Reads the repository.",
  "does.gitCommit": "Records changes in the repository.",
  "does.gitPush": "Sends commits to a remote repository.",
  "does.gitFetch": "Fetches commits from a remote repository.",
  "does.gitFiles": "Changes files of the working tree.",
  "does.gitOther": "Changes the repository.",
  "does.installPackages": "Downloads packages and runs their install scripts.",
  "does.runPackage": "Downloads a package and runs it.",
  "does.runProject": "Runs a script of this project.",
  "does.runCode": "Runs code with {program}.",
  "does.publish": "Publishes a package.",
  "does.download": "Downloads from {host}.",
  "does.upload": "Sends data to {host}.",
  "does.remote": "Runs a command on another machine.",
  "does.cluster": "Reads or changes a cluster.",
  "does.cloud": "Reads or changes a cloud account.",
  "does.containers": "Runs or manages containers.",
  "does.database": "Reads or changes a database.",
  "does.github": "Reads or changes a project on GitHub.",
  "does.otherUser": "Runs a command with the rights of another user.",
  "does.endProcesses": "Ends processes.",
  "does.services": "Starts or stops services.",
  "does.machine": "Stops or restarts this machine.",
  "does.wait": "Waits.",
  "does.group": "Runs the commands in it.",

  "asks.writesTo": "It writes to {path}.",
  "asks.changesFiles": "It changes files.",
  "asks.changesRepository": "It changes the repository.",
  "asks.network": "It uses the network.",
  "asks.sends": "It sends data to another machine.",
  "asks.runsCode": "It runs code. Haft cannot tell what that code does.",
  "asks.unknownProgram": "{program} is not known to be harmless.",
  "asks.changesMachine": "It changes this machine.",
  "asks.otherUser": "It uses the rights of another user.",
  "asks.unclear": "Some of its words are only known when it runs.",

  "danger.deletes": "It deletes files without asking, or whole folders.",
  "danger.deletesFound": "It deletes every file that {program} finds.",
  "danger.wipes": "{program} destroys the content of a disk or file.",
  "danger.device": "It overwrites a device.",
  "danger.stopsMachine": "It stops the machine.",
  "danger.permissions": "It changes the permissions of a whole folder.",
  "danger.forcePush": "It overwrites the history of a remote branch.",
  "danger.deletesRemote": "It deletes remote branches or tags.",
  "danger.discards": "It discards uncommitted changes.",
  "danger.cleans": "It deletes files that git does not track.",
  "danger.deletesBranches": "It deletes branches.",
  "danger.deletesStash": "It deletes stashed changes.",
  "danger.rewritesHistory": "It rewrites the whole history.",
  "danger.runsDownload": "It runs what it downloads.",
  "danger.deletesResources": "It deletes resources of a cluster or a cloud account.",
  "danger.dropsTables": "It deletes tables or databases.",

  "lint.limitAmount":
    "No tool that this limit names has an amount, so its sum counts nothing. Name the parameter: `amount` of the tool.",
  "lint.projectMode": "A project's file cannot set bypassPermissions. Set it in your own settings.",
  "lint.allowPattern": 'An allow pattern must name the server: write "mcp__server__*", or name the tools.',
  "lint.unknown": 'There is no "{name}". {hint}',
  "lint.elsewhere": '"{name}" is a tool of another program. Haft has no such tool, so the rule has no effect.',
  "lint.noParameter": '"{condition}": the tool has no "{parameter}". {hint}',
  "lint.matchedAlready": '"{parameter}" is what the rule already matches. Write {rule}.',
  "lint.allowParameter": "Only deny and ask rules match parameters, so this allows nothing.",
  "lint.noSignature": "The tool has no signature for a rule to match. Write only its name.",
  "lint.host": 'Addresses are matched by host: write "domain:example.com".',
  "lint.hostPattern": 'In an allow rule "*" may only be at the beginning: "domain:*.example.com".',
  "lint.negation": 'Rules have no "!": put the exception in another list.',
  "lint.onlyHere":
    "It matches this one tool; Claude Code ignores {rule}. {general} matches every tool that touches these files.",
  "lint.prefixInside": '":*" means "begins with" only at the end. Use "*" inside a command.',
  "lint.chain": "Commands are split at && || ; | and each part needs a rule. Write one rule for each part.",
  "lint.variables":
    "Harmless variables before a command are ignored; others always require approval. Write only the command.",
  "lint.wrapper": '"{program}" is a wrapper and is ignored. Write a rule for the command after it.',
  "lint.runsCommand": '"{program}" runs the command after it: only the whole command, without "*", can be allowed.',
  "lint.allowsEverything": '"{program}" runs any program: this allows everything.',
  "lint.allowsSimilar":
    'It also allows every program whose name begins like this. Write "{program} *" for only that program.',
  "lint.checkedFirst": "{rule} ({list}, {origin}) is checked first and always decides.",
  "lint.duplicate": "{rule} ({list}, {origin}) says the same.",
  "lint.covered": "{rule} ({list}, {origin}) already covers it.",

  "preview.purpose": "Purpose: {purpose}",
  "preview.folder": "It runs in {folder}.",
  "preview.background": "It continues in the background.",
  "preview.script": "Script {path}: {digest}",
  "preview.variable": "With {name}={value}",
  "preview.ran":
    "It ran in a copy of the workspace, without network: exit code {exitCode}. Approve to apply {changes}; the command does not run again.",
  "preview.tried":
    "It was tried in a copy of the workspace, without network: exit code {exitCode}, {changes}. The agent runs it again, and may change more.",
  "preview.usesDenied": "It tried to use {paths}, which a rule denies. The copy hid it, the agent does not.",
  "preview.guarded": "{text}",
  "preview.usedDenied": "It tried to use {paths}, which a rule denies: it saw nothing there, also not after approval.",
  "preview.temporaryFiles": "Temporary files in /tmp: {count}.",
  "preview.output": "Its output is below.",
  "preview.noOutput": "It printed nothing.",
  "preview.effectsHash": "Effects: sha256:{hash}",
  "preview.unknownEffects": "Its effects are not known before it runs: {why}.",
  "preview.needsNetwork":
    "It needs the network, which it will not have: expect it to fail. Its effects are not known before it runs.",
  "preview.stillRan":
    "It still ran and was ended. Until then it changed nothing, and its output is below. A yes starts it again.",
  "preview.changedSoFar":
    "It still ran and was ended. Until then it changed {paths}, and its output is below. A yes starts it again.",
  "preview.paused":
    "It did not end within {seconds} s and is paused. Until then it changed nothing; its output is below.",
  "preview.pausedChanged":
    "It did not end within {seconds} s and is paused. Until then it changed {paths} in its copy; its output is below.",
  "preview.goesOn":
    "A yes lets it go on where it is, to its end. What it changes is asked about then. After {minutes} minutes, or if Haft ends, it is ended; a yes then starts it again in a new copy.",
  "preview.readsHistory": "It reads the history of git ({path}), which may hold secrets.",
  "preview.refusedHidden": "It was refused to see {subject}.",
  "preview.refusedNetwork": "It was refused the network: {subject}.",
  "preview.refusedSocket": "It was refused to talk to another program through {subject}.",
  "preview.refusedCall": "It was refused something that commands may not do: {subject}.",
  "preview.refusedCache": "It changed {subject}, a cache. The copy does not keep that.",
  "preview.leftProcess": "It left a process running. The copy ended it.",
  "preview.unkept":
    "It may have set attributes or times of {paths}, or opened them for writing. The copy does not keep that.",
  "preview.refusedOutside": "It was refused to write {subject}, which is outside of the workspace.",
  "preview.refusedMoved": "It was refused to move files to another place: {subject}.",
  "preview.outsideSandbox": "It runs OUTSIDE the sandbox.",
  "preview.unconfined": "It runs UNCONFINED, with all rights of your user.",
  "preview.look": "It runs confined: it writes nothing, reads no secrets and has no network.",
  "preview.confined": "It runs confined to the workspace, without network.",
  "preview.confinedHosts": "It runs confined to the workspace, with network access only to {hosts}.",

  "verdict.taint":
    '"{tool}" acts on the outside, and this session has read untrusted text ({untrusted}) and sensitive data ({sensitive}): the text may contain instructions to send that data',
  "verdict.taintHere":
    '"{tool}" acts on the outside, and this session has read untrusted text ({untrusted}) and sensitive data in this very call: the text may contain instructions to send that data',
  "verdict.taintUnknown": '"{tool}" acts on the outside, and what this session has read is not known ({problem})',
  "verdict.unvouched.text":
    '"{value}" ({argument}) stands in a text that somebody else wrote ({source}), and you did not name it',
  "verdict.unvouched.unnamed": '"{value}" ({argument}) is in your data, but you did not name it',
  "verdict.unvouched.nowhere": '"{value}" ({argument}) stands in no text that was read, and you did not name it',
  "verdict.unvouched.unread":
    '"{value}" ({argument}): you did not name it. Not all texts that were read are still here, so nobody can say whether it stands in one',
  "verdict.unvouched.private": 'A private number would be sent in {argument}: "{value}"',
  "verdict.unvouched.call":
    '"{tool}" changes something, text of others was read before, and the call has nothing that you named',
  "verdict.nothingAllows": "Nothing allows it.",
  "verdict.dontAsk": "{reason} In the mode dontAsk such calls are denied.",
  "verdict.denyRule": "The rule {rule} ({origin}) forbids it.",
  "verdict.denyRulePath": "The rule {rule} ({origin}) forbids it for {path}.",
  "verdict.askRule": "The rule {rule} ({origin}) requires approval.",
  "verdict.allowRule": "The rule {rule} ({origin}) allows it.",
  "verdict.grant": "The grant {grant} allows it.",
  "verdict.grantUses": "The grant {grant} covers it and is used up: {used} of {max} calls.",
  "verdict.grantBudget":
    "The grant {grant} is too small: it has {left} of {max} {unit} left, and the call takes {takes}.",
  "verdict.grantNoAmount": "The grant {grant} is a budget in {unit}, and the call has no such amount.",
  "verdict.otherDefinition":
    '"{tool}" is defined differently now than when the grant {grant} was given, so the grant does not cover it.',
  "verdict.limitReached":
    "The limit of {limit} is reached: {used} of {max} are used, and the call takes {takes}. It frees up at {time}.",
  "verdict.limitUsedUp":
    "The limit of {limit} is reached: {used} of {max} are used, and the call takes {takes}. A person can extend it.",
  "verdict.limitTooMuch": "The call takes {takes}, more than the limit of {limit} has: {max}.",
  "verdict.limitUnreadable": "The call has no amount that the limit of {limit} counts.",
  "verdict.allowRules": "The rules {rules} allow every part of it.",
  "verdict.planMode": "In plan mode only read-only tools run.",
  "verdict.protected": "{path} is protected: {why}.",
  "verdict.unreadable": "{problem} So no rule can allow it.",
  "verdict.noSignature": "The tool does not report what this call accesses.",
  "verdict.bypass": "The mode bypassPermissions allows everything else.",
  "verdict.acceptEdits": "The mode acceptEdits allows changes of files in the workspace.",
  "verdict.toolAllows": '"{tool}" does not need approval for this.',
  "verdict.noEffects": "It ran in a copy of the workspace: it changed nothing, and nothing was refused.",
  "verdict.question": "The agent asks you a question.",
  "verdict.toolAsks": '"{tool}" asks about this call, and no rule allows it.',
  "verdict.undeclared":
    '"{tool}" does not say what it does. If it only reads, declare kind: "readonly"; if it needs no approval, needsApproval: false.',
  "verdict.undeclaredAgain": '"{tool}" does not say what it does.',
  "verdict.defaultAllows": '"{tool}" does not say that it needs approval, and defaultPermission is "auto".',
  "verdict.startsOthers":
    "{program} may start other programs, and the rule {rule} ({origin}) denies some. A rule that names this exact command allows it.",
  "verdict.startsAsked":
    "{program} may start other programs, and the rule {rule} ({origin}) asks about some. A rule that names this exact command allows it.",
  "verdict.noValue": "The call has no value to compare, and the rule {rule} ({origin}) may apply.",
  "verdict.hidden":
    "What it does is only known when it runs, and the rule {rule} ({origin}) may apply. Write the full command, without variables, patterns or programs that run others.",
  "verdict.approved": "approved",
  "verdict.approvedBy": "approved by {by}",
  "verdict.answered": "answered",
  "verdict.answeredBy": "answered by {by}",
  "verdict.noObjection": "No rule denies it or requires approval.",
  "verdict.layerDenies": '{layer} denies it by "{entry}"',
  "verdict.layerProfile": '{layer} has the profile "{entry}", which does not contain it',
  "verdict.layerOmits": "{layer} does not list it under allow",
  "verdict.layerLacks": "{layer} does not contain it",
  "verdict.mayBeProtected": "It may change a protected path; that is only known when it runs. Write the full path.",
} as const;

/**
 * Sentences for people that interfaces translate: each has a key, and values for its placeholders. The English text is
 * written here once; the console has the Chinese text of every key.
 * Pure, so that a bundle that needs no text has none.
 */
export const TEXTS = /* @__PURE__ */ Object.assign({}, OWN_TEXTS, GRANT_TEXTS);

export type TextKey = keyof typeof TEXTS;
type Values = Record<string, string | number>;

/** A translatable sentence with its English text. */
export interface LocalizedText {
  key: string;
  values?: Values;
  text: string;
}

export function localizedText(key: TextKey, values?: Values): LocalizedText {
  const text = fillText(TEXTS[key], values);
  return values ? { key, values, text } : { key, text };
}

/** The same as the fields of a verdict. */
export function reasonText(key: TextKey, values?: Values): { reason: string; key: string; values?: Values } {
  const reason = fillText(TEXTS[key], values);
  return values ? { reason, key, values } : { reason, key };
}

/** Text and names in turn: `["The rule ", "rule", " forbids it."]`. Split once, because verdicts are made often. */
const PARTS = new Map<string, readonly string[]>();

/** Replaces `{name}` by the value with this name. */
function fillText(template: string, values: Values = {}): string {
  let parts = PARTS.get(template);
  if (!parts) PARTS.set(template, (parts = template.split(/\{(\w+)\}/)));
  if (parts.length === 1) return template;
  let text = "";
  for (const [at, part] of parts.entries()) text += at % 2 === 0 ? part : String(values[part] ?? `{${part}}`);
  return text;
}
