// node run.mjs MODULE: runs the checks of a module of WebAssembly. Exits with 0, or with the number of the first check that failed.
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const failed = instance.exports.run();
console.log(failed === 0 ? `${instance.exports.count()} checks passed` : `check ${failed} failed`);
process.exitCode = failed;
