import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { openWorkspace } from "../../workspace.ts";
import { TOOL_GROUPS } from "./tool-groups.ts";
import { isToolAllowedByPolicy } from "./tool-policy.ts";

/** Tools of capabilities that are not opened here. */
const LATER = [
  ...["web_search", "web_fetch", "http_get", "http_post", "http_request", "browser", "canvas", "message", "cron"],
  ...["sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"],
  ...["create_artifact", "read_artifact", "update_artifact", "rewrite_artifact"],
  ...["list_artifacts", "diff_artifact", "grep_artifact"],
  ...[
    "call_subagent",
    "stop_response",
    "cli_response",
    "skill",
    "run_code",
    "tool_search",
    "list_mcp_resources",
    "read_mcp_resource",
  ],
];

test("every built-in tool is in exactly one group", async () => {
  const folder = temporaryFolder("haft-groups-");
  const workspace = openWorkspace(folder);
  onTestFinished(async () => {
    await workspace.close();
  });
  const names = [...workspace.tools.map(({ name }) => name), ...LATER];
  expect(workspace.tools.length).toBeGreaterThan(15);
  for (const name of names) {
    const groups = Object.entries(TOOL_GROUPS).filter(([, members]) => members.includes(name));
    expect(
      groups.map(([group]) => group),
      name,
    ).toHaveLength(1);
  }
});

test("the built-in profiles contain exactly the tools of their table", () => {
  const inProfile = (profile: string) =>
    Object.values(TOOL_GROUPS)
      .flat()
      .filter((name) => isToolAllowedByPolicy(name, { profile }));
  expect(inProfile("minimal")).toEqual(["session_status"]);
  expect(inProfile("messaging").sort()).toEqual(["message", "session_status", "sessions_history", "sessions_list"]);
  const coding = ["group:fs", "group:runtime", "group:sessions", "group:data"].flatMap((group) => TOOL_GROUPS[group]!);
  expect(inProfile("coding").sort()).toEqual([...coding].sort());
  expect(inProfile("full")).toEqual(Object.values(TOOL_GROUPS).flat());
});
