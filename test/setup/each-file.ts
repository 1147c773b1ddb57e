import { afterAll } from "vitest";
import { removeTemporaryFolders } from "./temporary-folder.ts";

// Runs before each test file, also in a process that runs many: hooks of an imported module would be registered only once.
afterAll(removeTemporaryFolders);
