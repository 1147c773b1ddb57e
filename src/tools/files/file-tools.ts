import type { AnyTool } from "../../core/tool.ts";
import { createApplyPatchTool } from "./apply-patch.ts";
import { createDeleteFileTool } from "./delete-file.ts";
import { createEditNotebookTool } from "./edit-notebook.ts";
import { createEditTool } from "./edit.ts";
import { withFolderInstructions } from "./folder-instructions.ts";
import { createGetFileInfoTool } from "./get-file-info.ts";
import { createListFilesTool, type ListFilesDependencies } from "./list-files.ts";
import { createMoveFileTool } from "./move-file.ts";
import { createReadManyTool, type ReadManyDependencies } from "./read-many.ts";
import { createPathReader, createReadTool } from "./read.ts";
import { createWriteTool } from "./write.ts";

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
