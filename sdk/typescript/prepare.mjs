// Builds dist when the package is packed, or installed from its folder: fetches the compiler first if it is missing.
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";

const run = (line) => execSync(line, { stdio: ["ignore", "ignore", "inherit"] });
if (!existsSync("node_modules/typescript")) run("npm ci --ignore-scripts --no-audit --no-fund");
run("npx --no-install tsc");
