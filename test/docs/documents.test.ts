import { executeDocuments } from "./execute-documents.ts";

executeDocuments((file) => !file.startsWith("README"));
