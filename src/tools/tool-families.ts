/** The tools of a workspace, by family. */
import type { AnyTool } from "../core/tool.ts";
import { createBase64DecodeTool, createBase64EncodeTool } from "./data/base64-tools.ts";
import { createJsonParseTool, createJsonStringifyTool, type JsonSources } from "./data/json-tools.ts";
import { createApplyPatchTool } from "./files/apply-patch.ts";
import { createDeleteFileTool } from "./files/delete-file.ts";
import { createEditNotebookTool } from "./files/edit-notebook.ts";
import { createEditTool } from "./files/edit.ts";
import { withFolderInstructions } from "./files/folder-instructions.ts";
import { createGetFileInfoTool } from "./files/get-file-info.ts";
import { createListFilesTool, type ListFilesDependencies } from "./files/list-files.ts";
import { createMoveFileTool } from "./files/move-file.ts";
import { createReadManyTool, type ReadManyDependencies } from "./files/read-many.ts";
import { createPathReader, createReadTool } from "./files/read.ts";
import { createWriteTool } from "./files/write.ts";
import { createExecTool, type ExecDependencies } from "./shell/exec.ts";
import { createProcessTool } from "./shell/process.ts";
import { createGlobTool } from "./search/glob.ts";
import { createGrepTool } from "./search/grep.ts";
import { createRipgrep } from "./search/ripgrep.ts";
import type { SearchDependencies } from "./search/search-scope.ts";
import { createCurrentTimeTool, type CurrentTimeOptions } from "./system/current-time.ts";
import { createGetEnvTool, createSetEnvTool, type EnvironmentOptions } from "./system/env-tools.ts";
import { createSleepTool } from "./system/sleep.ts";
import { type AskUserOptions, createAskUserTool } from "./conversation/ask-user.ts";
import { createTodoTool, type TodoStore } from "./conversation/todo.ts";

export function createDataTools(sources?: JsonSources): AnyTool[] {
  return [createJsonParseTool(sources), createJsonStringifyTool(), createBase64EncodeTool(), createBase64DecodeTool()];
}

export function createFileTools(dependencies: ReadManyDependencies & ListFilesDependencies): AnyTool[] {
  const { files, instructions } = dependencies;
  const reader = createPathReader(dependencies);
  const readPath = instructions ? withFolderInstructions(reader, { ...instructions, files }) : reader;
  return [
    createReadTool(dependencies, readPath),
    createWriteTool(dependencies),
    createEditTool(dependencies),
    createApplyPatchTool(dependencies),
    createEditNotebookTool(dependencies),
    createReadManyTool(dependencies, readPath),
    createListFilesTool(dependencies),
    createGetFileInfoTool(dependencies),
    createMoveFileTool(dependencies),
    createDeleteFileTool(dependencies),
  ];
}

/** The tools that run commands. The owner of the process table must call `processes.shutdown()`. */
export function createRuntimeTools(dependencies: ExecDependencies): AnyTool[] {
  return [createExecTool(dependencies), createProcessTool(dependencies)];
}

export function createSearchTools({ ripgrep = createRipgrep(), ...dependencies }: SearchDependencies): AnyTool[] {
  return [createGlobTool({ ...dependencies, ripgrep }), createGrepTool({ ...dependencies, ripgrep })];
}

export interface SystemToolsOptions extends CurrentTimeOptions, EnvironmentOptions {}

export function createSystemTools(options: SystemToolsOptions): AnyTool[] {
  return [
    createCurrentTimeTool(options),
    createSleepTool(options),
    createGetEnvTool(options),
    createSetEnvTool(options),
  ];
}

export interface ConversationToolsOptions extends AskUserOptions {
  /** Where to-do lists are kept. Default: in memory. */
  todos?: TodoStore;
}

/** `ask_user` and `todo`: an agent asks the person that it works for, and shows what it is about to do. */
export function createConversationTools(options: ConversationToolsOptions = {}): AnyTool[] {
  return [createAskUserTool(options), createTodoTool(options)];
}
