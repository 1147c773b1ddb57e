import { afterAll } from "vitest";
import { jsonSchemaEngine } from "../../src/schema/json-schema-validator.ts";
import { provideEngine } from "../../src/schema/read-schema.ts";
import { removeTemporaryFolders } from "./temporary-folder.ts";

// Runs before each test file, also in a process that runs many: hooks of an imported module would be registered only once.
afterAll(removeTemporaryFolders);

// The runtime brings it. Tests of smaller parts do without the runtime.
provideEngine(jsonSchemaEngine);
