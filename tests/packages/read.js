// Reads every vector of an installed package; a string's units survive.
const assert = require("node:assert");
const vectors = require("dotnet-diagnostics-ipc-vectors");

let tried = 0;
for (const group of vectors.read("index.json").files.flatMap((file) => vectors.read(file.name).groups)) {
  for (const test of group.tests) {
    tried += 1;
    const wire = Buffer.from(test.wire ?? "", "hex");
    assert.strictEqual(wire.toString("hex"), test.wire ?? "", `${test.tcId}`);
    if (group.type === "string" && typeof test.value === "string" && test.canonical) {
      assert.strictEqual(wire.subarray(4, -2).toString("utf16le"), test.value, `${test.tcId}`);
    }
  }
}
console.log(tried, "tests");
