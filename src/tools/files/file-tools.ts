import type { AnyTool } from "../../core/tool.ts";
import { createApplyPatchTool } from "./apply-patch.ts";
import { createDeleteFileTool } from "./delete-file.ts";
import { createEditTool } from "./edit.ts";
import type { FileToolDependencies } from "./file-access.ts";
import { createGetFileInfoTool } from "./get-file-info.ts";
import { createListFilesTool } from "./list-files.ts";
import { createMoveFileTool } from "./move-file.ts";
import { createReadTool } from "./read.ts";
import { createWriteTool } from "./write.ts";

export function createFileTools(dependencies: FileToolDependencies): AnyTool[] {
  return [
    createReadTool(dependencies),
    createWriteTool(dependencies),
    createEditTool(dependencies),
    createApplyPatchTool(dependencies),
    createListFilesTool(dependencies),
    createGetFileInfoTool(dependencies),
    createMoveFileTool(dependencies),
    createDeleteFileTool(dependencies),
  ];
}
