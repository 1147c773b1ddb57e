import { describe } from "vitest";
import { openRig } from "./claude-agent-sdk.rig.ts";
import { describeFramework } from "./framework.suite.ts";
import { isWanted } from "./on-demand.ts";
import { versionOf } from "./versions.ts";

const NAME = "claude-agent-sdk";

describe.runIf(isWanted(NAME))("installed on demand", () => {
  const version = isWanted(NAME) ? versionOf("@anthropic-ai/claude-agent-sdk", `.runtimes/adoption/${NAME}`) : "";
  describeFramework({
    name: "Claude Agent SDK",
    rig: NAME,
    version,
    openRig,
    cannot: {
      restart: "the SDK asks while its program runs, and keeps no open approval",
      streaming: "the SDK shows a program no partial results of MCP tools",
    },
  });
});
