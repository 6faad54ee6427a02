// Builds dist when the package is packed, or installed from its folder: fetches the compiler first if it is missing.
// Several installations from the folder take turns; a lock that is older than ten minutes was left by a killed one.
import { execSync } from "node:child_process";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const lock = ".preparing";
const written = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs;
const unlock = () => rmSync(lock, { recursive: true, force: true });
const run = (line) => execSync(line, { stdio: ["ignore", "ignore", "inherit"] });
for (let locked = false; !locked;) {
  try {
    mkdirSync(lock);
    locked = true;
  } catch (why) {
    if (why.code !== "EEXIST") throw why;
    const since = written(lock) ?? Date.now();
    if (Date.now() - since > 600_000) unlock();
    await pause(200);
  }
}
try {
  // npm writes this file when everything else is in its place.
  const installed = written("node_modules/.package-lock.json");
  if (!installed || installed < written("package-lock.json")) run("npm ci --ignore-scripts --no-audit --no-fund");
  run("npx --no-install tsc");
} finally {
  unlock();
}
