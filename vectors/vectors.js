// The golden vectors of the .NET Diagnostic IPC Protocol; index.json lists the files, README.md explains them.
"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");

/** A file of this package: `read("index.json")`. */
exports.read = (name) => JSON.parse(readFileSync(join(__dirname, name), "utf8"));
