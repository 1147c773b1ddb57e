// Installs the peers into this folder's own node_modules. A process of its own, because a failure ends it.
import { ensureInstalled } from "../scripts/ensure-installed.mjs";
import { BENCH } from "./harness.mjs";

ensureInstalled(BENCH);
