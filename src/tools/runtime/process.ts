import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import { ToolKind, type ToolContext } from "../../core/tool.ts";
import type { ProcessTable } from "../../shell/process-table.ts";
import { readCommand } from "../../shell/read-command.ts";
import {
  PROCESS_PARAMETER_ALIASES,
  PROCESS_PARAMETERS,
  type ProcessInput,
  refuseProcessInput,
  typesSomething,
} from "./process-parameters.ts";
import { describeList, describeLog, describeNewOutput, describeState } from "./process-reply.ts";
import { processOwner } from "./process-owner.ts";
import { commandLine } from "./run-status.ts";
import { REPLY_LIMITS, type ReplyLimits } from "./shorten-output.ts";
import { showHiddenCharacters } from "../../shell/hidden-characters.ts";

export interface ProcessDependencies {
  processes: ProcessTable;
  clock?: Clock;
  reply?: Partial<ReplyLimits>;
}

const POLL_MS = 5000;
/** Long enough for most programs to answer what was typed. */
const ANSWER_MS = 500;
/** What ending a process that resists may take. */
const ENDING_MS = 15_000;

/** Goes on with commands that `exec` left running. A caller sees the processes of its own session only. */
export function createProcessTool(dependencies: ProcessDependencies) {
  const { processes } = dependencies;
  return createTool({
    name: "process",
    title: "Background processes",
    description: {
      short: "Lists, reads, types into and ends the processes that exec left running in the background.",
      usageNotes: [
        "To wait for the end of a command, poll with a wait_ms; do not poll in a tight loop.",
        "To type, start the command with pty or keep_stdin_open. C-c (send-keys) interrupts any process.",
        "Finished processes can be read for half an hour.",
      ],
      examples: [{ input: { action: "list" }, description: "See what is running" }],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.RUNTIME,
    tags: ["shell", "background", "terminal", "session"],
    dialects: { openclaw: { name: "process", parameters: { id: "sessionId", wait_ms: "timeout" } } },
    parameterAliases: PROCESS_PARAMETER_ALIASES,
    parameters: PROCESS_PARAMETERS,
    limits: { timeoutMs: ({ wait_ms: wait = POLL_MS }) => wait + ENDING_MS },
    // What a process says was labelled when exec started it.
    labels: ["outside_effect"],
    labelsOf: (input) => (typesSomething(input) ? ["outside_effect"] : []),
    origin: { type: "builtin" },
    // What is typed into a shell is a command that nobody has seen yet; the rest only looks at or ends what was permitted.
    permission: (input) => (typesSomething(input) ? "confirm" : "auto"),
    signature: (input) => {
      const { action, id, data, keys } = input;
      const words = [action, id, data, keys?.join(" ")].filter(Boolean).join(" ");
      // It may be typed into a shell: what is forbidden there is forbidden here.
      return typesSomething(input) && data ? { text: words, command: readCommand(data) } : words;
    },
    rule: () => "",
    preview: async ({ action, id = "", data, keys }, { caller }) => ({
      title: `Process ${showHiddenCharacters(id)}: ${action}`,
      content: [
        text(
          [
            `to: ${showHiddenCharacters(labelOf(processes, processOwner(caller), id))}`,
            ...(keys ? [`keys: ${showHiddenCharacters(keys.join(" "))}`] : []),
            ...(data === undefined ? [] : ["text:", showHiddenCharacters(data)]),
          ].join("\n"),
        ),
      ],
    }),
    validate: refuseProcessInput,
    run: (input, context) => run(input, context, dependencies),
  });
}

async function run(input: ProcessInput, context: ToolContext, dependencies: ProcessDependencies): Promise<ToolOutput> {
  const { processes, clock = systemClock } = dependencies;
  const limits = { ...REPLY_LIMITS, ...dependencies.reply };
  const owner = processOwner(context.caller);
  const { action, id = "", data, keys = [], wait_ms: waitMs } = input;
  const { signal } = context;

  /** Input is answered with what came of it. */
  const answer = async (): Promise<ToolOutput> =>
    describeNewOutput(
      await processes.poll(owner, id, { waitMs: waitMs ?? ANSWER_MS, until: "exit", signal }),
      processes.get(owner, id).process,
      { limits, now: clock.now() },
    );

  switch (action) {
    case "list":
      return describeList(
        processes.list(owner).map((info) => ({ info, process: processes.get(owner, info.id).process })),
        clock.now(),
      );
    case "poll": {
      const until = waitMs === undefined ? "output" : "exit";
      const news = await processes.poll(owner, id, { waitMs: waitMs ?? POLL_MS, until, signal });
      return describeNewOutput(news, processes.get(owner, id).process, { limits, now: clock.now() });
    }
    case "log": {
      const { offset, limit } = input;
      const page = processes.log(owner, id, {
        ...(offset === undefined ? {} : { offset }),
        ...(limit === undefined ? {} : { limit }),
      });
      return describeLog(page, { ...processes.get(owner, id), limits });
    }
    case "write":
      processes.write(owner, id, data ?? "", { eof: input.eof ?? false });
      return answer();
    case "send-keys":
    case "send_keys":
      // Text is text here, also where it spells the name of a key.
      if (data !== undefined) processes.write(owner, id, data);
      if (keys.length > 0) processes.sendKeys(owner, id, keys);
      return answer();
    case "submit":
      processes.submit(owner, id, data);
      return answer();
    case "paste":
      processes.paste(owner, id, data ?? "", input.bracketed === undefined ? {} : { bracketed: input.bracketed });
      return answer();
    case "kill": {
      const hadEnded = processes.get(owner, id).process.exit !== undefined;
      await processes.kill(owner, id);
      const { info, process } = processes.get(owner, id);
      return describeState(
        info,
        process,
        hadEnded ? "had ended before; what it left behind is ended too" : "was ended",
      );
    }
    case "clear": {
      const cleared = processes.clear(owner, input.id);
      const words = `${cleared} finished ${cleared === 1 ? "process" : "processes"} forgotten.`;
      return { content: words, display: words, details: { cleared } };
    }
    case "remove": {
      const label = labelOf(processes, owner, id);
      await processes.remove(owner, id);
      return {
        content: `Process "${id}" (${commandLine(label)}) is ended and forgotten.`,
        details: { id, removed: true },
      };
    }
  }
}

function labelOf(processes: ProcessTable, owner: string, id: string): string {
  return processes.list(owner).find((info) => info.id === id)?.label ?? `no process "${id}"`;
}
