// Builds dist when the package is packed, or installed from its folder: fetches the compiler first if it is missing.
// Several installations from the folder take turns. The lock names its process, so that the lock of a killed one
// does not hold up the next.
import { execSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const lock = ".preparing";
const run = (line) => execSync(line, { stdio: ["ignore", "ignore", "inherit"] });
const written = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs;
const unlock = () => rmSync(lock, { force: true });

/** Reports whether the process that holds the lock has ended. */
function abandoned() {
  try {
    const holder = Number(readFileSync(lock, "utf8"));
    if (holder) process.kill(holder, 0); // throws ESRCH if there is no such process
    return false;
  } catch (why) {
    return why.code === "ESRCH";
  }
}

for (let locked = false; !locked;) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    locked = true;
  } catch (why) {
    if (why.code !== "EEXIST") throw why;
    if (abandoned()) unlock();
    else await pause(200);
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
